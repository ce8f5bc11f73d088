/** The class of `<agent-progress>` and what it is made with. `./define.ts` registers it. */
export { AgentProgress } from "./agent-progress.ts";
export { ENGLISH } from "./words.ts";
export type { Words } from "./words.ts";
