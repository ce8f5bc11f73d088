/**
 * The browser of the tests. On Linux x64 it comes inside the package @sparticuz/chromium, so `npm ci` has brought it already: it is
 * unpacked once, beside the other packages, with its own libraries and font, and is the same everywhere. Elsewhere an installed
 * Chromium or Chrome serves. Where there is none, tests fail and say so.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { text } from "node:stream/consumers";

import { chromium } from "playwright-core";
import type { Browser, LaunchOptions } from "playwright-core";

const MODULES = resolve(import.meta.dirname, "../../node_modules");
const PACKAGE = join(MODULES, "@sparticuz/chromium");

/** Nobody outside is asked for anything, and nothing waits for a graphics card. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--font-render-hinting=none",
];

/** Of an unpack or a start, in milliseconds. Both take seconds on a busy machine. */
const TIMEOUT = 60_000;

export interface ChromiumOptions {
  /** More flags for the browser. */
  readonly args?: readonly string[];
}

/**
 * A browser of its own, closed by `await using` or `close()`.
 *
 * In a test file: `const browser = await launchChromium()` at the top, and `after(() => browser.close())`. Not in `before`: when no
 * test of the file is asked for, Node runs `after` while `before` is still at it, and the browser would never be closed.
 */
export async function launchChromium({ args = [] }: ChromiumOptions = {}): Promise<Browser> {
  return await chromium.launch({ ...(await browserAtHand()), args: [...FLAGS, ...args], timeout: TIMEOUT });
}

async function browserAtHand(): Promise<LaunchOptions> {
  if (process.platform === "linux" && process.arch === "x64" && existsSync(PACKAGE)) {
    const folder = await unpacked();
    return {
      executablePath: join(folder, "chromium"),
      env: {
        ...process.env,
        FONTCONFIG_FILE: join(folder, "fonts.conf"),
        LD_LIBRARY_PATH: [join(folder, "al2023/lib"), process.env["LD_LIBRARY_PATH"] ?? ""].join(":"),
      },
    };
  }
  const executablePath = installed();
  if (executablePath !== undefined) return { executablePath };
  throw new Error(
    "The browser tests need Chromium: run `npm ci` on Linux x64, which brings one, or install Chromium or Chrome where PATH finds it.",
  );
}

function installed(): string | undefined {
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome.exe", "msedge.exe"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return [
    ...folders.flatMap((folder) => names.map((name) => join(folder, name))),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
  ].find((path) => existsSync(path));
}

/**
 * The folder with the unpacked browser. The package itself unpacks into the folder for temporary files, with names that processes
 * share: so it does, in a process that has one of its own, and what is complete is then put in place in one step.
 */
async function unpacked(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8")) as { readonly version: string };
  const folder = join(MODULES, ".cache", `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(join(MODULES, ".cache"), { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    const child = spawn(
      process.execPath,
      ["--input-type=module", "-e", 'await (await import("@sparticuz/chromium")).default.executablePath()'],
      {
        cwd: import.meta.dirname,
        // The second one makes it bring its libraries as well.
        env: { ...process.env, TMPDIR: draft, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" },
        stdio: ["ignore", "ignore", "pipe"],
        timeout: TIMEOUT,
      },
    );
    const { promise, resolve: ended, reject } = Promise.withResolvers<number | null>();
    child.on("error", reject).on("close", ended);
    const [code, said] = await Promise.all([promise, text(child.stderr)]);
    if (code !== 0) throw new Error(`@sparticuz/chromium could not be unpacked into ${draft}: ${said}`);
    await writeFile(join(draft, "fonts.conf"), fontsAt(folder));
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error; // Else another process was quicker.
    });
    return folder;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** One font first, whatever the machine has, so that texts are as wide everywhere; the machine's own for what it lacks. */
function fontsAt(folder: string): string {
  const alias = (family: string) =>
    `<match target="pattern"><test name="family"><string>${family}</string></test><edit name="family" mode="prepend" binding="strong"><string>Open Sans</string></edit></match>`;
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>${folder}/fonts</dir>
<dir>/usr/share/fonts</dir>
<cachedir>${folder}/fonts-cache</cachedir>
${["sans-serif", "system-ui", "ui-sans-serif"].map(alias).join("\n")}
</fontconfig>
`;
}
