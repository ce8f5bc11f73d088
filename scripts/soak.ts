/**
 * `npm run soak -- NAME …`: runs `test/soak/NAME.ts`, a check that takes too long for every change (chaos, fuzz, load over
 * hours). What follows the name goes to it. Without a name it lists what there is.
 */
import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const SOAKS = join(ROOT, "test/soak");

/** The first line of a file's doc comment. */
function purpose(file: string): string {
  const [, line = ""] = /^\/\*\*\s*(?:\* )?(.*?)\s*(?:\*\/)?$/m.exec(readFileSync(join(SOAKS, file), "utf8")) ?? [];
  return line;
}

const soaks = new Map(
  globSync("*.ts", { cwd: SOAKS })
    .filter((file) => !file.endsWith(".test.ts"))
    .toSorted()
    .map((file) => [basename(file, ".ts"), file]),
);
const [name, ...rest] = process.argv.slice(2);
const file = name === undefined ? undefined : soaks.get(name);

if (file !== undefined) {
  const soak = spawn(process.execPath, [join(SOAKS, file), ...rest], { cwd: ROOT, stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => soak.kill(signal));
  process.on("SIGINT", () => {});
  soak.on("close", (code) => {
    process.exitCode = code ?? 1;
  });
} else {
  const width = Math.max(0, ...[...soaks.keys()].map((known) => known.length));
  const list = [...soaks].map(([known, path]) => `  ${known.padEnd(width)}  ${purpose(path)}`);
  const known = soaks.size === 0 ? "there is none yet" : `there is\n${list.join("\n")}`;
  if (name === undefined) process.stdout.write(`npm run soak -- NAME, where ${known}\n`);
  else {
    process.stderr.write(`soak: there is no test/soak/${name}.ts; ${known}\n`);
    process.exitCode = 1;
  }
}
