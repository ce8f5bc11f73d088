/** What an agent shows with a question: JSON of its own, in full, as a table where it can be one. */
import { html } from "lit";
import type { TemplateResult } from "lit";

import { json, straight } from "../model/words.ts";

/** Levels that are drawn as tables; what is deeper is shown as JSON. */
const DEEPEST = 3;

export function detailTable(detail: Readonly<Record<string, unknown>>, level = 0): TemplateResult {
  return html`<dl class="detail">
    ${Object.entries(detail).map(
      ([name, value]) =>
        html`<div>
          <dt>${straight(name)}</dt>
          <dd>${shown(value, level)}</dd>
        </div>`,
    )}
  </dl>`;
}

function shown(value: unknown, level: number): unknown {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null)) {
    return html`<ul class="plain">
      ${value.map((one) => html`<li>${straight(String(one))}</li>`)}
    </ul>`;
  }
  if (typeof value !== "object" || value === null) return straight(String(value));
  if (level < DEEPEST && !Array.isArray(value))
    return detailTable(value as Readonly<Record<string, unknown>>, level + 1);
  return html`<pre>${straight(json(value))}</pre>`;
}
