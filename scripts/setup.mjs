// Makes a clone ready: the packages of package-lock.json, the pinned Node as node_modules/.bin/node, and the `nylorun`
// command beside it. Every npm script runs this first (`pre…`), and npm puts node_modules/.bin first on PATH, so the
// script itself then runs on the pinned Node whatever the host has.
//
// Plain JavaScript without dependencies: it runs before anything is installed, on any Node from 18.
//
// When there is nothing to do it only reads a few files. What it did is stamped inside node_modules, so the stamp
// goes when they go. One setup runs at a time in a clone: `npm ci` empties node_modules, under everybody's feet.

import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  linkSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULES = join(ROOT, "node_modules");
const STAMP = join(MODULES, ".setup.json");
const LOCK = join(ROOT, ".setup.lock");

/** The oldest Node that runs the sources as they are; used only where no pinned Node can be had. */
const OLDEST_NODE = 24;
/** How long to wait for another setup of the same clone, in milliseconds. */
const PATIENCE = 15 * 60_000;
/** A lock of another machine (a shared folder) is dead when its owner has not touched it for this long, in milliseconds. */
const SILENCE = 60_000;

/** A failure that one sentence explains. */
class SetupError extends Error {}

const say = (line) => process.stderr.write(`setup: ${line}\n`);
const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));
const binFiles = (name) => ["", ".exe", ".cmd", ".ps1"].map((end) => join(MODULES, ".bin", name + end));
const hasBin = (name) => binFiles(name).some((file) => existsSync(file));

// --- what is wanted, and what is there ------------------------------------------------------------------------------

const FIELDS = [
  "name",
  "bin",
  "workspaces",
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
];

/** The folders of the root package and of its workspaces, relative to the root ("" is the root). */
function packageFolders(root) {
  const folders = [""];
  for (const pattern of root.workspaces ?? []) {
    if (!pattern.endsWith("/*")) folders.push(pattern);
    else {
      const parent = pattern.slice(0, -2);
      if (!existsSync(join(ROOT, parent))) continue;
      for (const name of readdirSync(join(ROOT, parent)).sort()) folders.push(`${parent}/${name}`);
    }
  }
  return folders.filter((folder) => existsSync(join(ROOT, folder, "package.json")));
}

/** What the clone asks for: the manifests' dependencies and the lock file, and a hash over both. */
function whatIsWanted() {
  const lockText = readFileSync(join(ROOT, "package-lock.json"), "utf8");
  const root = readJson(join(ROOT, "package.json"));
  const manifests = {};
  for (const folder of packageFolders(root)) {
    const manifest = folder === "" ? root : readJson(join(ROOT, folder, "package.json"));
    manifests[folder] = Object.fromEntries(FIELDS.map((field) => [field, manifest[field]]));
  }
  const hash = createHash("sha256");
  hash.update(JSON.stringify([process.platform, process.arch, manifests]));
  hash.update(lockText);
  return { root, manifests, lockText, fingerprint: hash.digest("hex") };
}

function isReady(fingerprint) {
  let stamp;
  try {
    stamp = readJson(STAMP);
  } catch {
    return false;
  }
  if (stamp.fingerprint !== fingerprint || !hasBin("nylorun")) return false;
  return stamp.node === "host" ? hostNodeServes() : hasBin("node");
}

const hostNodeServes = () => Number(process.versions.node.split(".")[0]) >= OLDEST_NODE;

/**
 * Whether node_modules already holds what the lock file asks for, by npm's own record of it. True after a
 * `npm install` by hand: running `npm ci` then would only pull the packages from under whoever uses them.
 */
function isInstalled({ manifests, lockText }) {
  let wanted, installed;
  try {
    wanted = JSON.parse(lockText).packages;
    installed = readJson(join(MODULES, ".package-lock.json")).packages;
  } catch {
    return false;
  }
  for (const [folder, manifest] of Object.entries(manifests)) {
    for (const field of ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]) {
      if (!sameEntries(manifest[field], wanted[folder]?.[field])) return false;
    }
  }
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.includes("node_modules/")) continue;
    const found = installed[path];
    if (found === undefined && entry.optional && !suitsThisMachine(entry)) continue;
    if (found === undefined || !existsSync(join(ROOT, path))) return false;
    if (found.version !== entry.version || found.integrity !== entry.integrity) return false;
  }
  return Object.keys(installed).every((path) => path in wanted);
}

