/**
 * What takes rows out again: retention, a little at a time; and the erasure of a task, a context or a subject, on request, some turns in
 * each transaction.
 */
import type { Signal } from "../signal.ts";
import { dayMs } from "../store.ts";
import type { Erase, Erased, Forget, Forgotten } from "../store.ts";
import type { Connections } from "./connections.ts";
import type { Keys } from "./keys.ts";
import type { Tallies } from "./tallies.ts";
import type { Writer } from "./writer.ts";

export interface EraserParts {
  readonly writer: Writer;
  readonly connections: Connections;
  readonly tallies: Tallies;
  readonly keys: Keys;
  readonly signal: Signal;
}

/** Turns that are erased in one go. */
const erasedAtOnce = 100;

export class Eraser {
  readonly #parts: EraserParts;

  constructor(parts: EraserParts) {
    this.#parts = parts;
  }

  async forget({ what, before, after = 0, limit }: Forget): Promise<Forgotten> {
    const { writer, tallies } = this.#parts;
    if (what === "messages") {
      const rows = await writer.ask(
        `DELETE FROM messages WHERE digest IN
           (SELECT digest FROM messages WHERE forget_at <= $1 ORDER BY forget_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING turn`,
        [before, limit],
      );
      return { count: rows.length, next: rows.length < limit ? undefined : 0 };
    }
    if (what === "usage") {
      await tallies.foldAll();
      const rows = await writer.ask(
        `DELETE FROM usage WHERE (subject, day, agent) IN
           (SELECT subject, day, agent FROM usage WHERE day < $1 ORDER BY day LIMIT $2 FOR UPDATE)
         RETURNING day`,
        [Math.floor(before / dayMs), limit],
      );
      return { count: rows.length, next: rows.length < limit ? undefined : 0 };
    }
    if (what === "giveUps") {
      const [row] = await writer.ask("SELECT forget_give_ups($1, $2) AS count", [before, limit]);
      const count = row!["count"] as number;
      return { count, next: count < limit ? undefined : 0 };
    }
    const [row] = await writer.ask("SELECT * FROM forget_turns($1, $2, $3, $4)", [
      what === "journals",
      before,
      after,
      limit,
    ]);
    return { count: row!["forgotten"] as number, next: (row!["next"] as number | null) ?? undefined };
  }

  async erase(what: Erase): Promise<Erased> {
    const { connections } = this.#parts;
    switch (what.what) {
      case "turn":
        return this.#eraseTurns(what.key.context, what.key.turn);
      case "context": {
        const [row] = await connections.read(
          `SELECT n.context FROM names n JOIN scopes s ON s.scope = n.scope JOIN subjects u ON u.subject = s.subject
           WHERE u.name = $1 AND s.agent = $2 AND n.name = $3`,
          [what.subject, what.agent, what.contextId],
        );
        return row === undefined ? { kind: "unknown" } : this.#eraseTurns(row["context"] as number, null);
      }
      case "subject":
        return this.#eraseSubject(what.subject);
    }
  }

  async #eraseSubject(name: string): Promise<Erased> {
    const { writer, connections, keys } = this.#parts;
    const [found] = await connections.read(
      `SELECT u.subject, EXISTS (
         SELECT 1 FROM scopes s JOIN turns t ON t.scope = s.scope AND t.status = 2 JOIN contexts c ON c.context = t.context
         WHERE s.subject = u.subject AND (t.state = 'running' OR (c.active = t.turn AND c.runner IS NOT NULL))
       ) AS runs FROM subjects u WHERE u.name = $1`,
      [name],
    );
    if (found?.["runs"] === true) return { kind: "running", turns: 0 };
    const revoked = await writer.ask("DELETE FROM api_keys WHERE subject = $1 RETURNING key", [name]);
    keys.forget();
    if (found === undefined) return revoked.length === 0 ? { kind: "unknown" } : { kind: "erased", turns: 0 };
    const subject = found["subject"] as number;
    for (let turns = 0; ;) {
      const [next] = await connections.read(
        "SELECT n.context FROM names n JOIN scopes s ON s.scope = n.scope WHERE s.subject = $1 LIMIT 1",
        [subject],
      );
      if (next === undefined) {
        const [row] = await writer.ask("SELECT erase_subject($1) AS done", [subject]);
        if (row!["done"] === true) return { kind: "erased", turns };
        continue;
      }
      const erased = await this.#eraseTurns(next["context"] as number, null);
      if (erased.kind === "erased") turns += erased.turns;
      if (erased.kind === "running") return { kind: "running", turns: turns + erased.turns };
    }
  }

  /** @param turn Null: all of the context. */
  async #eraseTurns(context: number, turn: number | null): Promise<Erased> {
    const { writer, signal } = this.#parts;
    for (let turns = 0; ;) {
      const [row] = await writer.ask("SELECT f.*, announced() AS announced FROM erase_turns($1, $2, $3, $4) f", [
        context,
        turn,
        erasedAtOnce,
        writer.given,
      ]);
      const step = row as unknown as { kind: Erased["kind"]; turns: number; more: boolean };
      turns += step.turns;
      if (row!["announced"] === true) signal.announced();
      if (step.kind === "running") return { kind: "running", turns };
      if (step.kind === "unknown" && turns === 0) return { kind: "unknown" };
      if (step.kind === "unknown" || !step.more) return { kind: "erased", turns };
    }
  }
}
