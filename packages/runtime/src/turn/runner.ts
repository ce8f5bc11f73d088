/**
 * Runs what is due on this node: claims contexts, keeps their leases, bounds how many run at once, and lets a turn that kills
 * processes run alone (E17, E18).
 */
import type { Agent } from "@nylorun/agents";

import { hasShare, suspectDeaths } from "../store/store.ts";
import type { Commit, Committed } from "../store/store.ts";
import { tellCaller } from "./colleague.ts";
import { loadEarlier } from "./earlier.ts";
import type { EnginePorts } from "./ports.ts";
import type { Claim, TurnKey, TurnRecord } from "./record.ts";
import { Run } from "./run.ts";
import type { RunEnd } from "./run.ts";
import { pause } from "./timers.ts";
import { held } from "./view.ts";

/** Claimed in one go. */
const claimLimit = 32;
/** Due times are looked up at least this often, should a signal be lost (I9). */
const longestNapMs = 30_000;
/** How long claims that are on their way when it stops are waited for. */
const lastClaimsMs = 1000;
/** How long a claim that failed, or that left somebody for want of room, waits before it is tried again. */
const retryMs = 1000;

export class Runner {
  readonly #options: EnginePorts;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #runs = new Set<Run>();
  /** Turns of each subject that run here, or are about to. */
  readonly #running = new Map<string, number>();
  /** Claims that are being dealt with, those of runs among them. */
  #going = 0;
  /** Claims that are being made: they will need a place. */
  #reserved = 0;
  /** A turn that may kill the process waits until nothing else runs, and nothing else begins meanwhile. */
  #alone = false;
  #claiming = false;
  /** Due contexts were left for want of room: whoever ends makes some, and nobody is served before them. */
  #left = false;
  #claimAgain = false;
  #state: "new" | "started" | "stopped" = "new";
  #stopNap: (() => void) | undefined;
  #stopHeartBeat: (() => void) | undefined;
  #unlisten: (() => void) | undefined;

  constructor(options: EnginePorts, agents: ReadonlyMap<string, Agent>) {
    this.#options = options;
    this.#agents = agents;
  }

  get running(): number {
    return this.#runs.size;
  }

  /** Whether this node runs the turn. */
  runs({ context, turn }: TurnKey): boolean {
    return [...this.#runs].some(({ record }) => record.context === context && record.turn === turn);
  }

  start(): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    this.#unlisten = this.#options.signal.onDue(() => this.#claimSoon());
    this.#beat();
    this.#claimSoon();
  }

