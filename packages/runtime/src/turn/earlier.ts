import type { EarlierTurn } from "@nylorun/agents";
import { taskStateOf } from "@nylorun/protocol";

import type { Store } from "../store/store.ts";
import { outputId } from "./outputs.ts";
import type { TurnKey, TurnRecord } from "./record.ts";
import type { TaskIds } from "./task-id.ts";

/** Earlier turns that an author is given. */
const earlierLimit = 100;

/** The ended turns of a context before this one, as an author is given them. */
export async function loadEarlier(
  { store, taskIds }: { readonly store: Pick<Store, "loadEarlier">; readonly taskIds: TaskIds },
  key: TurnKey,
): Promise<readonly EarlierTurn[]> {
  const turns = await store.loadEarlier(key, earlierLimit);
  return turns.map((turn) => earlierTurn(turn, taskIds));
}

function earlierTurn(turn: TurnRecord, taskIds: TaskIds): EarlierTurn {
  const { parts } = turn.message;
  return {
    taskId: taskIds.encode(turn),
    state: taskStateOf(turn.state, turn.view.waitsFor),
    text: parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n"),
    parts,
    answer: turn.view.reply ?? turn.view.artifacts?.find(({ artifactId }) => artifactId === outputId)?.parts ?? [],
  };
}
