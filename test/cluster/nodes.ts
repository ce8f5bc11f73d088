/** Nodes of one PostgreSQL, as processes, behind a plain round-robin proxy. */
import { join } from "node:path";

import { nylorun, Serving } from "../crash/nylorun.ts";
import { startRoundRobin } from "../postgres/round-robin.ts";
import type { RoundRobin } from "../postgres/round-robin.ts";
import type { Postgres } from "../postgres/server.ts";

export interface NodesOptions {
  readonly postgres: Pick<Postgres, "url">;
  /** Of all their homes. */
  readonly folder: string;
  /** The module with the agents. */
  readonly agents: string;
  readonly count: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** How long a node may take to start, in milliseconds: the database may be away for a while. */
const patienceMs = 60_000;

export class Nodes implements AsyncDisposable {
  readonly proxy: RoundRobin;
  readonly #options: NodesOptions;
  readonly #serving: Serving[] = [];
  #disposed = false;

  static async start(options: NodesOptions): Promise<Nodes> {
    const nodes = new Nodes(options, await startRoundRobin());
    try {
      for (let n = 0; n < options.count; n++) await nodes.start(n);
    } catch (error) {
      await nodes[Symbol.asyncDispose]();
      throw error;
    }
    return nodes;
  }

  private constructor(options: NodesOptions, proxy: RoundRobin) {
    this.#options = options;
    this.proxy = proxy;
  }

  get count(): number {
    return this.#options.count;
  }

  /** The address of each. */
  get urls(): readonly string[] {
    return this.proxy.targets;
  }

  node(n: number): Serving {
    return this.#serving[n]!;
  }

  /** Starts a node, or starts it again in its home; the proxy is told. */
  async start(n: number, env: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.#disposed) throw new Error("These nodes are ended for good.");
    const serving = new Serving(this.#home(n), this.#options.agents, { ...this.#env, ...env }, patienceMs);
    this.#serving[n] = serving;
    const url = await serving.url;
    this.proxy.targets = Object.assign([...this.proxy.targets], { [n]: url });
  }

  /** A key for a subject, or for an operator. */
  async key(subject: string | undefined): Promise<string> {
    const whose = subject === undefined ? ["--operator"] : ["--subject", subject];
    const added = await nylorun(this.#home(0), "keys", "add", ...whose);
    if (added.code !== 0) throw new Error(added.stderr);
    return added.stdout.trim();
  }

  get #env(): Readonly<Record<string, string>> {
    return { ...this.#options.env, NYLORUN_DATABASE_URL: this.#options.postgres.url };
  }

  #home(n: number): string {
    return join(this.#options.folder, `node-${n}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await Promise.all(this.#serving.map((serving) => serving.kill()));
    await this.proxy[Symbol.asyncDispose]();
  }
}
