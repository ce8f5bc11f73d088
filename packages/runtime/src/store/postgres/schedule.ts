/** What is due when, and which contexts this node runs: see migrations/002-turns.sql. The leases go by the database's clock (E18). */
import { randomUUID } from "node:crypto";

import type { Claim, TurnKey } from "../../turn/record.ts";
import type { Signal } from "../signal.ts";
import type { Share, Store } from "../store.ts";
import type { ClaimRow, Reader } from "./reader.ts";
import type { Write, Writer } from "./writer.ts";

export interface ScheduleParts {
  readonly writer: Writer;
  readonly reader: Reader;
  readonly signal: Signal;
  readonly node: string;
}

const noLimit = Number.MAX_SAFE_INTEGER;
const all: Share = { room: noLimit, most: noLimit, running: new Map() };
/** Contexts that are claimed in one go. */
const claimedAtOnce = 10_000;

export class Schedule {
  readonly #parts: ScheduleParts;

  constructor(parts: ScheduleParts) {
    this.#parts = parts;
  }

  async claimDue({ limit, leaseMs, share = all }: Parameters<Store["claimDue"]>[0]): Promise<readonly Claim[]> {
    const running = JSON.stringify(Object.fromEntries(share.running));
    return this.#claim("claim_due", [Math.min(limit, claimedAtOnce), share.room, share.most, running], leaseMs);
  }

  async claimSuspect(leaseMs: number): Promise<Claim | undefined> {
    return (await this.#claim("claim_suspect", [], leaseMs))[0];
  }

  /** @returns Those that are lost. */
  async renew(leases: readonly { readonly context: number; readonly epoch: number }[], leaseMs: number) {
    const { writer, node } = this.#parts;
    const contexts = leases.map(({ context }) => context);
    const epochs = leases.map(({ epoch }) => epoch);
    const values = [contexts, epochs, node, leaseMs, writer.given];
    const [row] = await writer.ask("SELECT renew($1::bigint[], $2::bigint[], $3, $4, $5) AS lost", values);
    return (row!["lost"] as string[]).map(Number);
  }

  async drained({ context, turn }: TurnKey): Promise<void> {
    const { writer, signal } = this.#parts;
    const text = "SELECT due, announced() AS announced FROM drained($1, $2, $3) AS due";
    const [row] = await writer.ask(text, [context, turn, writer.given]);
    if (row!["due"] === true) signal.due();
    if (row!["announced"] === true) signal.announced();
  }

  /** @param after Leaves out what has been due at this moment. */
  nextDue(after: number | undefined) {
    const { writer, reader, node } = this.#parts;
    return reader.nextDue(node, after, writer.given);
  }

  #claim(name: Write["name"], given: readonly unknown[], leaseMs: number): Promise<readonly Claim[]> {
    const { writer, reader, signal, node } = this.#parts;
    const write = { name, values: [...given, node, leaseMs], token: randomUUID(), claims: true };
    return writer.once(write, async (rows) => {
      const claimed = rows.filter((row) => row["at_context"] !== 0);
      // A row of no context: there is more that others may claim.
      if (claimed.length < rows.length) signal.due();
      return reader.claims(
        claimed.map((row): ClaimRow => ({
          context: row["at_context"] as number,
          turn: row["at_turn"] as number,
          epoch: row["at_epoch"] as number,
        })),
      );
    });
  }
}
