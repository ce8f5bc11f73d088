/** Where a person writes to an agent. The message has one id for as long as it is the same text: sent again, it is not done again. */
import type { A2aTask } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import type { Desk } from "../model/desk.ts";
import { saying } from "../model/session.ts";
import { define, LightElement } from "./light.ts";
import { problem } from "./said.ts";

export class MessageComposer extends LightElement {
  static override properties = {
    desk: { attribute: false },
    agent: {},
    contextId: { attribute: false },
    text: {},
    label: {},
    sending: { state: true },
    error: { state: true },
  };
  declare desk: Desk;
  declare agent: string;
  /** Undefined: a new conversation. */
  declare contextId: string | undefined;
  declare text: string;
  declare label: string;
  declare sending: boolean;
  declare error: string | undefined;
  #sent: { readonly text: string; readonly messageId: string } | undefined;

  constructor() {
    super();
    this.text = "";
    this.label = "Message";
    this.sending = false;
  }

  protected override render(): TemplateResult {
    const submit = (event: Event): void => {
      event.preventDefault();
      void this.#send();
    };
    const type = ({ target }: Event): void => {
      this.text = (target as HTMLTextAreaElement).value;
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) submit(event);
    };
    const isEmpty = this.text.trim() === "";
    return html`<form class="composer" @submit=${submit}>
      <label for="composer-text">${this.label}</label>
      <textarea
        id="composer-text"
        rows="3"
        .value=${this.text}
        @input=${type}
        @keydown=${key}
        ?readonly=${this.sending}
      ></textarea>
      <div class="composer-foot">
        <span class="hint">Ctrl+Enter sends</span>
        <button type="submit" class="primary" aria-disabled=${isEmpty || this.sending}>
          ${this.sending ? "Sending…" : "Send"}
        </button>
      </div>
      ${this.error === undefined ? nothing : problem(this.error)}
    </form>`;
  }

  async #send(): Promise<void> {
    const { text, agent, contextId, desk } = this;
    if (this.sending || text.trim() === "") return;
    this.sending = true;
    this.error = undefined;
    if (this.#sent?.text !== text) this.#sent = { text, messageId: messageId() };
    try {
      const client = await desk.client(agent);
      const { messageId: id } = this.#sent;
      const task = await client.send(text, { messageId: id, ...(contextId !== undefined && { contextId }) });
      this.#sent = undefined;
      this.text = "";
      this.dispatchEvent(new CustomEvent<A2aTask>("sent", { detail: task, bubbles: true }));
    } catch (error) {
      this.error = `${saying(error)} You can send it again: the same message is never done twice.`;
    } finally {
      this.sending = false;
    }
  }
}

/** 128 random bits. `randomUUID` is not there without TLS. */
function messageId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

define("message-composer", MessageComposer);

declare global {
  interface HTMLElementTagNameMap {
    "message-composer": MessageComposer;
  }
}
