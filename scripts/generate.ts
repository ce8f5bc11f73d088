/**
 * `npm run generate`: writes every generated file of the repository. With `--check` it writes none, names those that are not
 * what their generator makes, and exits with 1.
 *
 * A package's generator is `packages/<name>/scripts/generate.ts`, that of a folder of tests `test/<name>/generate.ts`: it exports `generate`, which returns the files it makes by
 * absolute path. Files in a folder called `generated` that no generator makes are stale too, and are removed.
 */
import { existsSync, globSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";

interface Generator {
  readonly generate: () => Promise<ReadonlyMap<string, string>>;
}

const ROOT = resolve(import.meta.dirname, "..");

async function runGenerator(path: string): Promise<ReadonlyMap<string, string>> {
  const { generate } = (await import(pathToFileURL(join(ROOT, path)).href)) as Generator;
  return await generate();
}

async function readIfThere(path: string): Promise<string | undefined> {
  return existsSync(path) ? await readFile(path, "utf8") : undefined;
}

function isGeneratedFolder(path: string): boolean {
  return basename(path) === "generated" && existsSync(path);
}

/** Files beside generated ones that nobody generates. */
async function leftOver(files: ReadonlyMap<string, string>): Promise<string[]> {
  const folders = new Set([...files.keys()].map((path) => dirname(path)).filter(isGeneratedFolder));
  const names = [...folders].map(async (folder) => (await readdir(folder)).map((name) => join(folder, name)));
  return (await Promise.all(names)).flat().filter((path) => !files.has(path));
}

async function main(): Promise<void> {
  const check = process.argv.includes("--check");
  const made = await Promise.all(
    globSync(["packages/*/scripts/generate.ts", "test/*/generate.ts"], { cwd: ROOT }).toSorted().map(runGenerator),
  );
  const files = new Map(made.flatMap((one) => one.entries().toArray()));
  const stale: string[] = [];
  for (const [path, content] of files) {
    if ((await readIfThere(path)) === content) continue;
    stale.push(path);
    if (check) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  for (const path of await leftOver(files)) {
    stale.push(path);
    if (!check) await rm(path);
  }
  const list = stale.map((path) => `  ${relative(ROOT, path)}\n`).join("");
  if (!check)
    process.stdout.write(stale.length === 0 ? `${files.size} files are as they should be\n` : `Written:\n${list}`);
  else if (stale.length > 0) {
    process.stderr.write(
      `Not as their generator makes them; run \`npm run generate\` and look at the change:\n${list}`,
    );
    process.exitCode = 1;
  }
}

await main();
