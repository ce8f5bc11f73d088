import { RuntimeError } from "../node/errors.ts";

/**
 * A whole number from 1 on, as a flag has it.
 *
 * @throws RuntimeError `request.invalid`.
 */
export function numberOf(flag: string, text: string, most: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= most) return number;
  const came = JSON.stringify(text.slice(0, 40));
  throw new RuntimeError("request.invalid", `${flag} must be a whole number from 1 to ${most}; it is ${came}.`);
}
