/** What needs an operator: effects whose outcome is lost, turns that are held, what waits, deliveries that do not arrive, keys. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";

import { drawOnChange } from "../model/change.ts";
import { clock } from "../model/clock.ts";
import type { Desk } from "../model/desk.ts";
import { operator } from "../model/operator.ts";
import type { Delivery, HeldTurn, Key, LostEffect, Queue } from "../model/operator.ts";
import { saying } from "../model/session.ts";
import { count, plural } from "../model/words.ts";
import { define, LightElement } from "../part/light.ts";
import { queueList } from "../part/queue-list.ts";
import { empty, loading, problem, since } from "../part/said.ts";
import "../part/effect-form.ts";

/** Deliveries that are shown. */
const DELIVERIES = 100;
/** Between two looks, in milliseconds. */
const IDLE = 10_000;

const WHY: Readonly<Record<string, string>> = {
  died: "the process died in the middle of it",
  timeout: "its time was over before it answered",
  aborted: "it was stopped in the middle",
  unknown: "it could not tell itself",
};

export class OperatorPage extends LightElement {
  static override properties = {
    desk: { attribute: false },
    effects: { state: true },
    held: { state: true },
    queues: { state: true },
    deliveries: { state: true },
    keys: { state: true },
    error: { state: true },
    said: { state: true },
    sure: { state: true },
  };
  declare desk: Desk;
  declare effects: readonly LostEffect[] | undefined;
  declare held: readonly HeldTurn[] | undefined;
  declare queues: readonly Queue[] | undefined;
  declare deliveries: readonly Delivery[] | undefined;
  declare keys: readonly Key[] | undefined;
  declare error: string | undefined;
  declare said: string | undefined;
  /** What is asked about once more before it is done. */
  declare sure: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    drawOnChange(this, clock);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#load();
    this.#timer = setInterval(() => {
      if (!document.hidden) void this.#load();
    }, IDLE);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  async #load(): Promise<void> {
    try {
      [this.effects, this.held, this.queues, this.deliveries, this.keys] = await Promise.all([
        operator.effects(),
        operator.held(),
        operator.queues(),
        operator.deliveries(),
        operator.keys(),
      ]);
      this.desk.noteTroubles(this.effects.length + this.held.length);
      this.error = undefined;
    } catch (error) {
      this.error = saying(error);
    }
  }

  readonly #do = async (doing: Promise<unknown>, done: string): Promise<void> => {
    try {
      await doing;
      this.said = done;
      this.error = undefined;
    } catch (error) {
      this.said = undefined;
      this.error = saying(error);
    }
    this.sure = undefined;
    await this.#load();
  };

  /** Asks once more before it is done. The button that was pressed goes; the focus stays where it was. */
  #ask(what: string, { target }: Event): void {
    const place = (target as HTMLElement).closest("td, .buttons");
    this.sure = what;
    void this.updateComplete.then(() => place?.querySelector<HTMLElement>("button.danger")?.focus());
  }

  protected override render(): TemplateResult {
    return html`<header class="view-head">
        <div>
          <h1 tabindex="-1">Operator</h1>
          <p class="view-sub">What the Runtime cannot decide by itself</p>
        </div>
      </header>
      <p class="done-note" role="status">${this.said ?? nothing}</p>
      ${problem(this.error, () => void this.#load())}
      ${this.effects === undefined && this.error === undefined ? loading() : nothing} ${this.#effects()} ${this.#held()}
      ${this.queues === undefined ? nothing : queueList(this.queues)} ${this.#deliveries()} ${this.#keys()}`;
  }

  #effects(): TemplateResult | typeof nothing {
    const { effects } = this;
    if (effects === undefined) return nothing;
    return html`<section class="panel">
      <h2>Lost outcomes <span class="tally">${count(effects.length)}</span></h2>
      <p class="hint">
        These steps were begun, and nobody knows what came of them. Look where they act, then say what happened.
      </p>
      ${
        effects.length === 0
          ? empty("Every outcome is known", "When a process dies in the middle of a step, it appears here.")
          : html`<ul class="cards wide">
              ${effects.map(
                (effect) =>
                  html`<li class="card">
                    <div class="case">
                      <strong>${effect.name}</strong>
                      <span class="muted"
                        >${effect.agent} ${effect.agentVersion} · ${effect.subject} ·
                        ${WHY[effect.why] ?? effect.why}</span
                      >
                      <span class="muted">${since(effect.lostAt)}</span>
                    </div>
                    <effect-form .effect=${effect} .act=${this.#do}></effect-form>
                  </li>`,
              )}
            </ul>`
      }
    </section>`;
  }

  #held(): TemplateResult | typeof nothing {
    const { held } = this;
    if (held === undefined) return nothing;
    return html`<section class="panel">
      <h2>Held turns <span class="tally">${count(held.length)}</span></h2>
      ${
        held.length === 0
          ? html`<p class="hint">
              No turn is held. One is when it does not fit the code it began under, or when processes die with it.
            </p>`
          : html`<ul class="cards wide">
              ${held.map(({ taskId, agent, agentVersion, subject, why, heldAt }) => {
                const fail = `fail ${taskId}`;
                return html`<li class="card">
                  <div class="case">
                    <strong>${why.code}</strong>
                    <span class="muted">${agent} ${agentVersion} · ${subject}</span>
                    <span class="muted">${since(heldAt)}</span>
                  </div>
                  <p class="text">${why.message}</p>
                  <div class="buttons">
                    <button
                      type="button"
                      class="secondary"
                      @click=${() => void this.#do(operator.release(taskId), "It runs again.")}
                    >
                      Let it run again
                    </button>
                    ${
                      this.sure === fail
                        ? html`<button
                              type="button"
                              class="danger"
                              @click=${() => void this.#do(operator.fail(taskId, ""), "It has failed.")}
                            >
                              End it as failed, for good
                            </button>
                            <button type="button" class="quiet" @click=${() => (this.sure = undefined)}>
                              Keep it
                            </button>`
                        : html`<button
                            type="button"
                            class="quiet danger"
                            @click=${(event: Event) => this.#ask(fail, event)}
                          >
                            End it as failed…
                          </button>`
                    }
                  </div>
                </li>`;
              })}
            </ul>`
      }
    </section>`;
  }

  #deliveries(): TemplateResult | typeof nothing {
    const { deliveries } = this;
    if (deliveries === undefined) return nothing;
    return html`<section class="panel">
      <h2>Webhook deliveries <span class="tally">${count(deliveries.length)}</span></h2>
      ${
        deliveries.length === 0
          ? html`<p class="hint">
              Every notification has arrived. One that does not is tried for a day, then given up and kept here.
            </p>`
          : html`<ul class="cards wide">
              ${repeat(
                deliveries.slice(0, DELIVERIES),
                ({ id }) => id,
                (delivery) => this.#delivery(delivery),
              )}
            </ul>`
      }
      ${deliveries.length > DELIVERIES ? html`<p class="hint">These are the first ${DELIVERIES}.</p>` : nothing}
    </section>`;
  }

  #delivery({ id, url, kind, agent, subject, attempts, error, createdAt, givenUpAt }: Delivery): TemplateResult {
    const resend = (): void => void this.#do(operator.resend(id), "It is being sent again.");
    return html`<li class="card delivery">
      <div class="case">
        <strong>${url}</strong>
        ${
          givenUpAt === null
            ? html`<span class="chip" data-tone="wait">Waiting</span>`
            : html`<span class="chip" data-tone="bad">Given up</span>`
        }
        <span class="muted">${since(createdAt)}</span>
      </div>
      <p class="muted">${agent} · ${subject} · ${kind} · ${plural(attempts, "attempt")}</p>
      ${error === null ? nothing : html`<p class="text">${error}</p>`}
      ${
        givenUpAt === null
          ? nothing
          : html`<div class="buttons">
              <button type="button" class="secondary" @click=${resend}>
                Send it again<span class="unseen"> to ${url}</span>
              </button>
            </div>`
      }
    </li>`;
  }

  #keys(): TemplateResult | typeof nothing {
    const { keys } = this;
    if (keys === undefined) return nothing;
    return html`<section class="panel">
      <h2>Keys <span class="tally">${count(keys.filter(({ revokedAt }) => revokedAt === undefined).length)}</span></h2>
      <p class="hint">Only who is on the Runtime’s machine makes keys: <code>nylorun keys add --subject NAME</code></p>
      <div class="scroller" role="region" aria-label="Keys" tabindex="0">
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Whose</th>
              <th scope="col" class="spare">Made</th>
              <th scope="col">State</th>
              <th scope="col"><span class="unseen">Revoke</span></th>
            </tr>
          </thead>
          <tbody>
            ${keys.map(
              ({ id, holder, createdAt, revokedAt }) =>
                html`<tr>
                  <th scope="row">${id}</th>
                  <td>${holder.role === "operator" ? html`<em>an operator</em>` : holder.subject}</td>
                  <td class="spare">${since(createdAt)}</td>
                  <td>
                    ${revokedAt === undefined ? html`<span class="chip" data-tone="good">Valid</span>` : html`<span class="chip" data-tone="over">Revoked</span>`}
                  </td>
                  <td class="number">
                    ${
                      revokedAt !== undefined
                        ? nothing
                        : this.sure === `key ${id}`
                          ? html`<button
                              type="button"
                              class="danger"
                              @click=${() => void this.#do(operator.revoke(id), `Key ${id} is revoked.`)}
                            >
                              Revoke for good
                            </button>`
                          : html`<button
                              type="button"
                              class="quiet"
                              @click=${(event: Event) => this.#ask(`key ${id}`, event)}
                            >
                              Revoke…<span class="unseen"> key ${id}</span>
                            </button>`
                    }
                  </td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }
}

define("operator-page", OperatorPage);
