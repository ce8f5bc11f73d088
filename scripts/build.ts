/**
 * `npm run build`: makes `packages/<name>/dist/` of every package that is published, a complete folder for `npm publish`.
 *
 * The sources run as they are, so the layout stays and only what Node cannot run under node_modules changes: TypeScript
 * becomes JavaScript and declarations, `.ts` becomes `.js` in imports, `exports` and the commands in `bin/`. No source maps:
 * the JavaScript is the source without its types, comments and all.
 *
 *     npm run build                       into packages/<name>/dist
 *     npm run build -- --out FOLDER       into FOLDER/<name>
 *     npm run build -- widget             that one, and those of ours that it needs
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

const ROOT = dirname(import.meta.dirname);
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

/** What a command needs; a library runs wherever its own imports do. */
const ENGINES_NODE = ">=24";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly sideEffects?: boolean | string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Package {
  readonly source: string;
  readonly out: string;
  readonly manifest: Manifest;
}

/** What cannot be built, in a sentence. */
class BuildError extends Error {}

/** The packages that have something to import or to run, each after those it depends on. */
function packagesInOrder(out: string | undefined): Package[] {
  const packages = globSync("packages/*/package.json", { cwd: ROOT }).map((file): Package => {
    const source = join(ROOT, dirname(file));
    const manifest = JSON.parse(readFileSync(join(ROOT, file), "utf8")) as Manifest;
    return { source, out: out === undefined ? join(source, "dist") : join(out, basename(source)), manifest };
  });
  const waiting = packages.filter(({ manifest }) => manifest.exports !== undefined || manifest.bin !== undefined);
  const ordered: Package[] = [];
  while (waiting.length > 0) {
    const index = waiting.findIndex((one) => waiting.every((other) => one === other || !dependsOn(one, other)));
    if (index === -1) throw new BuildError(`these packages depend on each other: ${waiting.map(nameOf).join(", ")}`);
    ordered.push(...waiting.splice(index, 1));
  }
  return ordered;
}

/** The named packages (their folders' names), and those that they depend on. */
function neededFor(names: readonly string[], packages: readonly Package[]): Package[] {
  const unknown = names.find((name) => packages.every(({ source }) => basename(source) !== name));
  if (unknown !== undefined) {
    const known = packages.map(({ source }) => basename(source)).join(", ");
    throw new BuildError(`there is no package "${unknown}" to build; there are ${known}`);
  }
  const needed = new Set<Package>();
  // Backwards, those that are needed come after those that need them.
  for (const one of packages.toReversed()) {
    if (names.includes(basename(one.source)) || [...needed].some((other) => dependsOn(other, one))) needed.add(one);
  }
  return packages.filter((one) => needed.has(one));
}

const nameOf = ({ manifest }: Package): string => manifest.name;
const dependsOn = (one: Package, other: Package): boolean => nameOf(other) in (one.manifest.dependencies ?? {});

function build(one: Package, built: readonly Package[]): void {
  rmSync(one.out, { recursive: true, force: true });
  mkdirSync(one.out, { recursive: true });
  compile(one, built);
  copyAssets(one);
  if (basename(one.source) === "runtime") copyDashboard(one);
  copyCommands(one);
  writeManifest(one, built);
  for (const file of ["README.md", "LICENSE"]) {
    const from = [one.source, ROOT].map((folder) => join(folder, file)).find((path) => existsSync(path));
    if (from !== undefined) cpSync(from, join(one.out, file));
  }
  checkFolder(one);
}

function compile(one: Package, built: readonly Package[]): void {
  const config = join(one.out, "tsconfig.json");
  const options = {
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    stripInternal: true,
    rootDir: one.source,
    outDir: one.out,
    typeRoots: [join(ROOT, "node_modules/@types")],
    // Our other packages as they are published, not their sources, which would be compiled along.
    paths: Object.fromEntries(
      built.flatMap(({ out, manifest }) =>
        Object.entries(manifest.exports ?? {}).map(([key, path]) => [
          join(manifest.name, key),
          [join(out, path.replace(/\.ts$/, ".d.ts"))],
        ]),
      ),
    ),
  };
  const include = [join(one.source, "src")];
  const exclude = ["src/**/*.test.ts"].map((pattern) => join(one.source, pattern));
  writeFileSync(
    config,
    JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions: options, include, exclude }),
  );
  const tsc = spawnSync(process.execPath, [TSC, "-p", config], { cwd: ROOT, encoding: "utf8" });
  if (tsc.status !== 0) throw new BuildError(`${nameOf(one)} does not compile:\n${tsc.stdout}${tsc.stderr}`);
  rmSync(config);
  // The compiler leaves declarations as they are.
  for (const path of globSync("src/**/*.d.ts", { cwd: one.out })) rewriteImports(join(one.out, path));
}

