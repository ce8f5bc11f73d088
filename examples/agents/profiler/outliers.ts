import { kindOf, numberOf } from "./cell.ts";
import type { TypedColumn } from "./column.ts";
import { short } from "./numbers.ts";
import type { Numbers } from "./numbers.ts";
import type { Pace } from "./pace.ts";

export interface Outliers {
  /** Tukey's fences: a value below `low` or above `high` is more than 1.5 interquartile ranges away from the middle half. */
  readonly low: number;
  readonly high: number;
  readonly count: number;
  /** The 20 that lie farthest out. Row 1 is the first below the header. */
  readonly examples: readonly { readonly row: number; readonly value: number }[];
}

const exampleLimit = 20;

/** Nothing for a column that has no numbers, or of which half the values are the same: there any other value would be an outlier. */
export async function findOutliers(
  column: TypedColumn,
  numbers: Numbers | undefined,
  pace: Pace,
): Promise<{ readonly outliers?: Outliers }> {
  if (numbers === undefined) return {};
  const { p25, p75 } = numbers.quantiles;
  const range = p75 - p25;
  if (range === 0 || !Number.isFinite(range * 1.5)) return {};
  const low = short(p25 - 1.5 * range);
  const high = short(p75 + 1.5 * range);

  const found: { row: number; value: number }[] = [];
  for await (const [start, slice] of pace.over(column.cells)) {
    slice.forEach((cell, index) => {
      if (kindOf(cell, column.decimalMark) === "missing") return;
      const value = numberOf(cell, column.decimalMark);
      if (value < low || value > high) found.push({ row: start + index + 1, value });
    });
  }
  const distance = (value: number) => (value < low ? low - value : value - high);
  const examples = found.toSorted((a, b) => distance(b.value) - distance(a.value)).slice(0, exampleLimit);
  return { outliers: { low, high, count: found.length, examples } };
}
