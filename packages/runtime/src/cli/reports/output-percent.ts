/**
 * How far a command says it is, read from what it prints. Not every percent is progress ("coverage 87%"), and a wrong bar is
 * worse than none, so a percent counts only where progress is printed:
 *
 * | where                                        | such as                                       |
 * |----------------------------------------------|-----------------------------------------------|
 * | in a line that is rewritten in place          | `Receiving objects:  42% (42/100)`, then CR   |
 * | at the beginning of a line, after one `[…]`  | `[ 42%] Building x.o`, `[download]  42.0% of` |
 * | in brackets at the end of a line             | `tests/test_a.py ....          [ 42%]`        |
 */

/** A line that goes on for longer is no progress. In characters. */
const LINE_LIMIT = 1_000;

/* oxlint-disable no-control-regex -- sequences that move the cursor are what this is about */
/** Sequences that a terminal takes as commands; those that go back to the beginning of the line, or erase it, apart. */
const REWRITE = /\x1b\[(?:[0-9;]*[GK]|[01]?A|[0-9;]*F)/g;
const ESCAPES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]/g;
/* oxlint-enable no-control-regex */

const ANYWHERE = /(?:^|[^\w.,])(\d{1,3}(?:[.,]\d+)?) ?%/g;
const AT_THE_BEGINNING = /^\s*(?:\[[^\]%]{0,40}\]\s*)?[[(]?\s*(\d{1,3}(?:[.,]\d+)?) ?%/;
const AT_THE_END = /[[(]\s*(\d{1,3}(?:[.,]\d+)?) ?%\s*[\])]\s*$/;

/** Reads one stream of a command. */
export class OutputPercent {
  readonly #decoder = new TextDecoder();
  #line = "";
  #rewritten = false;

  /** The last percent that is progress in what came now, 0-100; undefined when there is none. */
  push(chunk: Uint8Array): number | undefined {
    let found: number | undefined;
    const text = this.#decoder.decode(chunk, { stream: true }).replaceAll(REWRITE, "\r");
    for (const piece of text.split(/(?<=[\r\n])/)) {
      this.#line = (this.#line + piece).slice(-LINE_LIMIT);
      const end = piece.at(-1);
      if (end !== "\r" && end !== "\n") continue;
      // A line that ends in CR LF was not rewritten, but one that follows a CR was.
      const rewritten = this.#rewritten || end === "\r";
      found = percentIn(this.#line, rewritten) ?? found;
      this.#rewritten = end === "\r";
      this.#line = "";
    }
    // A line that is rewritten is shown without its end, too.
    return (this.#rewritten ? percentIn(this.#line, true) : undefined) ?? found;
  }
}

function percentIn(line: string, rewritten: boolean): number | undefined {
  const text = line.replaceAll(ESCAPES, "").trim();
  const match = rewritten
    ? [...text.matchAll(ANYWHERE)].at(-1)
    : (AT_THE_BEGINNING.exec(text) ?? AT_THE_END.exec(text));
  const percent = Number(match?.[1]?.replace(",", ".") ?? Number.NaN);
  return percent >= 0 && percent <= 100 ? percent : undefined;
}
