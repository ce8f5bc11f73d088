/** What the end of an agent's function makes of its turn. */
import { isRefusal, isReply } from "@nylorun/agents";
import type { Artifact } from "@nylorun/protocol";

import { resultOf } from "./json.ts";
import type { Run } from "./run.ts";
import type { Ending } from "./view.ts";

/** How the function ended. */
export type Result = { readonly returned: unknown } | { readonly threw: unknown };

/** The turn has run for as long as it may (E17). Its message is for the caller. */
export class OutOfTime extends Error {}

/** What a thrown error says stays in the log: a caller is told no more than that (I10). */
export function endingOf(result: Result, run: Run): Ending {
  if ("threw" in result) return failed(result.threw, run);
  const { returned } = result;
  if (returned === undefined) return { state: "completed" };
  if (isReply(returned)) return { state: "completed", reply: returned.parts };
  if (typeof returned === "string") return { state: "completed", artifacts: [output({ text: returned })] };
  const json = resultOf(returned);
  if ("error" in json)
    return failed(new TypeError(`run returned what cannot be an output. ${json.error.message}`), run);
  return { state: "completed", artifacts: [output({ data: json.value, mediaType: "application/json" })] };
}

function failed(threw: unknown, { ports, agent, record }: Run): Ending {
  const why = (text: string) => ({ by: "agent" as const, id: ports.entropy.id(), parts: [{ text }] });
  if (isRefusal(threw)) return { state: "rejected", why: why(threw.message) };
  ports.log.error({ error: threw, agent: agent.id, task: ports.taskIds.encode(record) }, "The agent threw.");
  return { state: "failed", why: why(threw instanceof OutOfTime ? threw.message : "The agent could not finish this.") };
}

function output(part: Artifact["parts"][number]): Artifact {
  return { artifactId: "output", name: "output", parts: [part] };
}
