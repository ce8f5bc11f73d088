/** The page: who is signed in, where they are, and the view of that. */
import "@nylorun/widget/define";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { drawOnChange } from "./model/change.ts";
import { clock } from "./model/clock.ts";
import { Desk } from "./model/desk.ts";
import { routeOf, to } from "./model/route.ts";
import type { Route } from "./model/route.ts";
import { session } from "./model/session.ts";
import { count, time } from "./model/words.ts";
import { define, LightElement } from "./part/light.ts";
import { loading, problem } from "./part/said.ts";
import "./view/now-view.ts";
import "./view/sign-in-view.ts";

/** Views that are not the first one are fetched when somebody goes there. */
const LATER: { readonly [View in Route["view"]]?: () => Promise<unknown> } = {
  task: () => import("./view/task-view.ts"),
  report: () => import("./view/report-view.ts"),
  context: () => import("./view/context-view.ts"),
  agent: () => import("./view/agent-view.ts"),
  history: () => import("./view/history-view.ts"),
  operator: () => import("./view/operator-view.ts"),
};

const TITLES: Readonly<Record<Route["view"], string>> = {
  now: "Now",
  task: "Task",
  report: "Report",
  context: "Conversation",
  agent: "Agent",
  history: "History",
  operator: "Operator",
};

export class NylorunDashboard extends LightElement {
  static override properties = {
    route: { state: true },
    loaded: { state: true },
    failed: { state: true },
    adding: { state: true },
  };
  declare route: Route;
  /** The view that can be drawn. */
  declare loaded: Route["view"];
  declare failed: string | undefined;
  declare adding: boolean;
  #desk: Desk | undefined;
  #stops: (() => void)[] = [];
  #waiting = 0;
  #told = "";

  constructor() {
    super();
    this.route = { view: "now" };
    this.loaded = "now";
    this.adding = false;
    drawOnChange(this, session, clock);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("hashchange", () => this.#go());
    // The menu closes as menus do.
    addEventListener("keydown", (event) => event.key === "Escape" && this.#closeMenu(true));
    addEventListener("pointerdown", ({ target }) => {
      if (!(target instanceof Element) || target.closest(".who") === null) this.#closeMenu(false);
    });
    void this.#begin();
  }

  async #begin(): Promise<void> {
    const [, link] = /^#link=([\w-]+)$/.exec(location.hash) ?? [];
    if (link !== undefined) {
      // Out of the address and the history, whether it opens or not: it is good for one use.
      history.replaceState(null, "", "#/");
      try {
        await session.signIn({ link });
      } catch (error) {
        await session.look();
        // Who is signed in already needs no link.
        if (session.person === null) session.why = error instanceof Error ? error.message : undefined;
        this.requestUpdate();
      }
    } else await session.look();
    this.#go();
  }

  #closeMenu(refocus: boolean): void {
    const menu = this.querySelector<HTMLDetailsElement>(".who[open]");
    menu?.removeAttribute("open");
    if (refocus) menu?.querySelector("summary")?.focus();
  }

  #go(): void {
    const route = routeOf(location.hash);
    const moves = JSON.stringify(route) !== JSON.stringify(this.route);
    this.route = route;
    this.failed = undefined;
    if (moves) this.#closeMenu(false);
    this.#title();
    const show = (): void => {
      this.loaded = route.view;
      if (moves) void this.updateComplete.then(() => this.#arrive());
    };
    const load = LATER[route.view];
    if (load === undefined) show();
    else load().then(show, () => (this.failed = "This part of the page could not be fetched. Is the Runtime running?"));
  }

