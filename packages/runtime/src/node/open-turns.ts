/** The turns of a subject that have not ended. */
import type { TaskState } from "@nylorun/protocol";

import type { Store } from "../store/store.ts";
import type { TurnRecord } from "../turn/record.ts";

export interface OpenTurnsQuery {
  readonly subject: string;
  /** Ids of the agents. */
  readonly agents: readonly string[];
}

/** Turns in one page, and characters of what is stored of them: a page more is in memory for each agent and state. */
const PAGE = 100;
const PAGE_SIZE = 1024 * 1024;

const STATES = [
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_AUTH_REQUIRED",
] as const satisfies readonly TaskState[];

/** Of one agent and in one state, the store has them in their order; those of several are merged. */
interface Lane {
  readonly agent: string;
  readonly status: TaskState;
  turns: TurnRecord[];
  last: TurnRecord | undefined;
  more: boolean;
}

/** Those whose status changed last come first. A page is read when it is come to, and others get their turn before. */
export async function* openTurnsOf(store: Store, { subject, agents }: OpenTurnsQuery): AsyncGenerator<TurnRecord> {
  const lanes: Lane[] = agents.flatMap((agent) =>
    STATES.map((status) => ({ agent, status, turns: [], last: undefined, more: true })),
  );
  for (;;) {
    for (const lane of lanes) if (lane.turns.length === 0 && lane.more) await read(lane);
    const [next] = lanes.filter(({ turns }) => turns.length > 0).toSorted(byStatusAt);
    const turn = next?.turns.shift();
    if (turn === undefined) return;
    yield turn;
  }

  async function read(lane: Lane): Promise<void> {
    const { agent, status, last } = lane;
    if (last !== undefined) await new Promise((resolve) => setImmediate(resolve));
    const after = last && { statusAt: last.statusAt, turn: last.turn };
    const page = await store.listTurns({
      subject,
      agent,
      status,
      limit: PAGE,
      size: PAGE_SIZE,
      ...(after && { after }),
    });
    lane.turns = [...page.turns];
    lane.last = page.turns.at(-1);
    lane.more = page.more;
  }
}

function byStatusAt({ turns: [one] }: Lane, { turns: [other] }: Lane): number {
  return other!.statusAt - one!.statusAt;
}
