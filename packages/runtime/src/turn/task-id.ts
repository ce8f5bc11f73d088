import type { TurnKey } from "./record.ts";

/** Turns keys into what callers see, and back. A caller can read nothing from an id, and cannot make one. */
export interface TaskIds {
  encode(key: TurnKey): string;
  /** Undefined for anything that `encode` did not make. It need not name a turn that exists. */
  decode(id: string): TurnKey | undefined;
}