  /** As a page that was loaded: from the top, and read from its heading on. */
  #arrive(): void {
    scrollTo(0, 0);
    const view = this.querySelector("main")?.querySelector("h1");
    view?.focus({ preventScroll: true });
  }

  protected override willUpdate(): void {
    const { person } = session;
    if ((person ?? undefined) === this.#desk?.person) return;
    for (const stop of this.#stops.splice(0)) stop();
    this.#desk?.close();
    this.#desk = person ? new Desk(person) : undefined;
    this.adding = false;
    this.#waiting = 0;
    this.#told = "";
    this.#title();
    if (this.#desk === undefined) return;
    const desk = this.#desk;
    let stopBoard = (): void => {};
    const watchBoard = (): void => {
      stopBoard();
      stopBoard = desk.board.onChange(() => this.#noteBoard());
    };
    watchBoard();
    this.#stops = [
      desk.onChange(() => {
        watchBoard();
        this.requestUpdate();
      }),
      () => stopBoard(),
    ];
  }

  /** The frame of the page changes with few things of the board; the views see to the rest. */
  #noteBoard(): void {
    const { board } = this.#desk!;
    const waiting = board.overview.waiting.length;
    const shown = `${waiting} ${board.isLive} ${board.isReady}`;
    if (shown === this.#told) return;
    if (board.isReady && waiting > this.#waiting && this.#told !== "") this.#say(waiting);
    this.#waiting = waiting;
    this.#told = shown;
    this.#title();
    this.requestUpdate();
  }

  #title(): void {
    const waiting = this.#waiting === 0 || session.person == null ? "" : `(${count(this.#waiting)}) `;
    document.title = `${waiting}${TITLES[this.route.view]} · Nylorun`;
  }

  #say(waiting: number): void {
    const region = this.querySelector("#says");
    if (region !== null)
      region.textContent = `${count(waiting)} ${waiting === 1 ? "task waits" : "tasks wait"} for you`;
  }

  protected override render(): TemplateResult {
    if (session.person === undefined) {
      return html`<main class="door">${session.why === undefined ? loading() : problem(session.why)}</main>`;
    }
    const desk = this.#desk;
    if (desk === undefined) {
      return html`<main class="door">
        <p class="brand"><img src=${ICON} alt="" width="28" height="28" />Nylorun</p>
        <h1>Sign in</h1>
        <sign-in></sign-in>
      </main>`;
    }
    return html`<a class="skip" href="#main" @click=${(event: Event) => this.#skip(event)}>Skip to the content</a>
      ${this.#bar(desk)}
      <main id="main" tabindex="-1">
        ${
          desk.board.isLive || !desk.board.isReady
            ? nothing
            : html`<div class="notice offline" data-tone="wait" role="status">
                <p>
                  The Runtime does not answer: this is what was known at ${time(desk.board.lostAt ?? Date.now())}. The
                  page goes on by itself as soon as it does.
                </p>
              </div>`
        }
        ${problem(this.failed, () => this.#go())} ${this.#view(desk)}
      </main>
      <p id="says" class="unseen" role="status"></p>`;
  }

  #skip(event: Event): void {
    event.preventDefault();
    this.querySelector("main")?.focus();
  }

  #bar(desk: Desk): TemplateResult {
    const { person } = desk;
    const current = (view: Route["view"]) => (this.route.view === view ? "page" : nothing);
    const waiting = desk.board.overview.waiting.length;
    return html`<header class="bar">
      <a class="brand" href=${to.now}><img src=${ICON} alt="" width="22" height="22" />Nylorun</a>
      <nav aria-label="Views">
        <a href=${to.now} aria-current=${current("now")}>Now${badge(waiting, "waiting for you")}</a>
        ${person.agents ? html`<a href=${to.history} aria-current=${current("history")}>History</a>` : nothing}
        ${person.agents && person.operator ? html`<a href=${to.operator} aria-current=${current("operator")}>Operator${badge(desk.troubles, "to resolve")}</a>` : nothing}
      </nav>
      <span class="state" data-live=${desk.board.isLive}
        >${desk.board.isLive ? "Live" : desk.board.isReady ? "Reconnecting" : "Connecting"}</span
      >
      <details class="who">
        <summary>${person.subject ?? "operator"}</summary>
        <div class="menu">
          <p>
            ${person.subject === undefined ? html`Signed in as an operator` : html`Signed in as <strong>${person.subject}</strong>${person.operator ? ", and as an operator" : ""}`}
          </p>
          ${
            person.agents && (person.subject === undefined || !person.operator)
              ? html`<button type="button" class="quiet" @click=${() => (this.adding = !this.adding)}>
                    Add ${person.operator ? "a caller’s" : "an operator’s"} key
                  </button>
                  ${this.adding ? html`<sign-in adding></sign-in>` : nothing}`
              : nothing
          }
          <button type="button" class="quiet" @click=${() => void session.signOut().catch(() => undefined)}>
            Sign out
          </button>
        </div>
      </details>
    </header>`;
  }

  #view(desk: Desk): unknown {
    const { route } = this;
    if (this.loaded !== route.view) return loading();
    switch (route.view) {
      case "now":
        return keyed(desk, html`<now-view .desk=${desk}></now-view>`);
      case "task":
        return keyed(desk, html`<task-page .desk=${desk} agent=${route.agent} .taskId=${route.taskId}></task-page>`);
      case "report":
        return keyed(
          desk,
          html`<report-page .desk=${desk} .taskId=${route.taskId} .subject=${route.subject}></report-page>`,
        );
      case "context":
        return keyed(
          desk,
          html`<context-page .desk=${desk} agent=${route.agent} .contextId=${route.contextId}></context-page>`,
        );
      case "agent":
        return keyed(desk, html`<agent-page .desk=${desk} agent=${route.agent}></agent-page>`);
      case "history":
        return keyed(desk, html`<history-page .desk=${desk}></history-page>`);
      case "operator":
        return keyed(desk, html`<operator-page .desk=${desk}></operator-page>`);
    }
  }
}

function badge(number: number, what: string): TemplateResult | typeof nothing {
  if (number === 0) return nothing;
  return html` <span class="badge"
    ><span class="unseen">, </span>${count(number)}<span class="unseen"> ${what}</span></span
  >`;
}

const ICON = new URL("./icon.svg", import.meta.url).href;

define("nylorun-dashboard", NylorunDashboard);
document.body.append(document.createElement("nylorun-dashboard"));