function sameEntries(one = {}, other = {}) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

function suitsThisMachine({ os, cpu, libc }) {
  const listed = (list, value) => list === undefined || (Array.isArray(list) ? list : [list]).includes(value);
  return listed(os, process.platform) && listed(cpu, process.arch) && (libc === undefined || listed(libc, hostLibc()));
}

/** The C library of a Linux host, as npm tells it: Node reports a glibc's version, and nothing else's. */
function hostLibc() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime ? "glibc" : "musl";
}

// --- npm ci ---------------------------------------------------------------------------------------------------------

/** The npm that started us, on the Node that it runs on or on the pinned one; else the npm on PATH. */
function npmCommand(onPinnedNode) {
  const cli = process.env.npm_execpath;
  if (cli && /npm-cli\.[cm]?js$/.test(cli) && existsSync(cli)) {
    const node = onPinnedNode ? join(MODULES, ".bin", "node") : process.env.npm_node_execpath;
    return { command: node || process.execPath, first: [cli], shell: false };
  }
  return { command: "npm", first: [], shell: process.platform === "win32" };
}

/** Our environment without the flags that npm handed down and that would bend the command; our own .bin only if asked. */
function npmEnvironment(onPinnedNode) {
  const bends =
    /^npm_config_(workspaces?|include_workspace_root|global|location|dry_run|package_lock(_only)?|omit|only|production|json)$/i;
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !bends.test(name)));
  const path = Object.keys(environment).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  const bin = join(MODULES, ".bin");
  const folders = (environment[path] ?? "").split(delimiter).filter((folder) => folder !== bin);
  environment[path] = (onPinnedNode ? [bin, ...folders] : folders).join(delimiter);
  return environment;
}

