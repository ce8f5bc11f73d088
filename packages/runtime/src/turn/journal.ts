/**
 * The append-only record of what a turn asked for and what came back, in the order in which it happened (E1).
 */

export type Entry = { readonly kind: "mark"; readonly mark: "said"; readonly text: string };
