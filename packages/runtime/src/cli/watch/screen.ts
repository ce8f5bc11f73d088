/**
 * The terminal while `watch` draws: a screen of its own, so that nothing of it is left behind, and whole frames from the top, so
 * that no change of size leaves half a line or a second copy (P24).
 */
import {
  beginSynchronizedOutput,
  cursorHide,
  cursorShow,
  cursorTo,
  endSynchronizedOutput,
  enterAlternativeScreen,
  eraseDown,
  eraseLine,
  exitAlternativeScreen,
} from "ansi-escapes";

/** A line that is wider than we think must not push the next one down. */
const NO_WRAP = "\u001B[?7l";
const WRAP = "\u001B[?7h";

export class Screen implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #progress: boolean;
  #lastProgress = "";

  /** @param options.progress The terminal shows progress in its tab (OSC 9;4). */
  constructor(stream: NodeJS.WriteStream, { progress }: { readonly progress: boolean }) {
    this.#stream = stream;
    this.#progress = progress;
    stream.write(enterAlternativeScreen + cursorHide + NO_WRAP);
  }

  get width(): number {
    return this.#stream.columns || 80;
  }

  get height(): number {
    return this.#stream.rows || 24;
  }

  draw(lines: readonly string[]): void {
    // Erased first: after a line that is as wide as the screen, the cursor is still on its last character.
    const drawn = lines.map((line, row) => cursorTo(0, row) + eraseLine + line);
    const rest = lines.length < this.height ? cursorTo(0, lines.length) + eraseDown : "";
    this.#stream.write(beginSynchronizedOutput + drawn.join("") + rest + endSynchronizedOutput);
  }

  /** Shows in the terminal's tab how far everything is. Undefined: nothing goes on. */
  showProgress(percent: number | undefined, paused: boolean): void {
    if (this.#progress) this.#writeProgress(percent === undefined ? "0;0" : `${paused ? 4 : 1};${Math.floor(percent)}`);
  }

  [Symbol.dispose](): void {
    if (this.#progress) this.#writeProgress("0;0");
    this.#stream.write(WRAP + cursorShow + exitAlternativeScreen);
  }

  #writeProgress(state: string): void {
    if (state === this.#lastProgress) return;
    this.#lastProgress = state;
    this.#stream.write(`\u001B]9;4;${state}\u0007`);
  }
}
