/**
 * Text from an agent on its way to a terminal, a page or a log: one line of printable characters, whatever it was.
 */

/* oxlint-disable no-control-regex -- control characters are what this is about */

/**
 * What a terminal takes as a command (ECMA-48): sequences with parameters (CSI), strings up to their end (OSC, DCS, SOS, PM, APC),
 * and short ones. Each alternative stops where another could begin, so that hostile text is read once.
 */
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/g;

/** Line ends, tabs and the like divide words. */
const SPACING = /[\t-\r\x85\u2028\u2029]+/g;

/** Other controls, and what makes text run the wrong way: embeddings, overrides, isolates. */
const UNPRINTABLE = /[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/* oxlint-enable no-control-regex */

/**
 * Takes out ANSI escapes, control characters and bidi overrides; line breaks and tabs become a space; halves of surrogate pairs
 * become U+FFFD; spaces at the ends go. Doing it again changes nothing.
 *
 * @param limit Characters (code points) that are kept at most. No character is cut in half.
 */
export function plainText(text: string, limit = Infinity): string {
  const plain = text.replaceAll(ESCAPES, "").replaceAll(SPACING, " ").replaceAll(UNPRINTABLE, "").toWellFormed().trim();
  return cutText(plain, limit);
}

function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let end = 0;
  for (let count = 0; count < limit && end < text.length; count++) {
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end).trimEnd();
}
