/** Where the Runtime is: the page is at `<base>/dashboard/`, whatever stands before it. */
export const BASE = new URL("../", document.baseURI);

/** An address of the Runtime. */
export function at(path: string): URL {
  return new URL(path, BASE);
}
