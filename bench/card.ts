/** From the start of a process to its agent card. */
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";

import { stop } from "./server.ts";

/**
 * Milliseconds from the spawn to the first card, which must be that of the agent with this name.
 *
 * @throws When there is none after 15 s; what the process said is in the message.
 */
export async function timeToCard(name: string, spawnAt: (port: number) => ChildProcess): Promise<number> {
  const port = await freePort();
  const start = performance.now();
  const child = spawnAt(port);
  const said: string[] = [];
  child.stdout?.on("data", (data: Buffer) => said.push(data.toString()));
  child.stderr?.on("data", (data: Buffer) => said.push(data.toString()));
  try {
    while (performance.now() - start < 15_000 && child.exitCode === null) {
      if (await serves(name, port)) return performance.now() - start;
      await setTimeout(2);
    }
    throw new Error(`No card was served:\n${said.join("")}`);
  } finally {
    await stop(child);
  }
}

async function serves(name: string, port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/.well-known/agent-card.json`);
    const card = (await response.json()) as { readonly name?: unknown };
    return response.ok && card.name === name;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
