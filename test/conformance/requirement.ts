/**
 * A requirement: one sentence of a contract, in our own words, and how it is answered.
 *
 * | answer      | means                                                         | a test says                          |
 * |-------------|---------------------------------------------------------------|--------------------------------------|
 * | kept        | it holds                                                      | `// keeps: ID`: fails when it does not |
 * | deviates    | it does not hold, on purpose, for the reason given            | `// deviates: ID`: fails when it does  |
 * | left        | nobody but the one who is named can keep it                   | nothing                              |
 *
 * The comment stands right above the test, or above the group of tests. `npm run conformance` reads them.
 */

/** RFC 2119's. What our own contracts say is a MUST. */
export type Level = "MUST" | "SHOULD" | "MAY";

/** A contract. */
export interface Document {
  /** What the ids of its requirements begin with. */
  readonly prefix: string;
  readonly name: string;
  /** Where it is read: a path from the root of the repository, or a URL. */
  readonly at: string;
}

export type Answer =
  | { readonly kind: "kept"; readonly how: string | undefined }
  | { readonly kind: "deviates"; readonly why: string }
  | { readonly kind: "left"; readonly to: string };

export interface Requirement {
  /** `<document>-<section>-<slug>`: what tests cite. */
  readonly id: string;
  readonly level: Level;
  readonly text: string;
  readonly answer: Answer;
  /** The ids of the official test kit that check the same. */
  readonly tck: readonly string[];
}

export interface Section {
  readonly document: Document;
  /** As the document numbers or names it. */
  readonly number: string;
  readonly title: string;
  readonly requirements: readonly Requirement[];
}

/** What is said of a requirement beside its text. Without `deviates` and `left` it is kept. */
export interface Said {
  /** What we do, where that is worth more than "yes". */
  readonly how?: string;
  /** Why it does not hold. */
  readonly deviates?: string;
  /** Who keeps it, and how. */
  readonly left?: string;
  readonly tck?: readonly string[];
}

interface Draft extends Said {
  readonly level: Level;
  readonly text: string;
}

export const must = (text: string, said: Said = {}): Draft => ({ level: "MUST", text, ...said });
export const should = (text: string, said: Said = {}): Draft => ({ level: "SHOULD", text, ...said });
export const may = (text: string, said: Said = {}): Draft => ({ level: "MAY", text, ...said });

/** @param drafts By the last part of their ids. */
export function section(
  document: Document,
  [number, title]: readonly [string, string],
  drafts: Readonly<Record<string, Draft>>,
): Section {
  const requirements = Object.entries(drafts).map(([slug, { level, text, tck = [], ...said }]) => {
    const id = [document.prefix, number, slug].filter((part) => part !== "").join("-");
    if (!/^[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(id)) throw new Error(`"${id}" is no id of a requirement`);
    return { id, level, text, answer: answerOf(said), tck };
  });
  return { document, number, title, requirements };
}

function answerOf({ how, deviates, left }: Said): Answer {
  if (deviates !== undefined) return { kind: "deviates", why: deviates };
  if (left !== undefined) return { kind: "left", to: left };
  return { kind: "kept", how };
}