  /** Gives running turns `graceMs` to end, and lets go of the rest. */
  async stop(graceMs: number): Promise<void> {
    if (this.#state === "stopped") return;
    this.#state = "stopped";
    this.#unlisten?.();
    this.#stopNap?.();
    const { timers } = this.#options;
    const deadline = timers.now() + graceMs;
    while ((this.#runs.size > 0 || this.#reserved > 0) && timers.now() < deadline) await pause(timers, 5);
    this.#stopHeartBeat?.();
    await Promise.all([...this.#runs].map((run) => run.stop()));
    // What was being claimed meanwhile is given back before the store is closed; not for ever, should the store not answer.
    const last = timers.now() + lastClaimsMs;
    while ((this.#claiming || this.#reserved > 0 || this.#going > 0) && timers.now() < last) await pause(timers, 1);
  }

  /** A place for one more turn of a subject, which the caller of `accept` fills with a claim, or gives back with undefined. */
  reserve(subject: string): ((claim: Claim | undefined) => void) | undefined {
    if (this.#state !== "started" || this.#alone || this.#left) return undefined;
    if (!hasShare(this.#running.get(subject) ?? 0, this.#room(), this.#most)) return undefined;
    this.#reserved++;
    this.#count(subject, 1);
    const leaseUntil = this.#leaseUntil();
    return (claim) => {
      this.#reserved--;
      this.#count(subject, -1);
      if (claim !== undefined) void this.#run(claim, leaseUntil);
      else if (this.#left) this.#claimSoon();
    };
  }

  get #most(): number {
    return this.#options.limits.subjectRunningTurns ?? Number.MAX_SAFE_INTEGER;
  }

  #count(subject: string, by: number): void {
    const count = (this.#running.get(subject) ?? 0) + by;
    if (count === 0) this.#running.delete(subject);
    else this.#running.set(subject, count);
  }

  /** When a lease that is asked for now will have ended, however long the answer takes. */
  #leaseUntil(): number {
    return this.#options.timers.now() + this.#options.limits.leaseMs;
  }

  #room(): number {
    return Math.max(0, this.#options.limits.maxRunningTurns - this.#runs.size - this.#reserved);
  }

  /** Where others claim too, nobody says so: whoever looks within a lease's time knows when that ends, and is there then. */
  get #longestNap(): number {
    const { store, limits } = this.#options;
    return store.readsAreCurrent ? longestNapMs : Math.min(longestNapMs, limits.leaseMs * 0.9);
  }

  #claimSoon(): void {
    if (this.#state !== "started") return;
    if (this.#claiming) {
      this.#claimAgain = true;
      return;
    }
    this.#claiming = true;
    void this.#claim().finally(() => {
      this.#claiming = false;
      if (!this.#claimAgain) return;
      this.#claimAgain = false;
      this.#claimSoon();
    });
  }

  async #claim(): Promise<void> {
    const { store, limits, log } = this.#options;
    const { leaseMs } = limits;
    this.#stopNap?.();
    try {
      for (;;) {
        const busy = this.#runs.size + this.#reserved > 0;
        if (this.#state !== "started") return;
        if (this.#room() === 0 || (this.#alone && busy)) {
          this.#left = true;
          return;
        }
        if (this.#alone) {
          const leaseUntil = this.#leaseUntil();
          const suspect = await this.#claimed(1, store.claimSuspect({ leaseMs }));
          if (suspect !== undefined) {
            void this.#run(suspect, leaseUntil).then(() => {
              this.#alone = false;
              this.#claimSoon();
            });
            return;
          }
          this.#alone = false;
        }
        const room = this.#room();
        const limit = Math.min(claimLimit, room);
        const share = { room, most: this.#most, running: this.#running };
        const leaseUntil = this.#leaseUntil();
        const claims = await this.#claimed(limit, store.claimDue({ limit, leaseMs, share }));
        for (const claim of claims) void this.#run(claim, leaseUntil);
        if (claims.length === limit) continue;
        const { at, suspect } = await store.nextDue();
        if (suspect) {
          // From here on nothing begins; when what runs has ended, the suspect does.
          this.#alone = true;
          continue;
        }
        const now = store.now();
        // Whose turn it would be has had its share. What comes to be due later is not kept waiting by them.
        this.#left = at !== undefined && at <= now;
        const next = this.#left ? (await store.nextDue(now)).at : at;
        return this.#napFor(Math.min(Math.max((next ?? Infinity) - now, 0), this.#left ? retryMs : this.#longestNap));
      }
    } catch (error) {
      log.error({ error }, "Due turns could not be claimed; trying again.");
      this.#napFor(retryMs);
    }
  }

  #napFor(ms: number): void {
    // The stop may have come while something was awaited.
    if (this.#state === "started") this.#stopNap = this.#options.timers.after(ms, () => this.#claimSoon());
  }

  /** Keeps room for what is being claimed. */
  async #claimed<Claimed>(limit: number, claiming: Promise<Claimed>): Promise<Claimed> {
    this.#reserved += limit;
    try {
      return await claiming;
    } finally {
      this.#reserved -= limit;
    }
  }

  /** Never rejects. */
  async #run(claim: Claim, leaseUntil: number): Promise<void> {
    const { subject } = claim.turn;
    this.#going++;
    this.#count(subject, 1);
    try {
      await this.#start(claim, leaseUntil);
    } catch (error) {
      this.#options.log.error({ error }, "A turn could not be run; it is tried again.");
      await this.#letGoAtLast(claim);
    } finally {
      this.#going--;
      this.#count(subject, -1);
      if (this.#left) this.#claimSoon();
    }
  }

  async #start(claim: Claim, leaseUntil: number): Promise<void> {
    const { log, taskIds } = this.#options;
    const agent = this.#agents.get(claim.turn.agent);
    const { deaths } = claim.turn;
    if (agent === undefined) {
      return this.#hold(claim, "agent.missing", `No agent ${claim.turn.agent} is served here.`);
    }
    if (deaths > suspectDeaths) {
      return this.#hold(
        claim,
        "turn.kills",
        `${deaths} processes died while they ran this turn, the last one running nothing else.`,
      );
    }
    if (this.#state !== "started") return this.#letGo(claim);
    if (deaths === suspectDeaths)
      log.warn({ agent: agent.id, task: taskIds.encode(claim.turn) }, "A turn that processes died with runs alone.");
    const run = new Run({ claim, agent, leaseUntil, ports: this.#options, goesOn: () => !this.#left });
    this.#runs.add(run);
    try {
      if (!claim.first) run.earlier = await loadEarlier(this.#options, claim.turn);
      await this.#over(run, await run.start());
    } finally {
      this.#runs.delete(run);
    }
  }

  async #over(run: Run, end: RunEnd): Promise<void> {
    if (end.kind !== "lost") void this.#tellCaller(run.record);
    if (end.kind === "lost") await this.#options.store.drained(run.record);
    if (end.kind !== "ended" || end.next === undefined) return;
    if (this.#state === "started") void this.#run(end.next, end.leaseUntil);
    else await this.#letGo(end.next);
  }

  async #tellCaller(turn: TurnRecord): Promise<void> {
    try {
      await tellCaller(this.#options, turn);
    } catch (error) {
      this.#options.log.info({ error }, "A turn could not be told of what it has called for; it looks for itself.");
    }
  }

  async #hold(claim: Claim, code: string, message: string): Promise<void> {
    const { log, taskIds } = this.#options;
    const { agent } = claim.turn;
    log.warn({ task: taskIds.encode(claim.turn), agent, code }, `A turn is held: ${message}`);
    await this.#giveBack(claim, ({ view }) => ({
      state: "held",
      view: held(view, { code, message }),
      then: { do: "park", dueAt: undefined },
    }));
  }

  #letGo(claim: Claim): Promise<void> {
    return this.#giveBack(claim, () => ({ then: { do: "park", dueAt: this.#options.store.now() } }));
  }

  /** Nobody else runs what this node has claimed: it is given back as soon as the store takes it. */
  async #letGoAtLast(claim: Claim): Promise<void> {
    const { timers } = this.#options;
    for (let done = false; !done && this.#state === "started";) {
      await pause(timers, retryMs);
      done = await this.#letGo(claim).then(
        () => true,
        () => false,
      );
    }
  }

