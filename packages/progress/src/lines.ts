/**
 * Cuts bytes into lines. A line is decoded when it is whole, so no character is ever split between two chunks.
 */

/** A longer line is skipped: no record is nearly as long, and memory has to be bounded. In bytes. */
export const LINE_LIMIT = 8 * 1024 * 1024;

const NEWLINE = 0x0a;

export class LineSplitter {
  /** The beginning of a line whose end has not come yet. */
  #parts: Buffer[] = [];
  #length = 0;

  /** The lines that end in this chunk, without their newline. Undefined stands for a line that was too long. */
  push(chunk: Buffer): (string | undefined)[] {
    const lines: (string | undefined)[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      lines.push(this.#finish(chunk.subarray(from, end)));
      from = end + 1;
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from));
    return lines;
  }

  /** What has no newline yet, and will get none. */
  end(): string | undefined {
    return this.#length === 0 ? undefined : (this.#finish(Buffer.alloc(0)) ?? "");
  }

  #hold(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > LINE_LIMIT) this.#parts = [];
    // Copied, as readers fill one buffer again and again.
    else this.#parts.push(Buffer.from(part));
  }

  #finish(last: Buffer): string | undefined {
    const length = this.#length + last.length;
    const line =
      length > LINE_LIMIT
        ? undefined
        : this.#parts.length === 0
          ? last.toString("utf8")
          : Buffer.concat([...this.#parts, last], length).toString("utf8");
    this.#parts = [];
    this.#length = 0;
    return line;
  }
}
