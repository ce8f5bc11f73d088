/** What the agent plans to do, and how far it is. */
import type { PlanStep, PlanStepState } from "@nylorun/agents/a2a";
import { html, nothing, svg } from "lit";
import type { TemplateResult } from "lit";

import { straight } from "../model/words.ts";

const SAID: Readonly<Record<PlanStepState, string>> = {
  pending: "to do",
  active: "in progress",
  done: "done",
  failed: "failed",
  skipped: "skipped",
};

const MARKS: Readonly<Record<PlanStepState, TemplateResult<2>>> = {
  pending: svg`<circle cx="8" cy="8" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
  active: svg`<circle cx="8" cy="8" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5"/><circle cx="8" cy="8" r="2.5"/>`,
  done: svg`<path d="M3.5 8.5l3 3 6-7" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/>`,
  failed: svg`<path d="M4.5 4.5l7 7m0-7l-7 7" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>`,
  skipped: svg`<path d="M4 8h8" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>`,
};

export function plan(steps: readonly PlanStep[]): TemplateResult {
  return html`<ol class="plan">
    ${steps.map(
      ({ label, state, note }) =>
        html`<li data-state=${state} aria-current=${state === "active" ? "step" : nothing}>
          <svg viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">${MARKS[state]}</svg>
          <span class="plan-label">${straight(label)}<span class="unseen">, ${SAID[state]}</span></span>
          ${note === undefined ? nothing : html`<span class="plan-note">${straight(note)}</span>`}
        </li>`,
    )}
  </ol>`;
}
