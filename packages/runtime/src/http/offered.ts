/** The extensions of the profile that are built: cards declare these, requests activate among these, and there are no others. */
import { EXTENSIONS } from "@nylorun/protocol";
import type { AgentExtension, ExtensionUri } from "@nylorun/protocol";

const DESCRIPTIONS: { readonly [Uri in ExtensionUri]?: string } = {
  [EXTENSIONS.interactions]: "Approvals, questions and connections that a task waits for, and their answers.",
  [EXTENSIONS.effects]: "Which effect's outcome was lost, on a task that cannot go on without knowing.",
  [EXTENSIONS.progress]: "The agent's plan, up to 20 steps with a state each, on the task.",
  [EXTENSIONS.telemetry]: "Steps, tokens, cost and the trace id, on a task that has ended.",
  [EXTENSIONS.files]: "Which version of which file an artifact is: kind, version, size, SHA-256 and path.",
};

/** In the profile's order. */
export const OFFERED: readonly ExtensionUri[] = Object.values(EXTENSIONS).filter((uri) => uri in DESCRIPTIONS);

/** How a card declares them: none is required, so plain A2A clients are served too. */
export const DECLARED: readonly AgentExtension[] = OFFERED.map((uri) => ({
  uri,
  description: DESCRIPTIONS[uri]!,
  required: false,
}));
