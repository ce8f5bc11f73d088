/** Conditional requests and ranges (RFC 9110, sections 13 and 14) for what has a strong entity tag and never changes. Pure. */
import type { ByteRange } from "../files/blob.ts";

export interface Representation {
  /** With its quotes. Strong. */
  readonly etag: string;
  /** Bytes. */
  readonly size: number;
}

export type Conditioned =
  | { readonly status: 200; readonly range?: undefined }
  | { readonly status: 206; readonly range: ByteRange }
  /** Not modified; a condition that fails; a range that is not there. */
  | { readonly status: 304 | 412 | 416 };

/** In the order of section 13.2.2. There is no moment of change here: conditions on one are as if they were not there. */
export function answerConditions(headers: Headers, { etag, size }: Representation): Conditioned {
  const ifMatch = headers.get("if-match");
  if (ifMatch !== null && !lists(ifMatch, etag, "strong")) return { status: 412 };
  const ifNoneMatch = headers.get("if-none-match");
  if (ifNoneMatch !== null && lists(ifNoneMatch, etag, "weak")) return { status: 304 };
  const range = headers.get("range");
  const ifRange = headers.get("if-range");
  if (range === null || (ifRange !== null && ifRange.trim() !== etag)) return { status: 200 };
  return rangeOf(range, size);
}

/** A weak comparison does not look at whether one of them says it is weak (section 8.8.3.2). */
function lists(header: string, etag: string, comparison: "strong" | "weak"): boolean {
  if (header.trim() === "*") return true;
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => (comparison === "weak" ? tag.replace(/^W\//, "") : tag) === etag);
}

/** One range is served. Several, another unit, or no range at all, are answered with the whole (section 14.2). */
function rangeOf(header: string, size: number): Conditioned {
  const [, first = "", last = ""] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header.trim()) ?? [];
  if (first === "" && last === "") return { status: 200 };
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? { status: 416 } : { status: 206, range: { first: size - length, last: size - 1 } };
  }
  if (last !== "" && Number(last) < Number(first)) return { status: 200 };
  if (Number(first) >= size) return { status: 416 };
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  return { status: 206, range: { first: Number(first), last: end } };
}
