/**
 * Pins what each package exports, in `packages/<name>/exports.txt`. `node scripts/exports.ts` writes the files; with `--check`
 * it writes none, prints what differs, and exits with 1.
 *
 * An entry point names each export (`export { … } from`, `export type { … } from`, or the declaration itself): nothing gets out
 * by accident. A package without entry points (a command alone) has no such file.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

import {
  isExportDeclaration,
  isIdentifier,
  isInterfaceDeclaration,
  isNamedExports,
  isTypeAliasDeclaration,
  isVariableStatement,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";

import { withSources, type Source } from "./source-tree.ts";

const ROOT = dirname(import.meta.dirname);

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>;
}

/** The entry points of a package: how they are imported, and their source. */
function entriesOf(folder: string): { readonly specifier: string; readonly path: string }[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as Manifest;
  return Object.entries(manifest.exports ?? {}).flatMap(([key, value]) => {
    const path = posix.join(folder, typeof value === "string" ? value : value.default);
    return path.endsWith(".ts") ? [{ specifier: posix.join(manifest.name, key), path }] : [];
  });
}

/** The names an entry point exports, `type ` before those that are types only, in order. */
function namesIn(path: string, file: SourceFile): string[] {
  const names = file.statements.flatMap((statement: Node) => {
    if (isExportDeclaration(statement)) {
      const { exportClause, isTypeOnly } = statement;
      if (exportClause === undefined || !isNamedExports(exportClause)) throw new LooseExport(path, file, statement);
      return exportClause.elements.map((one) =>
        isTypeOnly || one.isTypeOnly ? `type ${one.name.text}` : one.name.text,
      );
    }
    if (statement.kind === SyntaxKind.ExportAssignment) throw new LooseExport(path, file, statement);
    return isExported(statement) ? declaredBy(statement, () => new LooseExport(path, file, statement)) : [];
  });
  return names.toSorted((one, other) => (one < other ? -1 : 1));
}

function isExported(statement: Node): boolean {
  const { modifiers } = statement as { readonly modifiers?: readonly Node[] };
  return modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword) === true;
}

function declaredBy(statement: Node, loose: () => LooseExport): string[] {
  if (isInterfaceDeclaration(statement) || isTypeAliasDeclaration(statement)) return [`type ${statement.name.text}`];
  const declared = isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
  return declared.map((one: Node) => {
    const { name } = one as { readonly name?: Node };
    if (name === undefined || !isIdentifier(name)) throw loose();
    return name.text;
  });
}

class LooseExport extends Error {
  constructor(path: string, file: SourceFile, statement: Node) {
    const line = file.getLineAndCharacterOfPosition(statement.getStart(file)).line + 1;
    super(`${path}:${line} an entry point exports by name alone: export { … } from "./module.ts"`);
  }
}

/** What `exports.txt` of a package should hold. */
function pinOf(folder: string, sources: readonly Source[]): string {
  const entries = entriesOf(folder).map(({ specifier, path }) => {
    const source = sources.find((one) => one.path === path);
    if (source === undefined) throw new Error(`${folder}/package.json exports ${path}, which is not there`);
    return [specifier, ...namesIn(path, source.file).map((name) => `  ${name}`)].join("\n");
  });
  return entries.length === 0 ? "" : `${entries.join("\n\n")}\n`;
}

/** The lines of `now` and `before` that the other lacks. */
function difference(before: string, now: string): string {
  const [old, fresh] = [before.split("\n"), now.split("\n")];
  const gone = old.filter((line) => !fresh.includes(line)).map((line) => `  - ${line.trim()}`);
  return [...gone, ...fresh.filter((line) => !old.includes(line)).map((line) => `  + ${line.trim()}`)].join("\n");
}

function main(check: boolean): void {
  const folders = globSync("packages/*/package.json", { cwd: ROOT }).map(dirname).toSorted();
  const wrong = withSources(ROOT, (sources) =>
    folders.flatMap((folder) => {
      const file = join(ROOT, folder, "exports.txt");
      let now: string;
      try {
        now = pinOf(folder, sources);
      } catch (error) {
        return [error instanceof LooseExport ? error.message : `${folder}: ${(error as Error).message}`];
      }
      const before = existsSync(file) ? readFileSync(file, "utf8") : "";
      if (now === before) return [];
      if (!check && now === "") rmSync(file);
      else if (!check) writeFileSync(file, now);
      return check ? [`${folder}/exports.txt is not what the package exports:\n${difference(before, now)}`] : [];
    }),
  );
  if (wrong.length === 0) return;
  const hint = "Is the change meant? Then `node scripts/exports.ts` writes it down.";
  process.stderr.write(`${[...wrong, ...(check ? [hint] : [])].join("\n")}\n`);
  process.exitCode = 1;
}

if (import.meta.main) main(process.argv.includes("--check"));
