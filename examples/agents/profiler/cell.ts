/** What one cell of a CSV holds. */

export type CellKind = "missing" | "integer" | "number" | "boolean" | "date" | "text";

const missing = new Set(["", "na", "n/a", "#n/a", "nan", "null"]);
const booleans = new Set(["true", "false", "yes", "no"]);
// No leading zeros: 00123 is a code, and as a number it would be another one.
const integer = /^[+-]?(?:0|[1-9]\d*)$/;
const decimal = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const isoDate = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

// What is larger is no measurement, and its square would leave the range of numbers.
const huge = 1e100;

/** How a file writes 3.14. In `1,234` a comma may as well part thousands, so it is a decimal mark only where a file says so. */
export type DecimalMark = "." | ",";

export function kindOf(cell: string, mark: DecimalMark): CellKind {
  const value = cell.trim();
  if (value.length <= 5) {
    const word = value.toLowerCase();
    if (missing.has(word)) return "missing";
    if (booleans.has(word)) return "boolean";
  }
  // Beyond 2^53 neighbours collapse into one number: such digits are an identifier.
  if (integer.test(value)) return Number.isSafeInteger(Number(value)) ? "integer" : "text";
  if (decimal.test(withPoint(value, mark)) && Math.abs(numberOf(value, mark)) < huge) return "number";
  if (isDate(value)) return "date";
  return "text";
}

/** The number in a cell of kind integer or number. */
export function numberOf(cell: string, mark: DecimalMark): number {
  return Number(withPoint(cell.trim(), mark));
}

function withPoint(value: string, mark: DecimalMark): string {
  return mark === "," ? value.replace(",", ".") : value;
}

/** ISO 8601 only: whether 03/04/2026 is in March or in April, nobody can tell. */
function isDate(value: string): boolean {
  const match = isoDate.exec(value);
  if (!match) return false;
  const [year, month, day, hour, minute, second] = match.slice(1).map((digits) => Number(digits ?? 0));
  const date = new Date(Date.UTC(year!, month! - 1, day));
  return date.getUTCMonth() === month! - 1 && date.getUTCDate() === day && hour! < 24 && minute! < 60 && second! <= 60;
}
