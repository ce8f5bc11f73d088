/** What the element is made of, and how a view fills it: the same for the element and for markup made on a server. */
import type { View } from "./view.ts";

export const SVG = "http://www.w3.org/2000/svg";

export type Attributes = Readonly<Record<string, string | null>>;

/** One element of the shadow tree: its name (also its part), tag, lasting attributes, children. */
export type Node = readonly [name: string, tag: string, attributes?: Attributes, children?: readonly Node[]];

const HIDDEN: Attributes = { "aria-hidden": "true" };
/** Each text runs as its own words do, whichever way the page runs. */
const AUTO: Attributes = { dir: "auto" };

/**
 * The live regions are there from the start, and only their text changes: one that is put in together with its text is not
 * announced. Percent and time are part of the bar's spoken value, so they are not read a second time.
 */
export const SKELETON: Node = [
  "base",
  "div",
  {},
  [
    [
      "head",
      "div",
      {},
      [
        ["icon", "svg", { ...HIDDEN, viewBox: "0 0 16 16" }, [["shape", "path"]]],
        ["stage", "span", AUTO],
        [
          "alert",
          "span",
          { role: "alert" },
          [
            ["whose", "span"],
            ["what", "span", AUTO],
          ],
        ],
        ["percent", "span", HIDDEN],
      ],
    ],
    ["bar", "div", { role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" }, [["fill", "div"]]],
    [
      "foot",
      "div",
      {},
      [
        ["note", "span", AUTO],
        ["time", "span", { ...HIDDEN, ...AUTO }],
      ],
    ],
    ["said", "span", { role: "status" }],
  ],
];

/** The parts that a page may style; the others are the element's own. */
export const PARTS = ["base", "icon", "stage", "alert", "percent", "bar", "fill", "note", "time"];

const DISC = "M8 1a7 7 0 1 0 0 14A7 7 0 1 0 8 1z";

/** Told apart by shape: a ring, an open ring around a dot, two bars, a tick cut out of a disc, a cross cut out of an octagon. */
const SHAPES = {
  started: `${DISC}M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 1 1 8 2.8z`,
  running: "M8 1a7 7 0 1 1-7 7h1.8A5.2 5.2 0 1 0 8 2.8zM8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6z",
  paused: "M3 2h3.6v12H3zM9.4 2H13v12H9.4z",
  done: `${DISC}M6.9 11.7L3.4 8.2l1.3-1.3 2.2 2.2 4.5-4.5 1.3 1.3z`,
  error:
    "M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1zM5.2 6.4L6.8 8 5.2 9.6l1.2 1.2L8 9.2l1.6 1.6 1.2-1.2L9.2 8l1.6-1.6-1.2-1.2L8 6.8 6.4 5.2z",
} as const;

/** Where the values of a filling go: the text (`text`) or an attribute of an element. */
export const PLACES: readonly (readonly [name: string, key: string])[] = [
  ["base", "data-status"],
  ["base", "data-stale"],
  ["base", "data-unknown"],
  ["base", "title"],
  ["shape", "d"],
  ["stage", "text"],
  ["whose", "text"],
  ["what", "text"],
  ["percent", "text"],
  ["bar", "aria-label"],
  ["bar", "aria-valuenow"],
  ["bar", "aria-valuetext"],
  ["note", "text"],
  ["time", "text"],
];

/** What changes with each view, place by place; null: no such attribute. */
export function filling(view: View, compact: boolean): readonly (string | null)[] {
  const unknown = view.percent === undefined;
  return [
    view.status,
    view.stale ? "" : null,
    unknown ? "" : null,
    // Where texts are cut off, the pointer still finds them.
    compact ? view.stage + view.alert : null,
    SHAPES[view.status],
    view.stage,
    view.alert && `${view.name}: `,
    view.alert,
    view.percentText,
    view.name,
    unknown ? null : `${view.percent}`,
    view.spoken,
    view.note,
    view.time,
  ];
}
