import { subjectProblem } from "@nylorun/protocol";

import { AccessError } from "./errors.ts";

/**
 * A subject's name, checked: 1-200 visible ASCII characters (`!` to `~`, so no blank either). They are compared exactly.
 * Every way in, be it a key, a token or an embedder's own `authenticate`, goes through here.
 *
 * @throws AccessError `subject.invalid`: what is wrong, and where.
 */
export function checkSubject(value: unknown): string {
  const why = subjectProblem(value);
  if (why === undefined) return value as string;
  throw new AccessError(
    "subject.invalid",
    `A subject must be 1-200 visible ASCII characters, such as "ada" or "team/ada"; ${why}.`,
  );
}
