/**
 * What must hold after the soak (I1-I8), by what the database holds, the log that the effects keep, what callers were told, and what the
 * webhook heard. None of the Runtime's code is asked.
 */
import { existsSync, readFileSync } from "node:fs";

import type { Deed } from "./agent.ts";
import type { Load } from "./load.ts";

export type Query = (text: string) => Promise<Record<string, unknown>[]>;

/** What the webhook was told, in order. */
export interface Heard {
  readonly id: string;
  readonly task: string;
  readonly state: string;
}

export function readDeeds(log: string): Deed[] {
  if (!existsSync(log)) return [];
  // A process may be killed in the middle of a line.
  return readFileSync(log, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Deed];
      } catch {
        return [];
      }
    });
}

interface TurnRow {
  readonly turn: number;
  readonly context: number;
  readonly context_id: string;
  readonly subject: string;
  readonly message_id: string;
  readonly state: string;
  readonly length: number;
  readonly created_at: number;
}

/** @returns What is wrong; nothing is, when it is empty. */
export async function check(
  query: Query,
  { load, log, heard }: { readonly load: Load; readonly log: string; readonly heard: readonly Heard[] },
): Promise<readonly string[]> {
  const wrongs = [...load.wrongs];
  const expect = (holds: boolean, what: string) => void (holds || wrongs.push(what));
  const none = async (text: string, what: string) => {
    const rows = await query(text);
    expect(rows.length === 0, `${what}: ${rows.length} rows, such as ${JSON.stringify(rows[0])}`);
  };
  const turns = (await query(`
    SELECT t.turn::integer, t.context::integer, c.name AS context_id, u.name AS subject, t.message::json ->> 'messageId' AS message_id,
      t.state, t.length, t.created_at
    FROM turns t JOIN contexts c USING (context) JOIN subjects u ON u.subject = c.subject ORDER BY t.turn`)) as unknown as TurnRow[];
  const byMessage = Map.groupBy(turns, (turn) => turn.message_id);

  for (const { messageId, subject, contextId } of load.told) {
    const ours = byMessage.get(messageId) ?? [];
    expect(ours.length > 0, `I1: the message ${messageId} was answered, and is not stored`);
    expect(ours.length < 2, `I3: the message ${messageId} has ${ours.length} turns`);
    expect(
      ours.every((turn) => turn.subject === subject && turn.context_id === contextId),
      `I7: the message ${messageId} is somebody else's, or elsewhere`,
    );
  }
  for (const [id, ours] of byMessage) expect(ours.length === 1, `I3: the message ${id} has ${ours.length} turns`);
  const told = new Set(load.told.map(({ messageId }) => messageId));
  const strange = turns.filter((turn) => !told.has(turn.message_id)).length;
  expect(
    strange <= load.unanswered,
    `${strange} turns are of messages that nobody was told of, ${load.unanswered} may be`,
  );

  const deeds = readDeeds(log);
  const taskTurns = new Map(
    load.told.flatMap((one) => (byMessage.get(one.messageId) ?? []).map((turn) => [one.taskId, turn] as const)),
  );
  for (const [context, ours] of Map.groupBy(deeds, (deed) => deed.context)) {
    const order = [...new Set(ours.map((deed) => deed.task))].flatMap((task) => taskTurns.get(task)?.turn ?? []);
    expect(
      order.every((turn, n) => n === 0 || turn > order[n - 1]!),
      `I2: the turns of ${context} did not begin in their order`,
    );
    let last = 0;
    for (const { task } of ours.filter(({ what }) => what === "begin")) {
      const turn = taskTurns.get(task)?.turn ?? last;
      expect(turn >= last, `I2: an effect of turn ${turn} of ${context} began after one of turn ${last}`);
      last = Math.max(last, turn);
    }
  }
  await none(
    `SELECT context FROM turns WHERE state IN ('running', 'waiting', 'uncertain', 'held') GROUP BY context HAVING count(*) > 1`,
    "I2: contexts with two active turns",
  );
  for (const [key, ours] of Map.groupBy(deeds, (deed) => deed.key)) {
    const begun = ours.filter(({ what }) => what === "begin").length;
    if (ours[0]!.effect !== "again")
      expect(begun === 1, `I4: ${ours[0]!.effect} of ${ours[0]!.task} (${key}) ran ${begun} times`);
  }
  for (const { task, effect, what } of deeds)
    if (what === "done" && !taskTurns.has(task) && load.unanswered === 0)
      wrongs.push(`I4: ${effect} was done for nobody: ${task}`);
  for (const [task, state] of load.ends) {
    const now = taskTurns.get(task)?.state;
    expect(state === `TASK_STATE_${now?.toUpperCase()}`, `I5: ${task} was seen ${state}, and is ${now}`);
  }
  await none(
    `SELECT context, turn, body::json ->> 'of' AS entry FROM journal WHERE kind = 'end' GROUP BY 1, 2, 3 HAVING count(*) > 1`,
    "I6: waits that ended twice",
  );
  await none(
    `SELECT t.turn, t.length, count(j.seq), max(j.seq) FROM turns t LEFT JOIN journal j ON j.context = t.context AND j.turn = t.turn
     GROUP BY t.turn, t.length HAVING count(j.seq) <> t.length OR coalesce(max(j.seq), -1) <> t.length - 1`,
    "journals with holes",
  );
  await none(
    `SELECT context, turn, body::json ->> 'of' AS entry FROM journal WHERE kind = 'outcome' GROUP BY 1, 2, 3 HAVING count(*) > 1`,
    "E9: effects with two outcomes",
  );

  // I8: whoever was to be told of a turn was told how it ended, after all else that was told of it; or it still stands in the outbox.
  await none("SELECT * FROM outbox", "I8: deliveries that were never made");
  const states = Map.groupBy(heard, ({ task }) => task);
  for (const { taskId, pushed, messageId } of load.told) {
    if (!pushed) continue;
    const ours = (states.get(taskId) ?? []).filter(({ id }, n, all) => all.findIndex((one) => one.id === id) === n);
    const last = ours.findLast(({ state }) => state !== "")?.state;
    const now = byMessage.get(messageId)?.[0]?.state;
    expect(
      last === `TASK_STATE_${now?.toUpperCase()}`,
      `I8: the webhook heard of ${taskId} last that it is ${last}, and it is ${now}`,
    );
  }

  // The sums are what somebody would count.
  await none(
    `SELECT * FROM (
       SELECT status, sum(turns) AS kept FROM (SELECT status, turns FROM tallies WHERE scope = 0 UNION ALL
         SELECT status, turns FROM changes WHERE status IS NOT NULL) every GROUP BY status HAVING sum(turns) <> 0
     ) k FULL JOIN (SELECT status, count(*) AS counted FROM turns GROUP BY status) c USING (status)
     WHERE kept IS DISTINCT FROM counted`,
    "the tallies are wrong",
  );
  await none(
    `SELECT * FROM (
       SELECT subject, sum(queued) AS queued, sum(ready) AS ready, sum(bytes) AS bytes FROM (
         SELECT subject, queued, ready, bytes FROM sums UNION ALL SELECT subject, queued, ready, bytes FROM changes) every GROUP BY subject
     ) k JOIN (
       SELECT c.subject, (SELECT count(*) FROM turns t JOIN contexts x USING (context) WHERE x.subject = c.subject AND t.state = 'queued') AS queued,
         count(*) FILTER (WHERE c.ready_at IS NOT NULL) AS ready,
         (SELECT coalesce(sum(octet_length(t.message) + octet_length(t.view)), 0) FROM turns t JOIN contexts x USING (context) WHERE x.subject = c.subject)
         + (SELECT coalesce(sum(octet_length(j.body)), 0) FROM journal j JOIN contexts x USING (context) WHERE x.subject = c.subject)
         + (SELECT coalesce(sum(octet_length(p.target)), 0) FROM push_configs p WHERE p.subject = c.subject) AS bytes
       FROM contexts c GROUP BY c.subject
     ) a USING (subject) WHERE k.queued <> a.queued OR k.ready <> a.ready OR k.bytes <> a.bytes`,
    "the sums of subjects are wrong",
  );
  await none(
    "SELECT * FROM contexts WHERE active IS NOT NULL OR queued <> 0 OR runner IS NOT NULL OR due_at IS NOT NULL OR ready_at IS NOT NULL",
    "contexts that have not come to rest",
  );
  return wrongs;
}
