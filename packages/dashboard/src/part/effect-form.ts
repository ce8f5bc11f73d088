/** What became of a lost effect, as an operator says it. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import { operator } from "../model/operator.ts";
import type { LostEffect, Resolution } from "../model/operator.ts";
import { define, LightElement } from "./light.ts";
import { problem } from "./said.ts";

type Outcome = Resolution["outcome"];

export class EffectForm extends LightElement {
  static override properties = {
    effect: { attribute: false },
    act: { attribute: false },
    outcome: { state: true },
    error: { state: true },
  };
  declare effect: LostEffect;
  /** Does it, and says so. */
  declare act: (doing: Promise<unknown>, done: string) => Promise<void>;
  declare outcome: Outcome | undefined;
  declare error: string | undefined;

  protected override render(): TemplateResult {
    const { effectId, state } = this.effect;
    const ended = !["uncertain", "held"].includes(state);
    const option = (outcome: Outcome, words: string): TemplateResult => {
      const choose = (): void => void (this.outcome = outcome);
      return html`<label class="choice"
        ><input type="radio" name="outcome" value=${outcome} @change=${choose} /><span>${words}</span></label
      >`;
    };
    return html`<form @submit=${(event: SubmitEvent) => this.#submit(event)}>
      <fieldset class="choices inline">
        <legend class="unseen">What became of it</legend>
        ${option("completed", "It happened")} ${option("failed", "It did not happen")}
        ${ended ? nothing : option("retry", "Try it again")}
      </fieldset>
      ${
        this.outcome === "completed"
          ? html`<div class="field">
              <label for="value-${effectId}">What it returned, as JSON</label>
              <textarea
                id="value-${effectId}"
                name="value"
                class="code"
                rows="3"
                spellcheck="false"
                placeholder="null"
              ></textarea>
              <span class="hint">The agent goes on with this value. Empty: with none.</span>
            </div>`
          : nothing
      }
      ${
        this.outcome === "failed"
          ? html`<div class="field">
              <label for="message-${effectId}">Why, in words that the agent is given</label>
              <input id="message-${effectId}" name="message" required maxlength="4000" />
            </div>`
          : nothing
      }
      ${
        this.outcome === "retry"
          ? html`<p class="notice" data-tone="wait">
              It is tried once more, with the same key. The first attempt may still be at work: if the other side does
              not know the key, it happens twice.
            </p>`
          : nothing
      }
      ${problem(this.error)}
      ${this.outcome === undefined ? nothing : html`<div class="buttons"><button type="submit" class="primary">${BUTTONS[this.outcome]}</button></div>`}
    </form>`;
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    this.error = undefined;
    let resolution: Resolution;
    if (this.outcome === "failed") resolution = { outcome: "failed", message: textOf(form, "message") };
    else if (this.outcome === "retry") resolution = { outcome: "retry" };
    else {
      const text = textOf(form, "value").trim();
      try {
        resolution = { outcome: "completed", value: text === "" ? undefined : (JSON.parse(text) as unknown) };
      } catch {
        this.error = 'The value must be JSON, such as {"id": 1} or "text".';
        return;
      }
    }
    void this.act(operator.resolve(this.effect.effectId, resolution), `“${this.effect.name}” is resolved.`);
  }
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}

const BUTTONS: Readonly<Record<Outcome, string>> = {
  completed: "It happened: go on",
  failed: "It did not happen: tell the agent",
  retry: "Try it again, knowing that",
};

define("effect-form", EffectForm);

declare global {
  interface HTMLElementTagNameMap {
    "effect-form": EffectForm;
  }
}
