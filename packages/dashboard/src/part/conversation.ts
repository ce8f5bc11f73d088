/** What was said in a task: the caller's messages, what the agent said on its way, what it asked. */
import type { Message, Part } from "@nylorun/agents/a2a";
import { html } from "lit";
import type { TemplateResult } from "lit";

import { json, size } from "../model/words.ts";

export function conversation(messages: readonly Message[]): TemplateResult {
  return html`<ol class="conversation">
    ${messages.map(
      ({ role, parts }) =>
        html`<li class="said" data-by=${role === "ROLE_USER" ? "you" : "agent"}>
          <span class="said-by">${role === "ROLE_USER" ? "You" : "Agent"}</span>
          <div class="said-what">${parts.map(said)}</div>
        </li>`,
    )}
  </ol>`;
}

/** A part as text: nothing that it holds is drawn as anything else. */
export function said(part: Part): TemplateResult {
  const { text, raw, url, filename } = part as { text?: string; raw?: string; url?: string; filename?: string };
  if (text !== undefined) return html`<p class="text">${text}</p>`;
  if (raw !== undefined)
    return html`<p class="attached">${filename ?? "A file"}, ${size(Math.floor((raw.length * 3) / 4))}</p>`;
  if (url !== undefined) return html`<p class="attached">${filename ?? "A file"} <code>${url}</code></p>`;
  return html`<pre>${json("data" in part ? part.data : part)}</pre>`;
}

/** What a task came to: text as it is, everything else as JSON. */
export function output(value: unknown): TemplateResult {
  return typeof value === "string" ? html`<p class="text">${value}</p>` : html`<pre>${json(value)}</pre>`;
}
