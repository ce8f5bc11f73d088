/**
 * An outcome that came after its time was up, or after the turn was taken from the run that waited for it: it resolves the effect,
 * or is evidence (E9, E16). It says nothing of another attempt than its own.
 */
import { standing } from "./journal.ts";
import type { EffectEnded } from "./journal.ts";
import type { EnginePorts } from "./ports.ts";
import type { TurnKey } from "./record.ts";
import { advance, advanceEnded, isEnded, stateOf } from "./view.ts";

export interface Outcome {
  readonly entry: EffectEnded;
  /** Which attempt's it is, from 1. */
  readonly attempt: number;
}

/** Never rejects: what cannot be written is logged. */
export async function recordLate(ports: EnginePorts, key: TurnKey, outcome: Outcome): Promise<void> {
  const { taskIds, log } = ports;
  const problem = "A late outcome could not be recorded.";
  try {
    if (!(await record(ports, key, outcome))) log.warn({ task: taskIds.encode(key) }, problem);
  } catch (error) {
    log.warn({ task: taskIds.encode(key), error }, problem);
  }
}

/** False: others were faster, every time. */
async function record({ store }: EnginePorts, key: TurnKey, { entry, attempt }: Outcome): Promise<boolean> {
  for (let tries = 0; tries < 100; tries++) {
    const turn = await store.loadTurn(key);
    if (turn === undefined) return true;
    const journal = (await store.loadJournal(turn, 0)).slice(0, turn.length);
    const start = journal[entry.of];
    // What the Runtime did is done again by whoever has the turn now, with the same end. Of what has ended, nothing is added to.
    if (start?.kind === "effect" && start.work !== undefined) return true;
    const { stage, attempts } = standing(journal, entry.of);
    if (attempts !== attempt || stage === "done" || stage === "allowed") return true;
    const view = (isEnded(turn) ? advanceEnded : advance)(turn.view, entry, turn.length, journal);
    const state = isEnded(turn) || turn.state === "held" ? turn.state : stateOf(view);
    const result = await store.commit({
      key: turn,
      length: turn.length,
      revision: turn.revision,
      from: [turn.state],
      entries: [entry],
      view,
      state,
      ...(state !== turn.state && { statusChanged: true }),
      ...(!isEnded(turn) && state !== "held" && { then: { do: "wake" } }),
    });
    if (result.kind === "committed") return true;
  }
  return false;
}
