/** Registers `<agent-progress>`. */
import { AgentProgress } from "./agent-progress.ts";

declare global {
  interface HTMLElementTagNameMap {
    "agent-progress": AgentProgress;
  }
}

// On a server there is nothing to register with; a page may load this twice, from two bundles.
if (globalThis.customElements?.get("agent-progress") === undefined) {
  globalThis.customElements?.define("agent-progress", AgentProgress);
}
