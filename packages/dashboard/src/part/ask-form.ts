/**
 * What a task asks, and the person's answer to it. An answer is a deliberate act: what will happen is there in full, no button has the
 * focus of itself, and none works in the moment in which the question appeared or became another one.
 */
import type { A2aTask, Interaction, TaskView } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import { saying } from "../model/session.ts";
import { straight } from "../model/words.ts";
import { detailTable } from "./detail.ts";
import { define, LightElement } from "./light.ts";
import { answerOf, fieldInput, fieldsOf } from "./question-fields.ts";
import type { Field } from "./question-fields.ts";
import { problem } from "./said.ts";

/** Somebody who was about to press something else has noticed by then, in milliseconds. */
const GUARD = 600;

type Answering = (task: A2aTask, interaction: Interaction) => Promise<TaskView>;

export class AskForm extends LightElement {
  static override properties = {
    task: { attribute: false },
    interaction: { attribute: false },
    guarded: { state: true },
    sending: { state: true },
    error: { state: true },
  };
  declare task: A2aTask;
  /** What is asked. It stays the same object for as long as it is the same question. */
  declare interaction: Interaction;
  declare guarded: boolean;
  declare sending: string | undefined;
  declare error: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #fields: readonly Field[] = [];
  #asked: string | undefined;

  constructor() {
    super();
    this.guarded = true;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  protected override willUpdate(): void {
    const { id, prompt } = this.interaction;
    const asked = `${id} ${prompt} ${JSON.stringify(this.interaction.detail)}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.error = undefined;
    this.sending = undefined;
    this.guarded = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.guarded = false), GUARD);
    this.#fields = this.interaction.kind === "question" ? questionFields(this.interaction) : [];
  }

  protected override render(): TemplateResult {
    const { interaction } = this;
    const { kind, prompt, detail } = interaction;
    const shown = kind === "question" ? withoutForm(detail) : kind === "connection" ? withoutLink(detail) : detail;
    return html`<section class="ask-form" data-kind=${kind} aria-labelledby="ask-title">
      <p class="eyebrow">${EYEBROWS[kind]}</p>
      <h2 id="ask-title">${straight(prompt)}</h2>
      ${shown === undefined || Object.keys(shown).length === 0 ? nothing : detailTable(shown)}
      ${kind === "approval" ? this.#approval() : kind === "connection" ? this.#connection() : this.#question()}
      ${problem(this.error)}
    </section>`;
  }

  #approval(): TemplateResult {
    return html`<p class="consequence">
        If you approve, the agent goes on and does what is said above. That cannot be taken back here.
      </p>
      <div class="buttons">
        ${this.#button("Approve", "primary", (task, interaction) => task.approve(true, { interaction }))}
        ${this.#button("Deny", "secondary", (task, interaction) => task.approve(false, { interaction }))}
      </div>`;
  }

  #connection(): TemplateResult {
    const { interaction } = this;
    const { provider, url } = interaction.kind === "connection" ? interaction : {};
    const link = webLink(url);
    return html`${provider === undefined ? nothing : html`<p>Service: <strong>${straight(provider)}</strong></p>`}
      ${
        link === undefined
          ? url === undefined
            ? nothing
            : html`<p>
                The agent names an address that is none of the web’s, so it is not a link: <code>${url}</code>
              </p>`
          : html`<p>
              <a class="button primary" href=${link.href} target="_blank" rel="noopener noreferrer"
                >Connect at ${link.host}</a
              >
            </p>`
      }
      <p class="consequence">The agent looks for itself, and goes on as soon as it is connected.</p>
      <div class="buttons">
        ${this.#button("I have connected it", link === undefined ? "primary" : "secondary", (task, one) =>
          task.connected(true, { interaction: one }),
        )}
        ${this.#button("I will not", "secondary", (task, one) => task.connected(false, { interaction: one }))}
      </div>`;
  }

  #question(): TemplateResult {
    if (this.interaction.kind === "question" && this.interaction.wantsAuthorization) {
      return html`<p class="consequence">
        This agent asks for an authorization in words alone, and no answer from here can give it. Authorize it where the
        agent says; the task then goes on by itself.
      </p>`;
    }
    const send = (event: SubmitEvent): void => {
      event.preventDefault();
      if (this.guarded) return;
      let value: unknown;
      try {
        value = answerOf(this.#fields, new FormData(event.target as HTMLFormElement));
      } catch (error) {
        this.error = saying(error);
        return;
      }
      void this.#send("Answer", (task, interaction) => task.answer(value, { interaction }));
    };
    return html`<form @submit=${send}>
      ${this.#fields.map((field, index) => fieldInput(field, `field-${index}`))}
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled=${this.#isShut} ?disabled=${this.sending !== undefined}>
          ${this.sending === "Answer" ? "Sending…" : "Answer"}
        </button>
      </div>
    </form>`;
  }

  get #isShut(): boolean {
    return this.guarded || this.sending !== undefined;
  }

  #button(words: string, look: string, answering: Answering): TemplateResult {
    const press = (): void => {
      if (!this.#isShut) void this.#send(words, answering);
    };
    return html`<button type="button" class=${look} aria-disabled=${this.#isShut} @click=${press}>
      ${this.sending === words ? "Sending…" : words}
    </button>`;
  }

  async #send(words: string, answering: Answering): Promise<void> {
    const { task, interaction } = this;
    this.sending = words;
    this.error = undefined;
    try {
      await answering(task, interaction);
      this.dispatchEvent(new CustomEvent("answered", { bubbles: true }));
    } catch (error) {
      this.error = explained(error);
      // If something else is asked by now, that is shown.
      await task.refresh().catch(() => undefined);
    }
    this.sending = undefined;
  }
}

const EYEBROWS = { approval: "Your approval", connection: "Your connection", question: "Your answer" } as const;

/** A question's fields: of its choices, its schema, or for words. */
function questionFields({ choices, schema }: Extract<Interaction, { readonly kind: "question" }>): readonly Field[] {
  if (choices !== undefined) return fieldsOf({ enum: choices }, "Your answer");
  if (schema !== undefined) return fieldsOf(schema, "Your answer");
  return fieldsOf({ type: "string", maxLength: 100_000, minLength: 1 }, "Your answer");
}

function withoutForm(detail: Interaction["detail"]): Interaction["detail"] {
  const { choices: _, schema: __, ...rest } = detail ?? {};
  return rest;
}

function withoutLink(detail: Interaction["detail"]): Interaction["detail"] {
  const { provider: _, url: __, ...rest } = detail ?? {};
  return rest;
}

/** An agent's address, if it leads to the web and nowhere else. */
export function webLink(url: string | undefined): URL | undefined {
  const parsed = url === undefined ? null : URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === "" ? parsed : undefined;
}

function explained(error: unknown): string {
  const { reason } = error as { readonly reason?: unknown };
  if (reason === "INTERACTION_NOT_OPEN") return "This was answered or withdrawn meanwhile. Nothing was sent.";
  return saying(error);
}

define("ask-form", AskForm);

declare global {
  interface HTMLElementTagNameMap {
    "ask-form": AskForm;
  }
}
