/** Tasks as a table: when, what, how it went, what it took. */
import type { TaskView } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";

import { firstWords } from "../model/desk.ts";
import type { Desk } from "../model/desk.ts";
import { to } from "../model/route.ts";
import { count, money } from "../model/words.ts";
import { chip, since } from "./said.ts";

export interface Listed {
  readonly agent: string;
  readonly task: TaskView;
}

/** @param agents Whether there are several, and each row says whose it is. */
export function taskTable(desk: Desk, tasks: readonly Listed[], agents = true): TemplateResult {
  return html`<div class="scroller" role="region" aria-label="Tasks" tabindex="0">
    <table class="tasks">
      <thead>
        <tr>
          <th scope="col">Task</th>
          ${agents ? html`<th scope="col" class="spare">Agent</th>` : nothing}
          <th scope="col">State</th>
          <th scope="col" class="number">Cost</th>
          <th scope="col" class="number spare">Tokens</th>
          <th scope="col" class="number">Changed</th>
        </tr>
      </thead>
      <tbody>
        ${repeat(
          tasks,
          ({ task }) => task.id,
          ({ agent, task }) =>
            html`<tr>
              <th scope="row">
                <a href=${to.task(agent, task.id ?? "")}>${firstWords(task.task?.history) ?? task.id}</a>
              </th>
              ${agents ? html`<td class="spare">${desk.nameOf(agent)}</td>` : nothing}
              <td>${chip(task)}</td>
              <td class="number">${task.totals?.costUsd === undefined ? "–" : money(task.totals.costUsd)}</td>
              <td class="number spare">${task.totals?.tokens === undefined ? "–" : count(task.totals.tokens)}</td>
              <td class="number muted">${since(Date.parse(task.since ?? ""))}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