  /** Whatever is appended in between: a claim that is neither run nor given back is nobody's. */
  async #giveBack(claim: Claim, change: (turn: TurnRecord) => Pick<Commit, "state" | "view" | "then">): Promise<void> {
    const { store } = this.#options;
    let turn: TurnRecord | undefined = claim.turn;
    while (turn !== undefined) {
      const { length } = turn;
      const result: Committed = await store.commit({ key: turn, length, epoch: claim.epoch, ...change(turn) });
      if (result.kind !== "behind") return;
      turn = await store.loadTurn(turn);
    }
  }

  #beat(): void {
    const { timers, limits } = this.#options;
    this.#stopHeartBeat = timers.after(limits.leaseMs / 3, () => {
      this.#beat();
      void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const { store, limits, log, timers } = this.#options;
    // One that is just being parked may be beside the next one of its context, which has the lease now.
    const newest = new Map<number, Run>();
    for (const run of this.#runs) {
      const { context } = run.record;
      if (run.lease.epoch > (newest.get(context)?.lease.epoch ?? 0)) newest.set(context, run);
    }
    const runs = [...newest.values()];
    if (runs.length === 0) return;
    const asked = timers.now();
    try {
      const lost = await store.renew(
        runs.map((run) => ({ context: run.record.context, epoch: run.lease.epoch })),
        limits.leaseMs,
      );
      for (const run of runs) {
        if (lost.includes(run.record.context)) void run.lease.lost();
        else run.lease.until = asked + limits.leaseMs;
      }
    } catch (error) {
      log.warn({ error }, "Leases could not be renewed; trying again.");
    }
  }
}
