/** Spans of time as people read them. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `0:05`, `4:10`, `1:02:03`; from a day on `2 d 3 h`. Never negative. */
export function clockText(ms: number): string {
  const span = Math.max(0, ms);
  if (span >= DAY) return `${Math.floor(span / DAY)} d ${Math.floor((span % DAY) / HOUR)} h`;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const seconds = two((span % MINUTE) / SECOND);
  return span >= HOUR
    ? `${Math.floor(span / HOUR)}:${two((span % HOUR) / MINUTE)}:${seconds}`
    : `${Math.floor(span / MINUTE)}:${seconds}`;
}

/** `6–9 min`, `45 s`, `1–2 h`: about how long. */
export function rangeText(low: number, high: number): string {
  const [size, unit] = high >= 2 * HOUR ? [HOUR, "h"] : high >= 2 * MINUTE ? [MINUTE, "min"] : [SECOND, "s"];
  const [from, to] = [Math.round(low / size), Math.round(high / size)];
  return from === to ? `${to} ${unit}` : `${from}–${to} ${unit}`;
}
