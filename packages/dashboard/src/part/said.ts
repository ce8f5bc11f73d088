/** Short things that many views say: how a state is called, what cannot be shown, that there is nothing. */
import type { TaskView } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import { clock } from "../model/clock.ts";
import { ago, moment, STATES } from "../model/words.ts";

/** How a task is. What is lost or asked says more than its state. */
export function chip({ state, uncertain, interaction }: Shown): TemplateResult {
  if (uncertain !== undefined) return html`<span class="chip" data-tone="wait">Outcome lost</span>`;
  const { tone, words } = STATES[state];
  return html`<span class="chip" data-tone=${tone}
    >${interaction === undefined ? words : ASKS[interaction.kind]}</span
  >`;
}

type Shown = Pick<TaskView, "state" | "uncertain" | "interaction">;

export const ASKS = { approval: "Approval", question: "Question", connection: "Connection" } as const;

/** How long ago, and when exactly for who points at it. */
export function since(at: number): TemplateResult | typeof nothing {
  if (!Number.isFinite(at)) return nothing;
  return html`<time datetime=${new Date(at).toISOString()} title=${moment(at)}>${ago(at, clock.now)}</time>`;
}

/** What went wrong. @param again What the person can do about it. */
export function problem(words: string | undefined, again?: () => void): TemplateResult | typeof nothing {
  if (words === undefined) return nothing;
  return html`<div class="notice" data-tone="bad" role="alert">
    <p>${words}</p>
    ${again === undefined ? nothing : html`<button type="button" class="quiet" @click=${again}>Try again</button>`}
  </div>`;
}

/** That there is nothing to see, and what would change that. */
export function empty(title: string, hint: unknown): TemplateResult {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    <div class="empty-hint">${hint}</div>
  </div>`;
}

export function loading(words = "Loading…"): TemplateResult {
  return html`<p class="loading" role="status">${words}</p>`;
}
