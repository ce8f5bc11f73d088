import type { Readable } from "node:stream";
/**
 * One event of Claude Code, reported. Whatever goes wrong goes wrong quietly: what a hook prints, or an exit code, would reach
 * the agent.
 */
import { json } from "node:stream/consumers";

import { reportOnce } from "../reports/reporter.ts";
import { AGENT, listChange, progressOf, taskOf } from "./claude-code.ts";
import type { HookInput } from "./claude-code.ts";
import { HookSession } from "./hook-session.ts";

export async function reportHook(stdin: Readable): Promise<void> {
  try {
    const input = (await json(stdin)) as HookInput;
    const task = taskOf(input);
    if (task === undefined) return;
    const id = input.session_id as string;
    const session = new HookSession(id);
    const change = listChange(input);
    if (change !== undefined) session.append(change);
    const progress = progressOf(input, session.read());
    if (progress === undefined) return;
    session.append({ status: progress.status, percent: progress.percent });
    await reportOnce({ ...progress, task_id: task, session_id: id }, AGENT);
    if (progress.status === "started") session.forgetOld();
  } catch (error) {
    // Claude Code shows it to who asks for it (--debug), and goes on.
    process.stderr.write(`nylorun hook: ${(error as Error).message}\n`);
  }
}
