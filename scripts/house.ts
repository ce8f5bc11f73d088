/** What a room is, and whether a file keeps to its room's rules. */
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix } from "node:path";

import { referencesIn, type Reference } from "./references.ts";
import type { Source } from "./source-tree.ts";

export interface Room {
  readonly name: string;
  /** Folders, or files without `.ts`, below the root. `*` stands for one folder's name. The longest that fits decides. */
  readonly at: readonly string[];
  /**
   * What its files may import beside the room's own: rooms by name (their files, by relative path), packages by theirs,
   * built-ins as `node:…`. A `*` at the end stands for anything.
   */
  readonly imports: readonly string[];
  /** What they may import as types only. */
  readonly types?: readonly string[];
  /** Is driven by what it is handed: reaches for no host, page, calendar or chance. `but` names what it may use all the same. */
  readonly pure?: { readonly but: readonly string[] };
  /** May read the environment. */
  readonly environment?: true;
  /** May hold SQL. */
  readonly sql?: true;
  /** May import modules whose name is computed. */
  readonly loads?: true;
  /** Is no part of what is published: may import what the root has for development. */
  readonly development?: true;
}

export interface Violation {
  readonly path: string;
  readonly line: number;
  /** What it does, and the rule that forbids it. */
  readonly text: string;
}

/** What breaks the rules among these files, in their order. `root` is where their paths begin. */
export function violations(root: string, rooms: readonly Room[], sources: readonly Source[]): Violation[] {
  const house = new House(root, rooms);
  return sources.flatMap(({ path, file }) => {
    const room = house.roomOf(path);
    if (room === undefined)
      return [{ path, line: 1, text: "is in no room: give its folder a row in scripts/rooms.ts" }];
    return referencesIn(file).flatMap((reference) => {
      const text = house.problemWith(path, room, reference);
      return text === undefined ? [] : [{ path, line: reference.line, text }];
    });
  });
}

class House {
  readonly #root: string;
  readonly #rooms: readonly Room[];
  readonly #dependencies = new Map<string, ReadonlySet<string>>();

  constructor(root: string, rooms: readonly Room[]) {
    this.#root = root;
    this.#rooms = rooms;
  }

  roomOf(path: string): Room | undefined {
    let best: { readonly room: Room; readonly depth: number } | undefined;
    for (const room of this.#rooms) {
      for (const at of room.at) {
        if (isAt(path, at) && at.length > (best?.depth ?? 0)) best = { room, depth: at.length };
      }
    }
    return best?.room;
  }

  problemWith(path: string, room: Room, reference: Reference): string | undefined {
    switch (reference.kind) {
      case "environment":
        return room.environment === true ? undefined : "reads the environment, which runtime/node does for the Runtime";
      case "sql":
        return room.sql === true || !path.startsWith("packages/")
          ? undefined
          : `holds SQL ("${reference.text}"), which belongs to runtime/store`;
      case "global":
        return room.pure === undefined || room.pure.but.includes(reference.name)
          ? undefined
          : `uses ${reference.name}, and ${room.name} is pure: it has to be handed in`;
      case "import":
        return this.#problemWithImport(path, room, reference);
    }
  }

  #problemWithImport(
    path: string,
    room: Room,
    { specifier, typeOnly }: Reference & { kind: "import" },
  ): string | undefined {
    if (specifier === undefined) {
      return room.loads === true ? undefined : "imports a module whose name is computed, so nobody can say which";
    }
    if (isRelative(specifier)) {
      const to = posix.normalize(posix.join(posix.dirname(path), specifier));
      const target = this.roomOf(to);
      if (target === room) return undefined;
      const crosses = workspaceOf(path) !== workspaceOf(to);
      if (crosses && !(target !== undefined && room.imports.includes(target.name))) {
        return `imports ${to} by path: another package is imported by its name`;
      }
      return target === undefined ? `imports ${to}, which is in no room` : refusal(room, target.name, to, typeOnly);
    }
    const target = isBuiltin(specifier) ? `node:${specifier.replace(/^node:/, "")}` : packageOf(specifier);
    const wrong = refusal(room, target, specifier, typeOnly);
    if (wrong !== undefined || target.startsWith("node:") || room.development === true) return wrong;
    const name = specifier.startsWith("@") ? specifier.split("/", 2).join("/") : specifier.split("/", 1)[0];
    return this.#dependsOn(workspaceOf(path), name ?? specifier)
      ? undefined
      : `imports ${name}, which is not among the dependencies of ${workspaceOf(path)}/package.json`;
  }

  #dependsOn(workspace: string, name: string): boolean {
    let known = this.#dependencies.get(workspace);
    if (known === undefined) {
      const file = join(this.#root, workspace, "package.json");
      const manifest = (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}) as Manifest;
      known = new Set([
        manifest.name ?? "",
        ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies }),
      ]);
      this.#dependencies.set(workspace, known);
    }
    return known.has(name);
  }
}

interface Manifest {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function refusal(room: Room, target: string, what: string, typeOnly: boolean): string | undefined {
  if (room.imports.some((pattern) => fits(target, pattern))) return undefined;
  const asType = room.types?.some((pattern) => fits(target, pattern)) === true;
  if (asType && typeOnly) return undefined;
  if (asType) return `imports ${what}, of which ${room.name} may import types only`;
  const may = [...room.imports, ...(room.types ?? []).map((type) => `types of ${type}`)].join(", ");
  return `imports ${what}${what === target ? "" : ` (${target})`}; ${room.name} may import ${may || "nothing"}`;
}

function fits(target: string, pattern: string): boolean {
  return pattern.endsWith("*") ? target.startsWith(pattern.slice(0, -1)) : target === pattern;
}

/** Whether a file is the one, or in the folder, that a room names. */
function isAt(path: string, at: string): boolean {
  const [wanted, found] = [at.split("/"), path.split("/")];
  return wanted.every((part, index) => {
    const there = found[index];
    if (there === undefined) return false;
    return part === "*" || part === there || (index === found.length - 1 && there.replace(/\.[^.]+$/, "") === part);
  });
}

/** The folder whose files see each other by path: a package, or a folder at the top. */
function workspaceOf(path: string): string {
  return path
    .split("/")
    .slice(0, path.startsWith("packages/") ? 2 : 1)
    .join("/");
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith(".");
}

/** The package a specifier names; of ours with the entry (`@nylorun/agents/a2a`), of others without. */
function packageOf(specifier: string): string {
  if (specifier.startsWith("@nylorun/")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
