import { nextShown } from "@nylorun/protocol";
import type { ProgressEvent } from "@nylorun/protocol";

import { Announcer } from "./announcer.ts";
import { attributeOf, FIELDS } from "./fields.ts";
import { filling, PARTS, PLACES, SKELETON, SVG } from "./skeleton.ts";
import type { Node } from "./skeleton.ts";
import { STYLE } from "./style.ts";
import { viewOf } from "./view.ts";
import type { LooseEvent } from "./view.ts";
import { ENGLISH } from "./words.ts";
import type { Words } from "./words.ts";

/** Where there is no DOM (a server), the module still loads; only making an element would fail. */
const Base = globalThis.HTMLElement ?? (Object as unknown as typeof HTMLElement);

/** Adopted, not written into the tree: no page's content security policy stands in its way. */
let sheet: CSSStyleSheet | undefined;

/** The tip lights up for an event, but not again within this time, in milliseconds: many bars that all glow cost too much. */
const GLOW_MS = 2000;

/**
 * A bar, a countdown and a stage for one task of one agent. It has no timers and asks for nothing: the page sets `event` each time
 * one comes, and if it wants ages to be shown, `now` once in a while.
 */
export class AgentProgress extends Base {
  static readonly observedAttributes = [...FIELDS.map(attributeOf), "label", "quiet", "size"];

  #event: ProgressEvent | null = null;
  #now: number | null = null;
  #words = ENGLISH;
  readonly #announcer = new Announcer();
  /** The elements of the shadow tree by name; empty until the element is first connected. */
  readonly #parts = new Map<string, Element>();
  #filled: readonly (string | null)[] = [];
  #leaps = false;
  /** Whether the task that is shown has not been rendered yet: nothing of it changes, then. */
  #fresh = true;
  #updating = false;
  #fill = 0;
  #events = 0;
  #glowedAt = -Infinity;
  #turns = 0;

  /**
   * The event that is shown. Set every event of the task as it comes: the first `done` or `error` stays until a `started`. An event
   * of another task begins anew; null goes back to the attributes.
   */
  get event(): ProgressEvent | null {
    return this.#event;
  }
  set event(event: ProgressEvent | null) {
    const shown = this.#event ?? undefined;
    const same = event?.task_id === shown?.task_id;
    if (!same) {
      this.#announcer.reset();
      this.#fresh = true;
    }
    this.#event = event && nextShown(same ? shown : undefined, event);
    this.#events += 1;
    const now = performance.now();
    if (now - this.#glowedAt >= GLOW_MS) {
      this.#glowedAt = now;
      this.#alternate("data-beat");
    }
    this.#update();
  }

  /**
   * Milliseconds since 1970 by the clock that stamps the events. From then on the countdown runs and silences show, as often as the
   * page sets it. Null: neither.
   */
  get now(): number | null {
    return this.#now;
  }
  set now(now: number | null) {
    this.#now = now;
    this.#update();
  }

  /** The words it says; those that are not given are English. */
  get words(): Words {
    return this.#words;
  }
  set words(words: Partial<Words>) {
    this.#words = { ...ENGLISH, ...words };
    this.#update();
  }

  connectedCallback(): void {
    if (this.#parts.size > 0) return;
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const base = root.getElementById("base");
    // Made by a server: taken over as it is, so that nothing flashes and nothing is announced.
    if (base === null) root.replaceChildren(grow(SKELETON));
    for (const part of root.querySelectorAll("[id]")) this.#parts.set(part.id, part);
    if (sheet === undefined) (sheet = new CSSStyleSheet()).replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    // Set before the element was defined, such a property hides the accessor.
    const early = this as Record<string, unknown>;
    for (const name of ["words", "now", "event"]) {
      if (!Object.hasOwn(this, name)) continue;
      const value = early[name];
      Reflect.deleteProperty(this, name);
      early[name] = value;
    }
    this.#render();
    // Its own style has done its service; the fill is set by now.
    root.querySelector("style")?.remove();
  }

  attributeChangedCallback(): void {
    this.#update();
  }

  /** Renders once for all that is set in one go, before the next frame. */
  #update(): void {
    if (this.#updating || this.#parts.size === 0) return;
    this.#updating = true;
    queueMicrotask(() => {
      this.#updating = false;
      this.#render();
    });
  }

  #render(): void {
    const view = viewOf(this.#event ?? this.#attributes(), {
      words: this.#words,
      now: this.#now ?? undefined,
      label: this.getAttribute("label") ?? "",
    });
    const last = this.#filled;
    const next = filling(view, this.getAttribute("size") === "compact");
    for (let index = 0; index < PLACES.length; index += 1) {
      const [name, key] = PLACES[index]!;
      const value = next[index]!;
      if (value !== last[index]) write(this.#parts.get(name)!, key, value);
      if (name === "stage" && value !== last[index] && !this.#fresh) this.#alternate("data-tick");
    }
    // A small step needs no transition to be followed, and many bars that take many small ones could not afford it.
    const leaps = Math.abs(view.fill - this.#fill) > 2;
    if (leaps !== this.#leaps) this.#parts.get("base")!.toggleAttribute("data-leap", (this.#leaps = leaps));
    (this.#parts.get("fill") as HTMLElement).style.translate = `${(this.#fill = view.fill) - 100}%`;
    if (view.status === "running")
      this.#parts.get("shape")!.setAttribute("transform", `rotate(${this.#events * 45} 8 8)`);
    this.#filled = next;
    this.#fresh = false;
    const said = this.#announcer.next(view, this.#words, performance.now());
    if (said !== undefined && !this.hasAttribute("quiet")) write(this.#parts.get("said")!, "text", said);
  }

  /** The event of the simple case. */
  #attributes(): LooseEvent {
    const event: Record<string, unknown> = {};
    for (const field of FIELDS) {
      const value = this.getAttribute(attributeOf(field));
      event[field] =
        value !== null && (field === "percent" || field === "eta_seconds") ? Number.parseFloat(value) : value;
    }
    return event;
  }

  /** Between two animations that look alike: that starts one anew. */
  #alternate(attribute: string): void {
    this.#parts.get("base")?.setAttribute(attribute, `${this.#turns++ % 2}`);
  }
}

function grow([name, tag, attributes = {}, children = []]: Node): Element {
  const element = tag === "svg" || tag === "path" ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]!);
  element.id = name;
  if (PARTS.includes(name)) element.setAttribute("part", name);
  element.append(...children.map(grow));
  return element;
}

function write(element: Element, key: string, value: string | null): void {
  const text = element.firstChild;
  if (key !== "text") {
    if (value === null) element.removeAttribute(key);
    else element.setAttribute(key, value);
  }
  // A live region that gets the text that it has would say it again.
  else if (element.textContent !== value) {
    if (text === null) element.textContent = value;
    else text.nodeValue = value;
  }
}
