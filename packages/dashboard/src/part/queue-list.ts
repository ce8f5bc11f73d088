/** The conversations in which messages wait, for operators: whose, how long, and what for. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";

import { QUEUES } from "../model/operator.ts";
import type { Queue } from "../model/operator.ts";
import { count, plural, STATES } from "../model/words.ts";
import type { Tone } from "../model/words.ts";
import { since } from "./said.ts";

export function queueList(queues: readonly Queue[]): TemplateResult {
  return html`<section class="panel">
    <h2>Queues <span class="tally">${count(queues.length)}</span></h2>
    ${
      queues.length === 0
        ? html`<p class="hint">
            No message waits. A conversation does one thing at a time; what is sent meanwhile stands in line here.
          </p>`
        : html`<ul class="cards wide">
            ${repeat(queues, ({ agent, subject, contextId }) => `${agent} ${subject} ${contextId}`, queueCard)}
          </ul>`
    }
    ${queues.length === QUEUES ? html`<p class="hint">These are the ${QUEUES} that have waited longest.</p>` : nothing}
  </section>`;
}

function queueCard({ agent, subject, contextId, waiting, since: at, active }: Queue): TemplateResult {
  const { words, tone } = sayingOf(active);
  return html`<li class="card delivery">
    <div class="case">
      <strong>${contextId}</strong>
      <span class="chip" data-tone=${tone}>${words}</span>
      <span class="muted">${since(at)}</span>
    </div>
    <p class="muted">
      ${agent} · ${subject} · ${plural(waiting, "message waits", "messages wait")} for task ${active.taskId}
    </p>
  </li>`;
}

interface Saying {
  readonly words: string;
  readonly tone: Tone;
}

/** What the turn does that the others wait for. Its own state says more to an operator than what its caller is shown. */
function sayingOf({ state, taskState }: Queue["active"]): Saying {
  if (state === "waiting") return WAITS[taskState] ?? { words: "Waits", tone: "live" };
  return TROUBLES[state] ?? STATES[taskState];
}

const TROUBLES: Readonly<Partial<Record<string, Saying>>> = {
  uncertain: { words: "Outcome lost", tone: "wait" },
  held: { words: "Held", tone: "bad" },
};

const WAITS: Readonly<Partial<Record<Queue["active"]["taskState"], Saying>>> = {
  TASK_STATE_INPUT_REQUIRED: { words: "Asks its caller", tone: "wait" },
  TASK_STATE_AUTH_REQUIRED: { words: "Needs its caller", tone: "wait" },
};
