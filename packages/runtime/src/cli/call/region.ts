/**
 * A few lines at the end of a terminal that are drawn over and over, below what was printed before. What is kept stays there, and
 * the next picture begins under it.
 */
import { cursorHide, cursorShow, eraseLines } from "ansi-escapes";

import { cellsOf } from "../cells.ts";

export class Region implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  #lines: readonly string[] = [];

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  get width(): number {
    return this.#stream.columns || 80;
  }

  /** Draws lines in place of the last ones. None should be wider than the terminal. */
  draw(lines: readonly string[]): void {
    this.#stream.write(`${cursorHide}${this.#erase()}${lines.join("\n")}\n`);
    this.#lines = lines;
  }

  /** Leaves what is drawn, for good. */
  keep(): void {
    this.#lines = [];
    this.#stream.write(cursorShow);
  }

  [Symbol.dispose](): void {
    this.keep();
  }

  /** Since the terminal became narrower a line may have become two. */
  #erase(): string {
    const rows = this.#lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(cellsOf(line) / this.width)), 0);
    return rows === 0 ? "" : eraseLines(rows + 1);
  }
}
