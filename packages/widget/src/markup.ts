/**
 * The element as markup, for a server to put into a page: drawn before any script runs, and taken over by the element without a
 * flash.
 */
import type { ProgressEvent } from "@nylorun/protocol";

import { attributeOf, FIELDS } from "./fields.ts";
import { filling, PARTS, PLACES, SKELETON } from "./skeleton.ts";
import type { Attributes, Node } from "./skeleton.ts";
import { STYLE } from "./style.ts";
import { viewOf } from "./view.ts";
import { ENGLISH } from "./words.ts";

export interface MarkupOptions {
  /** Names the bar; default: the task's id. */
  readonly label?: string;
  readonly size?: "full" | "compact";
  readonly quiet?: boolean;
  /** Of the page's content security policy, for the style; without one the policy has to allow inline styles. */
  readonly nonce?: string;
}

/** `<agent-progress>` with the event as attributes and, as declarative shadow DOM, what it looks like. */
export function markup(event: ProgressEvent, { label, size = "full", quiet, nonce }: MarkupOptions = {}): string {
  const view = viewOf(event, { words: ENGLISH, now: undefined, label: label ?? "" });
  const host: Record<string, string | null> = { label: label ?? null, size, quiet: quiet === true ? "" : null };
  for (const field of FIELDS) host[attributeOf(field)] = event[field] == null ? null : String(event[field]);
  const style = `<style${write({ nonce: nonce ?? null })}>${STYLE}#fill{translate:${view.fill - 100}%}</style>`;
  const filled: Record<string, Record<string, string | null>> = {};
  const values = filling(view, size === "compact");
  for (const [index, [name, key]] of PLACES.entries()) (filled[name] ??= {})[key] = values[index] ?? null;
  const tree = element(SKELETON, filled);
  return `<agent-progress${write(host)}><template shadowrootmode="open">${style}${tree}</template></agent-progress>`;
}

function element(
  [name, tag, attributes = {}, children = []]: Node,
  filled: Readonly<Record<string, Attributes>>,
): string {
  const { text = "", ...own } = filled[name] ?? {};
  const all = { ...attributes, id: name, part: PARTS.includes(name) ? name : null, ...own };
  return `<${tag}${write(all)}>${escaped(text ?? "")}${children.map((child) => element(child, filled)).join("")}</${tag}>`;
}

function write(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => (value === null ? "" : ` ${name}="${escaped(value)}"`))
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
