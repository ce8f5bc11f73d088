/** Text for terminals. */

/** Columns under their headings, as wide as they must be. On a terminal that is narrower, the widest one is cut. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const gaps = 2 * (widths.length - 1);
  const total = widths.reduce((sum, width) => sum + width, gaps);
  const widest = widths.indexOf(Math.max(...widths));
  const room = process.stdout.isTTY ? process.stdout.columns : Infinity;
  if (total > room) widths[widest] = Math.max(8, widths[widest]! - (total - room));
  const cell = (text: string, width: number) =>
    text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
  return lines
    .map(
      (line) =>
        `${line
          .map((text, column) => cell(text, widths[column]!))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** `2026-10-14 02:00:00Z`. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace(/\.\d+/, "");
}
