/**
 * How a turn begins, and the one way to change it: a call of the database each, made of what is asked for, and what its answer means.
 *
 * What a turn was before a change is known to the database alone. So a change of a turn that webhooks listen to takes two calls: the
 * first says what it was, and the second brings what they are to be told.
 */
import { randomUUID } from "node:crypto";

import type { Change, TurnKey, TurnRecord, TurnView } from "../../turn/record.ts";
import { changesOf } from "../changes.ts";
import { messageDigest, newContextName } from "../naming.ts";
import type { Signal } from "../signal.ts";
import type { Accept, Accepted, Commit, Committed } from "../store.ts";
import type { Row } from "./connections.ts";
import { changeValues, targetValues } from "./deliveries.ts";
import { Lanes } from "./lanes.ts";
import type { ClaimRow, Reader } from "./reader.ts";
import type { Write, Writer } from "./writer.ts";

export interface TurnsParts {
  readonly writer: Writer;
  readonly reader: Reader;
  readonly signal: Signal;
  readonly node: string;
  readonly now: () => number;
}

const noLimit = Number.MAX_SAFE_INTEGER;

export class Turns {
  readonly #parts: TurnsParts;
  readonly #lanes = new Lanes();

  constructor(parts: TurnsParts) {
    this.#parts = parts;
  }

  async accept(accept: Accept): Promise<Accepted> {
    const { writer, signal, node, now } = this.#parts;
    const { key, message } = accept;
    const newName = newContextName(now());
    const token = randomUUID();
    const values = [...acceptValues(accept, newName), node, accept.claim?.leaseMs ?? 0];
    const lane = `${key.subject} ${key.agent} ${key.contextId ?? newName}`;
    const write: Write = { name: "accept", values, token, claims: accept.claim !== undefined };
    const { row, again } = await this.#lanes.run(lane, () =>
      writer.once(write, async ([first], wasAsked) => ({ row: first!, again: wasAsked })),
    );
    const place = { context: row["at_context"] as number, turn: row["at_turn"] as number };
    const kind = row["kind"] as Accepted["kind"];
    if (kind !== "accepted") {
      // It may be this very message that came before, and was claimed, and has changed since.
      if (again && accept.claim !== undefined) void writer.disown(token);
      return kind === "duplicate" ? { kind, key: place } : { kind };
    }
    const at = row["at"] as number;
    const epoch = row["claimed"] as number | null;
    const state = row["is_queued"] === true ? "queued" : "running";
    const turn: TurnRecord = {
      ...place,
      subject: key.subject,
      agent: key.agent,
      contextId: key.contextId ?? newName,
      state,
      statusAt: at,
      createdAt: at,
      length: 0,
      revision: 0,
      deaths: 0,
      agentVersion: accept.agentVersion,
      traceparent: accept.traceparent,
      message: JSON.parse(JSON.stringify(message)) as TurnRecord["message"],
      view: {},
    };
    signal.turnChanged(turn);
    if (state === "running" && epoch === null) signal.due();
    const claim = epoch === null ? undefined : { epoch, turn, journal: [], first: row["is_first"] as boolean };
    return { kind, turn, claim };
  }

  async commit(change: Commit): Promise<Committed> {
    const { writer, reader, signal, node } = this.#parts;
    const { key, then } = change;
    const leaseMs = then?.do === "end" ? (then.claim?.leaseMs ?? 0) : 0;
    const token = randomUUID();
    const values = commitValues(change);
    const runner = [node, leaseMs];
    // What runs waits for the database: its turn is as it was, until it is known what came of this.
    const patient = change.epoch !== undefined;
    const { row, next } = await this.#lanes.run(`${key.context} ${patient}`, async () => {
      let seen: Seen = { revision: null, changes: [] };
      for (;;) {
        const given = [...values, seen.revision, ...changeValues(seen.changes), ...runner];
        const write: Write = { name: "commit_turn", values: given, token, claims: leaseMs > 0, patient };
        const written = await writer.once(write, async ([first]) => ({
          row: first!,
          next: (await reader.claims(nextOf(key, first!)))[0],
        }));
        if (written.row["kind"] !== "look") return written;
        // Others listen to this turn: what they are told follows from what it is, and that may be another by the time it is written.
        seen = seenBy(change, written.row);
      }
    });
    const kind = row["kind"] as Committed["kind"];
    switch (kind) {
      case "fenced":
        return { kind, state: row["at_state"] as TurnRecord["state"] };
      case "behind":
        return { kind, length: row["at_length"] as number };
      case "duplicate":
      case "reused":
      case "pushFull":
        return { kind };
      case "committed": {
        signal.turnChanged(key);
        if (row["due"] === true) signal.due();
        if (next !== undefined) signal.turnChanged(next.turn);
        return { kind, length: row["at_length"] as number, next };
      }
    }
  }

  /** Takes nothing more, and resolves when what was asked for is done. */
  close(): Promise<void> {
    return this.#lanes.close();
  }
}

