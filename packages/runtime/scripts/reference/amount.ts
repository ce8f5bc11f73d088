/** Amounts as people read them. */

const UNITS = {
  ms: [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
    ["second", 1000],
  ],
  bytes: [
    ["GiB", 1_073_741_824],
    ["MiB", 1_048_576],
    ["KiB", 1024],
  ],
} as const;

/** In the largest unit in which it is a whole number; in the given one when there is none. */
export function inLargestUnit(value: number, unit: keyof typeof UNITS): string {
  const [name, size] = UNITS[unit].find(([, one]) => value % one === 0) ?? [unit, 1];
  const count = value / size;
  return `${count.toLocaleString("en-US")} ${name}${unit === "ms" && count > 1 ? "s" : ""}`;
}

/** Whether there is a larger unit in which it is a whole number. */
export function hasLargerUnit(value: number, unit: keyof typeof UNITS): boolean {
  return UNITS[unit].some(([, one]) => value % one === 0);
}
