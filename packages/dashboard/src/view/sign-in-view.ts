/** Nobody is signed in: who has a key can. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import { saying, session } from "../model/session.ts";
import { define, LightElement } from "../part/light.ts";
import { problem } from "../part/said.ts";

export class SignIn extends LightElement {
  static override properties = { sending: { state: true }, error: { state: true }, adding: { type: Boolean } };
  declare sending: boolean;
  declare error: string | undefined;
  /** Adds to who is signed in already. */
  declare adding: boolean;

  constructor() {
    super();
    this.sending = false;
    this.adding = false;
  }

  protected override render(): TemplateResult {
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      const form = event.target as HTMLFormElement;
      const key = new FormData(form).get("key");
      if (typeof key === "string" && key.trim() !== "") void this.#signIn(key.trim(), form);
    };
    return html`<form class="sign-in" @submit=${submit}>
      <label for="key">Key</label>
      <input
        id="key"
        name="key"
        type="password"
        autocomplete="current-password"
        spellcheck="false"
        required
        aria-describedby="key-hint"
      />
      <p class="hint" id="key-hint">
        ${
          this.adding
            ? "An operator’s key besides yours shows what needs an operator."
            : html`A caller’s or an operator’s. On the machine that serves:
                <code>nylorun keys add --subject NAME</code> makes one, and <code>npm start</code> prints a link that
                needs none.`
        }
      </p>
      ${problem(this.error ?? (this.adding ? undefined : session.why))}
      <button type="submit" class="primary" ?disabled=${this.sending}>
        ${this.sending ? "Signing in…" : "Sign in"}
      </button>
      ${
        location.protocol === "http:" && !isLocal(location.hostname)
          ? html`<p class="hint">
              This address is not encrypted: whoever is between you and the Runtime can read your key.
            </p>`
          : nothing
      }
    </form>`;
  }

  async #signIn(key: string, form: HTMLFormElement): Promise<void> {
    this.sending = true;
    this.error = undefined;
    try {
      await session.signIn({ key });
      form.reset();
    } catch (error) {
      this.error = saying(error);
    }
    this.sending = false;
  }
}

function isLocal(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}

define("sign-in", SignIn);
