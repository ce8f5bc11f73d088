/**
 * How JSON Schema counts the length of a string: code points, not UTF-16 units. Bundled into the generated validators in place
 * of Ajv's own, which carries its source text along.
 */
export default function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count--;
      i++;
    }
  }
  return count;
}
