/** Where progress events are kept and watched: the sink folder, and the hub. */
export { dayOf, dayOfFile, daysBefore, eventsFileOf } from "./day.ts";
export type { Day } from "./day.ts";
