/** 128 random bits as 32 hexadecimal digits. `crypto.randomUUID` is missing where a page is served without TLS. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
