/** Every requirement there is, by where it comes from. `npm run conformance` holds them against the tests. */
import type { Section } from "./requirement.ts";
import { CLIENT } from "./sources/a2a-client.ts";
import { DATA } from "./sources/a2a-data.ts";
import { OPERATIONS } from "./sources/a2a-operations.ts";
import { SECURITY } from "./sources/a2a-security.ts";
import { EXTENSIONS } from "./sources/extensions.ts";
import { FILES } from "./sources/files.ts";
import { PROFILE_RULES } from "./sources/profile.ts";
import { PROGRESS } from "./sources/progress.ts";
import { PUSH } from "./sources/push.ts";

export const A2A_SECTIONS: readonly Section[] = [
  ...OPERATIONS,
  ...DATA,
  ...SECURITY,
  ...CLIENT,
  ...PROFILE_RULES,
  ...EXTENSIONS,
  ...FILES,
  ...PUSH,
];
export const PROGRESS_SECTIONS: readonly Section[] = PROGRESS;
export const SECTIONS: readonly Section[] = [...A2A_SECTIONS, ...PROGRESS_SECTIONS];