function acceptValues(accept: Accept, newName: string): readonly unknown[] {
  const { key } = accept;
  const { extensionData, ...message } = accept.message;
  return [
    key.subject,
    key.agent,
    key.contextId ?? null,
    newName,
    accept.dedupeMs > 0 ? messageDigest(key) : null,
    accept.contentHash,
    accept.dedupeMs,
    JSON.stringify(message),
    extensionData === undefined ? null : JSON.stringify(extensionData),
    accept.agentVersion,
    accept.traceparent,
    accept.whenBusy === "reject",
    accept.queueDepth,
    accept.limits?.queued ?? noLimit,
    accept.limits?.bytes ?? noLimit,
    ...targetValues(accept.push),
  ];
}

function commitValues(change: Commit): readonly unknown[] {
  const { key, view, message, then } = change;
  const { entries = [], outputs = [] } = change;
  return [
    key.context,
    key.turn,
    change.length,
    change.revision ?? null,
    change.epoch ?? null,
    change.from ?? null,
    entries.map(({ kind }) => kind),
    entries.map((entry) => JSON.stringify(entry)),
    view === undefined ? null : JSON.stringify(view),
    view?.waitsFor ?? null,
    view?.totals?.tokens ?? null,
    view?.totals?.costUsd ?? null,
    view === undefined ? null : view.held !== undefined || view.lost !== undefined,
    change.state ?? null,
    change.statusChanged ?? false,
    change.forgive ?? false,
    message !== undefined && message.dedupeMs > 0 ? messageDigest(message.key) : null,
    message?.contentHash ?? null,
    message?.dedupeMs ?? 0,
    outputs.map(({ path }) => path),
    outputs.map(({ version }) => version),
    outputs.flatMap(({ of }) => (of === undefined ? [] : [of])),
    ...targetValues(change.push),
    then?.do ?? "go on",
    then?.do === "park" && then.dueAt !== undefined ? Math.ceil(then.dueAt) : null,
    then?.do === "end" ? (then.graceMs ?? 0) : 0,
  ];
}

/** What is told of a change to those who listen, and of which revision of the turn that was made. */
interface Seen {
  readonly revision: number | null;
  readonly changes: readonly Change[];
}

function seenBy({ state, view }: Commit, row: Row): Seen {
  const before = {
    state: row["at_state"] as TurnRecord["state"],
    statusAt: 0,
    view: JSON.parse(row["at_view"] as string) as TurnView,
  };
  const after = { state: state ?? before.state, statusAt: 0, view: view ?? before.view };
  return { revision: row["at_revision"] as number, changes: changesOf(before, after) };
}

/** The next turn of the context, when the commit has claimed it. */
function nextOf({ context }: TurnKey, row: Row): readonly ClaimRow[] {
  const turn = row["next_turn"] as number | null;
  return turn === null ? [] : [{ context, turn, epoch: row["next_epoch"] as number }];
}
