/** Text measured in the cells that it takes on a terminal: two for most of CJK and emoji, none for what combines. */
import stringWidth from "string-width";

const graphemes = new Intl.Segmenter();

export function cellsOf(text: string): number {
  return stringWidth(text);
}

/** No wider than so many cells: cut between characters as people see them, with `…` where something is missing. */
export function cutToCells(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  if (cells < 1) return "";
  let cut = "";
  let left = cells - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= cellsOf(segment);
    if (left < 0) break;
    cut += segment;
  }
  return `${cut.trimEnd()}…`;
}

/** Exactly so many cells. */
export function fitToCells(text: string, cells: number): string {
  const fitting = cutToCells(text, cells);
  return fitting + " ".repeat(Math.max(0, cells - cellsOf(fitting)));
}