/** Names the built file wherever a file imports a source. */
function rewriteImports(file: string): void {
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replaceAll(/((?:from|import)\s*\(?\s*["']\.[^"']+)\.ts(["'])/g, "$1.js$2"));
}

/** What the compiler leaves alone: what the sources read at run time (SQL, JSON, pages), and entries that are no modules. */
function copyAssets({ source, out, manifest }: Package): void {
  const from = join(source, "src");
  for (const path of Object.values(manifest.exports ?? {})) {
    if (!path.endsWith(".ts") && existsSync(join(source, path))) cpSync(join(source, path), join(out, path));
  }
  cpSync(from, join(out, "src"), { recursive: true, filter: (path) => ![".ts", ".tsx"].includes(extname(path)) });
}

/** The Runtime serves the dashboard, which is no package of its own: what a clone builds when somebody asks goes along. */
function copyDashboard({ out }: Package): void {
  const script = join(ROOT, "packages/dashboard/scripts/build.ts");
  const built = spawnSync(process.execPath, [script], { cwd: ROOT, encoding: "utf8" });
  if (built.status !== 0) throw new BuildError(`the dashboard does not build:\n${built.stdout}${built.stderr}`);
  cpSync(built.stdout.trim(), join(out, "dashboard"), { recursive: true });
}

function copyCommands({ source, out, manifest }: Package): void {
  for (const file of Object.values(manifest.bin ?? {})) {
    cpSync(join(source, file), join(out, file)); // With its mode: it is a command.
    rewriteImports(join(out, file));
  }
}

function writeManifest(one: Package, built: readonly Package[]): void {
  const kept = Object.entries(one.manifest).filter(([key]) => !["private", "scripts", "devDependencies"].includes(key));
  const manifest: Record<string, unknown> = { ...Object.fromEntries(kept), files: readdirSync(one.out).toSorted() };
  if (one.manifest.bin !== undefined) manifest["engines"] = { node: ENGINES_NODE };
  if (Array.isArray(one.manifest.sideEffects)) {
    manifest["sideEffects"] = one.manifest.sideEffects.map((path) => path.replace(/\.ts$/, ".js"));
  }
  if (one.manifest.exports !== undefined) {
    manifest["exports"] = Object.fromEntries(
      Object.entries(one.manifest.exports).map(([key, path]) => [key, publishedEntry(path)]),
    );
  }
  if (one.manifest.dependencies !== undefined) {
    const versions = new Map(built.map((other) => [nameOf(other), other.manifest.version]));
    manifest["dependencies"] = Object.fromEntries(
      Object.entries(one.manifest.dependencies).map(([name, range]) => [name, versions.get(name) ?? range]),
    );
  }
  writeFileSync(join(one.out, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

function publishedEntry(path: string): unknown {
  if (!path.endsWith(".ts")) return path;
  return { types: path.replace(/\.ts$/, ".d.ts"), default: path.replace(/\.ts$/, ".js") };
}

/** That what the manifest names is there, and that no import asks for a source. */
function checkFolder({ out, manifest }: Package): void {
  const entries = Object.values(manifest.exports ?? {}).flatMap((path) =>
    path.endsWith(".ts") ? [".js", ".d.ts"].map((end) => path.replace(/\.ts$/, end)) : [path],
  );
  for (const path of [...entries, ...Object.values(manifest.bin ?? {})]) {
    if (!existsSync(join(out, path))) throw new BuildError(`${manifest.name}: ${path} did not get built`);
  }
  for (const path of globSync("**/*.{js,d.ts}", { cwd: out })) {
    const [, specifier] =
      /(?:from|import)\s*\(?\s*["'](\.[^"']+\.ts)["']/.exec(readFileSync(join(out, path), "utf8")) ?? [];
    if (specifier !== undefined) throw new BuildError(`${manifest.name}: ${path} still imports ${specifier}`);
  }
}

function main(): void {
  const { values, positionals } = parseArgs({ options: { out: { type: "string" } }, allowPositionals: true });
  const from = process.env["INIT_CWD"] ?? process.cwd();
  const built: Package[] = [];
  const packages = packagesInOrder(values.out === undefined ? undefined : resolve(from, values.out));
  for (const one of positionals.length === 0 ? packages : neededFor(positionals, packages)) {
    build(one, built);
    built.push(one);
    process.stdout.write(`${nameOf(one)}@${one.manifest.version} -> ${one.out}\n`);
  }
}

try {
  main();
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.stderr.write(`build: ${error.message}\n`);
  process.exitCode = 1;
}
