/**
 * A home: the folder that keeps everything, held by one process at a time (E18). The lock goes with the process, however it
 * ends. Who holds it stands in `owner.json`, which may be stale and is believed only while the lock is held.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { makeFolder } from "../files/make-folder.ts";
import { tryLock } from "../store/sqlite/lock.ts";
import { RuntimeError } from "./errors.ts";

/** What a process holds a home for: to serve it, or for one command while nobody serves it. */
export type Purpose = "serve" | "command";

export interface Home extends Disposable {
  readonly folder: string;
  /** The store's database. */
  readonly database: string;
  /** Tells other processes where commands are taken: {@link Owner.control}. */
  announce(control: string): void;
}

/** Who holds a home, as `owner.json` says. */
export interface Owner {
  readonly pid: number;
  readonly purpose: Purpose;
  /** The socket on which a serving process takes commands. */
  readonly control?: string | undefined;
}

/** There once what the home holds was exported, to go on elsewhere. */
const MOVED = "moved.json";
const LOCK = "home.lock";
const OWNER = "owner.json";
/** Between two attempts at the lock, in milliseconds. */
const PAUSE = 20;

/**
 * Takes the home, making the folder (0700) if there is none.
 *
 * @param options.patienceMs How long to wait for a process that has it: a command is done soon, a killed process gone soon.
 * @throws RuntimeError `home.taken` naming the process that has it; `home.unusable`.
 */
export async function takeHome(
  folder: string,
  { purpose, patienceMs }: { readonly purpose: Purpose; readonly patienceMs: number },
): Promise<Home> {
  prepareFolder(folder);
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const lock = lockOf(folder);
    if (lock !== undefined) return holdHome({ folder, purpose, lock });
    if (performance.now() >= deadline) throw taken(folder, readOwner(folder));
    await delay(PAUSE);
  }
}

/** Whether there is a home in this folder. */
export function isHome(folder: string): boolean {
  return existsSync(join(folder, LOCK));
}

export function missingHome(folder: string): RuntimeError {
  const message = `There is no home at ${folder}. Do this in the folder where you serve, or name the home with --home.`;
  return new RuntimeError("home.missing", message);
}

/** Where the database of a home is, whether there is one yet or not. */
export function databaseOf(folder: string): string {
  return join(folder, "nylorun.db");
}

/**
 * What comes from a home, and is to become one again.
 *
 * @throws RuntimeError `request.invalid`: it is not there, or no regular file, whose end may never come.
 */
export function checkFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new RuntimeError("request.invalid", `There is no file ${file}.`);
  if (!found.isFile()) throw new RuntimeError("request.invalid", `${file} is no regular file.`);
}

/** What it holds is to go on elsewhere: served here too, it would be done twice. */
export function markMoved(folder: string, to: string): void {
  writeFileSync(join(folder, MOVED), JSON.stringify({ at: new Date().toISOString(), to }), { mode: 0o600 });
}

/** @throws RuntimeError `home.moved`. */
export function checkNotMoved(folder: string): void {
  if (!existsSync(join(folder, MOVED))) return;
  throw new RuntimeError(
    "home.moved",
    `What the home ${folder} holds was exported, to go on elsewhere. Serve that; or, if it never went on there, remove ${join(folder, MOVED)}.`,
  );
}

/** Who says to hold the home. A process that was killed still says so. */
export function readOwner(folder: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, OWNER), "utf8")) as Owner;
  } catch {
    return undefined;
  }
}

function holdHome({ folder, purpose, lock }: { folder: string; purpose: Purpose; lock: Disposable }): Home {
  const file = join(folder, OWNER);
  const write = (owner: Owner) => {
    // Renamed into place, so that nobody reads half of it.
    writeFileSync(`${file}.new`, JSON.stringify(owner), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  };
  write({ pid: process.pid, purpose });
  const database = databaseOf(folder);
  // SQLite gives its other files the mode of this one.
  if (!existsSync(database)) writeFileSync(database, "", { mode: 0o600 });
  let disposed = false;
  return {
    folder,
    database,
    announce: (control) => write({ pid: process.pid, purpose, control }),
    [Symbol.dispose]() {
      if (disposed) return;
      disposed = true;
      rmSync(file, { force: true });
      lock[Symbol.dispose]();
    },
  };
}

/** The home's lock, or undefined when another process has it. */
function lockOf(folder: string): Disposable | undefined {
  const file = join(folder, LOCK);
  try {
    return tryLock(file);
  } catch (error) {
    throw unusable(folder, `${file} cannot be locked (${(error as Error).message})`, error);
  }
}

/** Makes the folder, or makes sure that it is ours: nobody's `/tmp` is to become private because it was named by mistake. */
function prepareFolder(folder: string): void {
  try {
    makeFolder(folder);
    const names = readdirSync(folder);
    const strange = names.includes(LOCK) ? [] : names.filter((name) => name !== "lost+found");
    if (strange.length > 0) {
      throw new RuntimeError(
        "home.unusable",
        `${folder} is no home: it holds other things (${strange.slice(0, 3).join(", ")}${strange.length > 3 ? ", …" : ""}). ` +
          "Choose a new or an empty folder with --home.",
      );
    }
    if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === "ENOTDIR" || code === "EEXIST"
        ? "a file is in its place"
        : code === "EACCES" || code === "EPERM"
          ? "this user may not use it"
          : code === "EROFS"
            ? "it is on a read-only disk"
            : code === "ENOENT"
              ? "no folder can be made there"
              : (error as Error).message;
    throw unusable(folder, why, error);
  }
}

function unusable(folder: string, why: string, cause: unknown): RuntimeError {
  const message = `The folder ${folder} cannot be used as a home: ${why}. Choose another one with --home.`;
  return new RuntimeError("home.unusable", message, { cause });
}

function taken(folder: string, owner: Owner | undefined): RuntimeError {
  const who = owner === undefined ? "another process" : `process ${owner.pid}`;
  const message =
    owner?.purpose === "command"
      ? `A command (${who}) is at work in the home ${folder}. Try again when it is done.`
      : `${who[0]?.toUpperCase()}${who.slice(1)} serves the home ${folder}. Stop it, or choose another home with --home.`;
  return new RuntimeError("home.taken", message);
}
