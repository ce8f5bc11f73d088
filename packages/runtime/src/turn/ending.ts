/** What the end of an agent's function makes of its turn. */
import { isRefusal, isReply } from "@nylorun/agents";
import type { Artifact } from "@nylorun/protocol";

import type { Output } from "../store/files.ts";
import { Unfetched } from "./inputs.ts";
import { resultOf } from "./json.ts";
import type { Run } from "./run.ts";
import type { Ending } from "./view.ts";

/** How the function ended. */
export type Result = { readonly returned: unknown } | { readonly threw: unknown };

/** The turn has run for as long as it may (E17). Its message is for the caller. */
export class OutOfTime extends Error {}

/** How a turn ends, and which versions of outputs that brings. */
export type EndingWithOutputs = Ending & { readonly outputs?: readonly Output[] };

/** What a thrown error says stays in the log: a caller is told no more than that (I10). */
export async function endingOf(result: Result, run: Run): Promise<EndingWithOutputs> {
  if ("threw" in result) return failed(result.threw, run);
  const { returned } = result;
  if (returned === undefined) return { state: "completed" };
  if (typeof returned === "string") return completed({ text: returned }, run);
  // A reply may be as long as a text.
  const json = isReply(returned) ? resultOf(returned.parts, Infinity) : resultOf(returned);
  if ("error" in json)
    return failed(new TypeError(`run returned what cannot be an output. ${json.error.message}`), run);
  if (isReply(returned)) return { state: "completed", reply: json.value as typeof returned.parts };
  return completed({ data: json.value, mediaType: "application/json" }, run);
}

async function completed(part: Artifact["parts"][number], run: Run): Promise<EndingWithOutputs> {
  const { artifact, output } = await run.outputs.returned(part);
  return { state: "completed", artifacts: [artifact], outputs: [output] };
}

function failed(threw: unknown, { ports, agent, record }: Run): Ending {
  const why = (text: string) => ({ by: "agent" as const, id: ports.entropy.id(), parts: [{ text }] });
  if (isRefusal(threw)) return { state: "rejected", why: why(threw.message) };
  if (threw instanceof Unfetched) return { state: "failed", why: why(threw.message) };
  ports.log.error({ error: threw, agent: agent.id, task: ports.taskIds.encode(record) }, "The agent threw.");
  return { state: "failed", why: why(threw instanceof OutOfTime ? threw.message : "The agent could not finish this.") };
}
