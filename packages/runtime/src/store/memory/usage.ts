/** What turns that ended used, added up. */
import type { TurnRecord } from "../../turn/record.ts";
import { dayMs } from "../store.ts";
import type { Usage, UsageQuery } from "../store.ts";

interface Row extends Usage {
  /** Undefined: all together. */
  readonly subject: string | undefined;
}

export class UsageLedger {
  #rows: Row[] = [];

  ended({ subject, agent, view: { totals } }: TurnRecord, now: number): void {
    const day = Math.floor(now / dayMs) * dayMs;
    for (const owner of [subject, undefined]) {
      const isRow = (row: Row) => row.subject === owner && row.agent === agent && row.day === day;
      const before = this.#rows.find(isRow);
      const row: Row = {
        subject: owner,
        agent,
        day,
        turns: (before?.turns ?? 0) + 1,
        tokens: sum(before?.tokens, totals?.tokens),
        costUsd: sum(before?.costUsd, totals?.costUsd),
      };
      this.#rows = [...this.#rows.filter((other) => !isRow(other)), row];
    }
  }

  of({ subjects, from }: UsageQuery): readonly Usage[] {
    const first = Math.floor(from / dayMs) * dayMs;
    const isMeant = ({ subject }: Row) =>
      subjects === undefined ? subject === undefined : subject !== undefined && subjects.includes(subject);
    const found = this.#rows.filter((row) => row.day >= first && isMeant(row));
    return [...Map.groupBy(found, ({ day, agent }) => `${day} ${agent}`).values()]
      .map((rows) => rows.map(plain).reduce(together))
      .toSorted((one, other) => one.day - other.day || (one.agent < other.agent ? -1 : 1));
  }

  drop(subject: string): void {
    this.#rows = this.#rows.filter((row) => row.subject !== subject);
  }

  forget(before: number, limit: number): number {
    const first = Math.floor(before / dayMs) * dayMs;
    const past = new Set(this.#rows.filter(({ day }) => day < first).slice(0, limit));
    this.#rows = this.#rows.filter((row) => !past.has(row));
    return past.size;
  }
}

function plain({ agent, day, turns, tokens, costUsd }: Usage): Usage {
  return { agent, day, turns, tokens, costUsd };
}

/** Of one agent and day. */
function together(one: Usage, { turns, tokens, costUsd }: Usage): Usage {
  const { agent, day } = one;
  return {
    agent,
    day,
    turns: one.turns + turns,
    tokens: sum(one.tokens, tokens),
    costUsd: sum(one.costUsd, costUsd),
  };
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return other === undefined ? one : (one ?? 0) + other;
}
