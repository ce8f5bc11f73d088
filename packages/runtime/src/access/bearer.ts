/** The token of an `Authorization` header whose scheme, in any case, is Bearer (RFC 6750, section 2.1). */
export function bearerToken(header: string | null): string | undefined {
  return header === null ? undefined : /^bearer +([^\s,]+) *$/i.exec(header)?.[1];
}
