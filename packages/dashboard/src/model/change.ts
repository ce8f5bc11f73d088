/** What changes, and who wants to know: at most once for each frame that is drawn. */
import type { ReactiveControllerHost } from "lit";

/** How late a page that nobody sees is told, in milliseconds. */
const HIDDEN = 1_000;

export class Changing {
  readonly #listeners = new Set<() => void>();
  #told = true;

  /** Calls `listener` after each change, until what is returned is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  protected changed(): void {
    if (!this.#told) return;
    this.#told = false;
    // A page that nobody sees draws no frames, and has to count in its title all the same.
    if (document.hidden) setTimeout(() => this.tell(), HIDDEN);
    else requestAnimationFrame(() => this.tell());
  }

  /** Tells at once. */
  protected tell(): void {
    this.#told = true;
    for (const listener of this.#listeners) listener();
  }
}

/** Draws an element again whenever one of these changes, for as long as it is in the page. */
export function drawOnChange(host: ReactiveControllerHost, ...what: readonly Changing[]): void {
  let stops: readonly (() => void)[] = [];
  host.addController({
    hostConnected: () => (stops = what.map((one) => one.onChange(() => host.requestUpdate()))),
    hostDisconnected: () => stops.forEach((stop) => stop()),
  });
}
