/** Runs, in a thread of its own, a turn whose code lets an error fall, beside another; tells how both ended. */
import { setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

import type { Turn } from "@nylorun/agents";

import { hearRejections } from "../../src/node/unheard.ts";
import { agent, Stage } from "./stage.ts";

const { what, where } = workerData as { readonly what: string; readonly where: string };

async function fall(): Promise<never> {
  throw new Error("Nobody hears this.");
}

function careless(): void {
  if (what === "at once") void fall();
  else if (what === "later") void setTimeout(5).then(fall);
  else globalThis.setTimeout(() => void fall(), 5);
}

const run = async (turn: Turn) => {
  if (turn.text === "careless") {
    if (where === "an effect") await turn.effect("x", careless);
    else careless();
  }
  await turn.effect("y", () => setTimeout(50));
  return "Done.";
};

using _ = hearRejections();
await using stage = new Stage();
const node = await stage.start(agent(run));
const [one, other] = [await node.send("careless"), await node.send("beside")];
parentPort!.postMessage({ careless: (await node.ended(one)).state, beside: (await node.ended(other)).state });
