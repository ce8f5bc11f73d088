/**
 * What a suite serves on, as processes: one with the database of its home; or nodes of one PostgreSQL behind a plain round-robin
 * proxy. Which of the two, test/cluster says when it runs the suite: a suite that is written for {@link startNodes} holds on both.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { nylorunWith, Serving } from "../crash/nylorun.ts";
import type { Ran } from "../crash/nylorun.ts";
import { Records } from "../crash/records.ts";
import { startRoundRobin } from "../postgres/round-robin.ts";
import type { RoundRobin } from "../postgres/round-robin.ts";

/** The PostgreSQL that test/cluster has a suite run on. */
export const databaseUrl = process.env["TEST_DATABASE_URL"];

/** How many nodes a suite is run on there. */
export const many = 3;

/** How long the lease of a node that a suite kills goes on, in milliseconds. */
export const leaseMs = 2000;

export interface NodesOptions {
  /** Of all their homes. */
  readonly folder: string;
  /** The module with the agents. */
  readonly agents: string;
  /** Default: one. */
  readonly count?: number;
  /** What they share. Default: nothing, so it has to be one. */
  readonly postgres?: { readonly url: string; readonly schema?: string };
  readonly env?: Readonly<Record<string, string>>;
  /** A module that is loaded into each of them before all else. */
  readonly preload?: string;
}

/** How long a node may take to start, in milliseconds: the database may be away for a while. */
const patienceMs = 60_000;

/** Starts what test/cluster has asked for: by default, one process. */
export function startNodes(options: Omit<NodesOptions, "count" | "postgres">): Promise<Nodes> {
  if (databaseUrl === undefined) return Nodes.start(options);
  const postgres = { url: databaseUrl, schema: newSchema() };
  const env = { NYLORUN_LEASE_MS: String(leaseMs), NYLORUN_DATABASE_CONNECTIONS: "5", ...options.env };
  return Nodes.start({ ...options, env, postgres, count: many });
}

/** A name that no other suite has for its tables. */
export function newSchema(): string {
  return `test_${randomUUID().replaceAll("-", "")}`;
}

export class Nodes implements AsyncDisposable {
  /** In front of them. */
  readonly proxy: RoundRobin;
  /** What their database holds. */
  readonly records: Records;
  readonly #options: NodesOptions;
  readonly #serving: Serving[] = [];

  static async start(options: NodesOptions): Promise<Nodes> {
    const nodes = new Nodes(options, await startRoundRobin());
    try {
      await Promise.all(Array.from({ length: nodes.count }, (_, n) => nodes.start(n)));
    } catch (error) {
      await nodes[Symbol.asyncDispose]();
      throw error;
    }
    return nodes;
  }

  private constructor(options: NodesOptions, proxy: RoundRobin) {
    const { postgres } = options;
    this.#options = options;
    this.proxy = proxy;
    this.records = postgres === undefined ? Records.ofHome(this.#home(0)) : Records.ofPostgres(postgres);
  }

  get count(): number {
    return this.#options.count ?? 1;
  }

  /** Where callers reach them. One that has no others beside it is at another address whenever it is started again. */
  get url(): string {
    return this.#options.postgres === undefined ? this.urls[0]! : this.proxy.url;
  }

  /** The address of each. */
  get urls(): readonly string[] {
    return this.proxy.targets;
  }

  node(n: number): Serving {
    return this.#serving[n]!;
  }

  /** Which of them a process is; undefined: none that is there. */
  nodeOf(pid: number): number | undefined {
    const n = this.#serving.findIndex((serving) => serving.pid === pid && !serving.isOver);
    return n === -1 ? undefined : n;
  }

  /** Which of them are gone. */
  get dead(): readonly number[] {
    return [...this.#serving.keys()].filter((n) => this.#serving[n]!.isOver);
  }

  /** Resolves once any of those is gone that are there now, to which that is. */
  death(): Promise<number> {
    return Promise.race(this.#serving.map((serving, n) => serving.ended.then(() => n)));
  }

  /** kill -9 of all of them, at once. */
  async kill(): Promise<void> {
    await Promise.all(this.#serving.map((serving) => serving.kill()));
  }

  /** Starts a node, or starts it again in its home; the proxy is told. */
  async start(n: number, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { agents, preload } = this.#options;
    const serving = new Serving(this.#home(n), agents, { env: { ...this.#env, ...env }, patienceMs, preload });
    this.#serving[n] = serving;
    const url = await serving.url;
    this.proxy.targets = Object.assign([...this.proxy.targets], { [n]: url });
  }

  /** Starts those again that are gone. */
  async revive(): Promise<void> {
    await Promise.all(this.dead.map((n) => this.start(n)));
  }

  /** A key for a subject, or for an operator. */
  async key(subject: string | undefined): Promise<string> {
    const whose = subject === undefined ? ["--operator"] : ["--subject", subject];
    const { code, stdout, stderr } = await this.run("keys", "add", ...whose);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  /** Runs a command where they serve. */
  run(...args: readonly string[]): Promise<Ran> {
    return nylorunWith(this.#env, this.#home(0), ...args);
  }

  get #env(): Readonly<Record<string, string>> {
    const { env, postgres } = this.#options;
    if (postgres === undefined) return { ...env };
    return {
      NYLORUN_PUBLIC_URL: this.proxy.url,
      NYLORUN_FILE_FOLDER: this.blobs,
      ...env,
      NYLORUN_DATABASE_URL: postgres.url,
      ...(postgres.schema !== undefined && { NYLORUN_DATABASE_SCHEMA: postgres.schema }),
    };
  }

  #home(n: number): string {
    return join(this.#options.folder, `node-${n}`);
  }

  /** The folder that they keep files in. */
  get blobs(): string {
    return this.#options.postgres === undefined ? join(this.#home(0), "blobs") : join(this.#options.folder, "files");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.proxy[Symbol.asyncDispose]();
  }
}
