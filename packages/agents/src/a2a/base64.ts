/** Bytes as base64 and back, as every runtime can do it. */

/** @throws DOMException for what is no base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function encodeBase64(bytes: Uint8Array): string {
  let characters = "";
  // One call for all bytes would have more arguments than a call may have.
  for (let at = 0; at < bytes.length; at += 8192) {
    characters += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(characters);
}
