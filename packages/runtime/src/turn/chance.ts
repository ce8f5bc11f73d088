/** Time and chance that are the same on every replay: they follow from how far the run has come, and a secret seed (E15). */
import { AgentError } from "@nylorun/agents";

import type { Run } from "./run.ts";

export function createChance(run: Run) {
  let step = -1;
  let calls = 0;
  const inStep = (name: string): void => {
    if (run.inStep) return;
    throw new AgentError(
      "turn.unjournaled",
      `turn.${name}() was called after awaiting something that is not turn's: a replay could not tell when. Call it before, or wrap what you awaited in turn.effect.`,
    );
  };
  const draw = (name: string): string => {
    inStep(name);
    if (step !== run.replay.delivered) {
      step = run.replay.delivered;
      calls = 0;
    }
    const { context, turn } = run.record;
    return run.ports.entropy.derive(`chance ${context}.${turn} ${step}.${calls++}`);
  };
  return {
    now() {
      inStep("now");
      return run.now();
    },
    number: () => Number.parseInt(draw("random").slice(0, 13), 16) / 2 ** 52,
    uuid() {
      const hex = draw("uuid");
      const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
    },
  };
}