/** Runs one npm command in the clone, quietly unless it fails. */
async function npm(lock, words, onPinnedNode) {
  const { command, first, shell } = npmCommand(onPinnedNode);
  const flags = ["--include=dev", "--include=optional", "--engine-strict=false", "--bin-links", "--prefer-offline"];
  const child = spawn(command, [...first, ...words, ...flags, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: ROOT,
    env: npmEnvironment(onPinnedNode),
    shell,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => (said = (said + chunk).slice(-8_000)));
  lock.guard(child);
  const how = await new Promise((resolve) => {
    child.on("error", (error) => resolve(`could not be started: ${error.message}`));
    child.on("close", (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? `code ${code}`}`));
  });
  if (how !== undefined) {
    if (said.trim()) process.stderr.write(`${said.trim()}\n`);
    throw new SetupError(
      `\`npm ${words.join(" ")}\` ${how}; make sure that npm reaches its registry and that package-lock.json fits package.json, then run the same command again.`,
    );
  }
}

// --- the pinned Node ------------------------------------------------------------------------------------------------

/** The package that brings the pinned Node to this platform, and its version. */
function pinnedNode(root) {
  const platform = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const pins = Object.entries(root.optionalDependencies ?? {}).filter(([pin]) => pin.startsWith("node-"));
  const [name] = pins.find(([pin]) => pin.endsWith(`-${platform}`)) ?? [];
  return { platform, name, version: pins[0]?.[1] };
}

/** "pinned" when the scripts will find the pinned Node, "host" when they have to do with the host's own. */
function chooseNode(root) {
  const { platform, name, version } = pinnedNode(root);
  let why = `there is no package of Node ${version} for ${platform}`;
  if (name !== undefined) {
    why = `the package ${name}@${version} did not get installed`;
    const folder = join(MODULES, name);
    if (existsSync(folder)) {
      const binary = join(folder, readJson(join(folder, "package.json")).bin.node);
      const run = spawnSync(binary, ["-v"], { encoding: "utf8" });
      if (run.stdout?.trim() === `v${version}`) {
        if (!hasBin("node")) linkNode(binary);
        return "pinned";
      }
      why = `the Node of ${name}@${version} does not run here`;
    }
  }
  // A Node that does not run must not stay first on PATH.
  for (const file of binFiles("node")) rmSync(file, { force: true });
  if (!hostNodeServes()) {
    throw new SetupError(
      `${why}: install Node ${OLDEST_NODE} or newer (this is ${process.version}) and run the same command again.`,
    );
  }
  say(`${why}; going on with this machine's own Node ${process.version}`);
  return "host";
}

/**
 * Links the pinned Node where npm scripts find it. npm does so too, but up to version 10 it takes the link away again
 * together with the packages for other platforms, which have a `node` of their own and are left out.
 */
function linkNode(binary) {
  const bin = join(MODULES, ".bin");
  if (process.platform === "win32") linkSync(binary, join(bin, "node.exe"));
  else symlinkSync(relative(bin, binary), join(bin, "node"));
}

// --- one setup at a time --------------------------------------------------------------------------------------------

/**
 * The lock of this clone: a file that names its owner. A dead owner's lock is removed by whoever creates the file
 * `LOCK.<its token>`: only one can, and it looks again first, so no living lock is ever removed.
 */
async function takeLock() {
  const token = randomBytes(8).toString("hex");
  const deadline = Date.now() + PATIENCE;
  const mine = { token, host: hostname(), pid: process.pid };
  for (let told = false; ;) {
    if (createFile(LOCK, JSON.stringify(mine))) return holdLock(mine);
    const owner = lockOwner();
    if (owner && !isAlive(owner)) {
      const claim = `${LOCK}.${owner.token}`;
      if (createFile(claim, "")) {
        if (lockOwner()?.token === owner.token) rmSync(LOCK, { force: true });
        rmSync(claim, { force: true });
        continue;
      }
    }
    if (Date.now() > deadline) {
      throw new SetupError(`another setup still holds ${LOCK}; if none is running, remove that file and try again.`);
    }
    if (owner?.pid && !told) {
      say(`another setup of this clone is running (process ${owner.pid}); waiting for it`);
      told = true;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function holdLock(mine) {
  const children = new Set();
  const beat = setInterval(() => {
    if (existsSync(LOCK)) utimesSync(LOCK, new Date(), new Date());
  }, SILENCE / 12);
  const release = () => {
    clearInterval(beat);
    if (lockOwner()?.token === mine.token) rmSync(LOCK, { force: true });
  };
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ]) {
    process.once(signal, () => {
      for (const child of children) child.kill(signal);
      release();
      process.exit(code);
    });
  }
  return {
    release,
    /** Names a child in the lock, so that the lock lives as long as the child should we be killed. */
    guard(child) {
      children.add(child);
      const draft = `${LOCK}.${mine.token}`;
      writeFileSync(draft, JSON.stringify({ ...mine, child: child.pid }));
      renameSync(draft, LOCK);
    },
  };
}

/** Creates a file that was not there; false when it was. */
function createFile(file, text) {
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw new SetupError(`cannot write ${file} (${error.code}); the clone's folder has to be writable for a setup.`);
  }
}

function lockOwner() {
  try {
    return readJson(LOCK);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    return { token: "unreadable" }; // Not written to its end: by somebody at it now, or by somebody who died at it.
  }
}

function isAlive(owner) {
  if (owner.host === hostname()) return [owner.pid, owner.child].some((pid) => pid !== undefined && isRunning(pid));
  try {
    return Date.now() - statSync(LOCK).mtimeMs < SILENCE;
  } catch {
    return true; // Just gone: look again.
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// --------------------------------------------------------------------------------------------------------------------

async function setUp() {
  if (isReady(whatIsWanted().fingerprint)) return;
  const lock = await takeLock();
  try {
    // Asked again: whoever held the lock has probably done it.
    const wanted = whatIsWanted();
    if (isReady(wanted.fingerprint)) return;
    const started = Date.now();
    const complete = isInstalled(wanted);
    if (!complete) {
      say("installing the packages of package-lock.json (npm ci); the first time takes a minute");
      await npm(lock, ["ci"], false);
    }
    let node = chooseNode(wanted.root);
    // npm leaves optional packages out (the linter's binary is one) that want a newer Node than the host's.
    if (node === "pinned" && !isInstalled(wanted)) {
      await npm(lock, ["install", "--no-save"], true);
      node = chooseNode(wanted.root);
    }
    if (!complete) say(`done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
    if (!hasBin("nylorun")) {
      throw new SetupError(
        "`npm ci` did not link `nylorun` into node_modules/.bin; remove node_modules and try again.",
      );
    }
    writeFileSync(`${STAMP}.new`, JSON.stringify({ fingerprint: wanted.fingerprint, node }));
    renameSync(`${STAMP}.new`, STAMP);
  } finally {
    lock.release();
  }
}

try {
  await setUp();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
