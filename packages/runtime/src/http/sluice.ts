/**
 * Lets through so much at a time, in order. What is made of a large body on its way to the disk is ten times its size: those that have
 * come in wait here for one another, not all in memory as everything that becomes of them.
 */
export class Sluice {
  readonly #line: (() => void)[] = [];
  readonly #capacity: number;
  #inside = 0;

  /** @param capacity In bytes. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Resolves when there is room for so many bytes, or nothing else is inside, with what makes that room again. */
  async enter(bytes: number): Promise<() => void> {
    if (this.#line.length > 0 || !this.#fits(bytes)) {
      await new Promise<void>((resolve) => {
        this.#line.push(() => {
          if (!this.#fits(bytes)) return;
          this.#line.shift();
          this.#inside += bytes;
          resolve();
        });
      });
    } else this.#inside += bytes;
    this.#line[0]?.();
    return () => {
      this.#inside -= bytes;
      this.#line[0]?.();
    };
  }

  #fits(bytes: number): boolean {
    return this.#inside === 0 || this.#inside + bytes <= this.#capacity;
  }
}
