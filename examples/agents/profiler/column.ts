/** What one column holds: its type first, then a profile that fits the type. */
import { kindOf, numberOf } from "./cell.ts";
import type { CellKind } from "./cell.ts";
import { summarize } from "./numbers.ts";
import type { Numbers } from "./numbers.ts";
import type { Pace } from "./pace.ts";
import type { Column } from "./table.ts";

/** `empty`: every cell is missing. */
export type ColumnType = Exclude<CellKind, "missing"> | "empty";

export interface TypedColumn extends Column {
  readonly type: ColumnType;
}

export interface ColumnProfile {
  readonly position: number;
  readonly name: string;
  readonly type: ColumnType;
  /** Cells that hold something. */
  readonly values: number;
  /** Cells that are empty, or say NA, N/A, NaN or NULL. */
  readonly missing: number;
  /** `atLeast`: counting stopped at 10,000. */
  readonly distinct: { readonly count: number; readonly atLeast?: true };
  /** The five most common values that occur more than once; absent when not all were counted. */
  readonly mostCommon?: readonly { readonly value: string; readonly count: number }[];
  readonly numbers?: Numbers;
  readonly dates?: { readonly earliest: string; readonly latest: string };
  /** In characters. */
  readonly lengths?: { readonly shortest: number; readonly longest: number };
  /** A text column of which nine values in ten are of another type: the rest may be mistakes. */
  readonly mostly?: { readonly type: ColumnType; readonly exceptions: Exceptions };
}

export interface Exceptions {
  readonly count: number;
  /** The first 20. Row 1 is the first below the header. */
  readonly examples: readonly { readonly row: number; readonly value: string }[];
}

const distinctLimit = 10_000;
const exampleLimit = 20;

/** The narrowest type that all cells fit which are not missing. */
export async function inferType(column: Column, pace: Pace): Promise<ColumnType> {
  return narrowest(await countKinds(column, pace), 1);
}

export async function profileColumn(column: TypedColumn, pace: Pace): Promise<ColumnProfile> {
  const { position, name, type, cells } = column;
  const counts = new Map<string, number>();
  let values = 0;
  let uncounted = false;
  let shortest = Number.POSITIVE_INFINITY;
  let longest = 0;
  let earliest: string | undefined;
  let latest: string | undefined;
  const numbers: number[] = [];

  for await (const [, slice] of pace.over(column.cells)) {
    for (const cell of slice) {
      if (kindOf(cell, column.decimalMark) === "missing") continue;
      const value = cell.trim();
      values += 1;
      const seen = counts.get(value);
      if (seen !== undefined || counts.size < distinctLimit) counts.set(value, (seen ?? 0) + 1);
      else uncounted = true;
      if (type === "integer" || type === "number") numbers.push(numberOf(value, column.decimalMark));
      if (type === "text") {
        const length = value.length;
        shortest = Math.min(shortest, length);
        longest = Math.max(longest, length);
      }
      if (type === "date") {
        if (earliest === undefined || Date.parse(value) < Date.parse(earliest)) earliest = value;
        if (latest === undefined || Date.parse(value) > Date.parse(latest)) latest = value;
      }
    }
  }

  const mostly = type === "text" ? await findExceptions(column, pace) : undefined;
  return {
    position,
    name,
    type,
    values,
    missing: cells.length - values,
    distinct: { count: counts.size, ...(uncounted ? { atLeast: true } : {}) },
    ...(uncounted ? {} : { mostCommon: mostCommon(counts) }),
    ...(numbers.length > 0 ? { numbers: summarize(numbers) } : {}),
    ...(earliest !== undefined && latest !== undefined ? { dates: { earliest, latest } } : {}),
    ...(type === "text" ? { lengths: { shortest, longest } } : {}),
    ...(mostly ? { mostly } : {}),
  };
}

type Kinds = ReadonlyMap<CellKind, number>;

async function countKinds(column: Column, pace: Pace): Promise<Kinds> {
  const kinds = new Map<CellKind, number>();
  for await (const [, slice] of pace.over(column.cells)) {
    for (const cell of slice) {
      const kind = kindOf(cell, column.decimalMark);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
  }
  return kinds;
}

/** The narrowest type that at least this share of the values has. */
function narrowest(kinds: Kinds, share: number): ColumnType {
  const of = (kind: CellKind) => kinds.get(kind) ?? 0;
  const values = of("integer") + of("number") + of("boolean") + of("date") + of("text");
  if (values === 0) return "empty";
  if (of("integer") >= values * share) return "integer";
  if (of("integer") + of("number") >= values * share) return "number";
  if (of("boolean") >= values * share) return "boolean";
  if (of("date") >= values * share) return "date";
  return "text";
}

async function findExceptions(column: Column, pace: Pace): Promise<ColumnProfile["mostly"]> {
  const type = narrowest(await countKinds(column, pace), 0.9);
  if (type === "text" || type === "empty") return undefined;
  let count = 0;
  const examples: { row: number; value: string }[] = [];
  for await (const [start, slice] of pace.over(column.cells)) {
    slice.forEach((cell, index) => {
      const kind = kindOf(cell, column.decimalMark);
      if (kind === "missing" || kind === type || (kind === "integer" && type === "number")) return;
      count += 1;
      if (examples.length < exampleLimit) examples.push({ row: start + index + 1, value: clip(cell.trim()) });
    });
  }
  return { type, exceptions: { count, examples } };
}

function mostCommon(counts: ReadonlyMap<string, number>): { value: string; count: number }[] {
  return [...counts]
    .filter(([, count]) => count > 1)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 5)
    .map(([value, count]) => ({ value: clip(value), count }));
}

function clip(value: string): string {
  const characters = Array.from(value.slice(0, 200));
  return characters.length > 80 ? `${characters.slice(0, 79).join("")}…` : value;
}
