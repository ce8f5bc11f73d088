/** What a source file reaches for: the modules it imports, the globals and settings it touches, the SQL it holds. */
import {
  isCallExpression,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNamedImports,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isStringLiteral,
  isTemplateHead,
  isVariableDeclaration,
  type ImportDeclaration,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";

export type Reference =
  | {
      readonly kind: "import";
      readonly line: number;
      /** As it is written; undefined: a dynamic import of something computed. */
      readonly specifier: string | undefined;
      /** Gone at run time. */
      readonly typeOnly: boolean;
    }
  | { readonly kind: "global"; readonly line: number; readonly name: string }
  | { readonly kind: "environment"; readonly line: number }
  | { readonly kind: "sql"; readonly line: number; readonly text: string };

/** Objects and functions that a pure module does without: the host's, the page's, the clock, chance. */
const GLOBAL_OBJECTS = new Set([
  "process",
  "Buffer",
  "console",
  "document",
  "window",
  "navigator",
  "localStorage",
  "performance",
  "crypto",
  "globalThis",
]);
const GLOBAL_FUNCTIONS = new Set(["fetch", "setTimeout", "setInterval", "require"]);
const GLOBAL_MEMBERS = new Set(["Date.now", "Math.random"]);

const SQL =
  /^\s*(select\s[^;]*\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|update\s+(or\s+\w+\s+)?\w+\s+set\s|delete\s+from\s|create\s+(unique\s+)?(table|index|trigger|view)\s|alter\s+table\s|pragma\s+\w|begin(\s+(immediate|exclusive|transaction))?\s*;?$|savepoint\s+\w)/i;

/** A statement, in capitals or without any: prose begins with one. */
function isSql(text: string): boolean {
  return SQL.test(text) && !/^\s*[A-Z][a-z]/.test(text);
}

export function referencesIn(file: SourceFile): Reference[] {
  const found: Reference[] = [];
  const lineOf = (node: Node): number => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
  const visit = (node: Node): void => {
    const line = lineOf(node);
    if (isImportDeclaration(node)) {
      found.push({ kind: "import", line, specifier: literal(node.moduleSpecifier), typeOnly: isTypeOnly(node) });
      if (importsEnvironment(node)) found.push({ kind: "environment", line });
    } else if (isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      found.push({ kind: "import", line, specifier: literal(node.moduleSpecifier), typeOnly: node.isTypeOnly });
    } else if (isImportTypeNode(node) && isLiteralTypeNode(node.argument)) {
      found.push({ kind: "import", line, specifier: literal(node.argument.literal), typeOnly: true });
    } else if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
      found.push({ kind: "import", line, specifier: literal(node.arguments[0]), typeOnly: false });
    } else if (isCallExpression(node) && isIdentifier(node.expression) && GLOBAL_FUNCTIONS.has(node.expression.text)) {
      found.push({ kind: "global", line, name: node.expression.text });
    } else if (isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === "Date") {
      if ((node.arguments?.length ?? 0) === 0) found.push({ kind: "global", line, name: "new Date()" });
    } else if (isPropertyAccessExpression(node) && isIdentifier(node.expression)) {
      const [object, member] = [node.expression.text, node.name.text];
      if (object === "process" && member === "env") found.push({ kind: "environment", line });
      if (GLOBAL_OBJECTS.has(object)) found.push({ kind: "global", line, name: object });
      if (GLOBAL_MEMBERS.has(`${object}.${member}`)) found.push({ kind: "global", line, name: `${object}.${member}` });
    } else if (isVariableDeclaration(node) && node.initializer !== undefined && isIdentifier(node.initializer)) {
      if (node.initializer.text === "process") found.push({ kind: "environment", line });
    } else if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node) || isTemplateHead(node)) {
      if (isSql(node.text))
        found.push({ kind: "sql", line, text: node.text.trim().replaceAll(/\s+/g, " ").slice(0, 40) });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

function literal(node: Node | undefined): string | undefined {
  return node !== undefined && (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) ? node.text : undefined;
}

/** `import type` only: `import { type T }` still loads the module. */
function isTypeOnly({ importClause }: ImportDeclaration): boolean {
  return importClause?.phaseModifier === SyntaxKind.TypeKeyword;
}

function importsEnvironment(node: ImportDeclaration): boolean {
  if (!/^(node:)?process$/.test(literal(node.moduleSpecifier) ?? "")) return false;
  const bindings = node.importClause?.namedBindings;
  if (bindings === undefined || !isNamedImports(bindings)) return false;
  return bindings.elements.some(({ propertyName, name }) => (propertyName ?? name).text === "env");
}
