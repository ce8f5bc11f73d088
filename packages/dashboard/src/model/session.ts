/** Who is signed in. When nobody is (any more), everything that was shown goes. */
import { at } from "./base.ts";
import { Changing } from "./change.ts";

export interface Person {
  /** Undefined: an operator, and nobody's subject. */
  readonly subject?: string;
  readonly operator: boolean;
  /** Whether there are agents to call, or progress alone. */
  readonly agents: boolean;
  readonly traceUrl?: string;
}

/** What the Runtime said to a request that it did not do, in its own words. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** For one answer, in milliseconds. */
const PATIENCE = 30_000;
/** How often it is asked whether the session still is one, in milliseconds: a stream that is open already goes on for longer. */
const CHECKED = 30_000;

class Session extends Changing {
  /** Undefined: not known yet; null: nobody. */
  person: Person | null | undefined;
  /** Why nobody is, if it was not wished. */
  why: string | undefined;
  readonly #tabs = new BroadcastChannel("nylorun-session");

  constructor() {
    super();
    this.#tabs.addEventListener("message", () => void this.look());
    setInterval(() => {
      if (this.person) void this.look();
    }, CHECKED);
    // A page that comes back out of the browser's history may show what was signed out of.
    addEventListener("pageshow", (event) => event.persisted && location.reload());
  }

  /** Asks who is signed in. */
  async look(): Promise<void> {
    try {
      this.#is((await call("GET", "dashboard/session")) as Person);
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) {
        if (this.person) this.ended();
        else this.#is(null);
      } else if (this.person === undefined) {
        this.why = "The Runtime does not answer. This page tries again by itself.";
        this.changed();
        setTimeout(() => void this.look(), 2_000);
      }
    }
  }

  /** @throws Refusal. */
  async signIn(how: { readonly key: string } | { readonly link: string }): Promise<void> {
    this.why = undefined;
    this.#is((await call("POST", "dashboard/session", how)) as Person);
    this.#tabs.postMessage("changed");
  }

  async signOut(): Promise<void> {
    await call("DELETE", "dashboard/session");
    this.#tabs.postMessage("changed");
    this.#is(null);
  }

  /** The session is over: its key was revoked, or its time. */
  ended(): void {
    if (this.person === null) return;
    this.why = "You have been signed out: the key was revoked, or the session is over.";
    this.#is(null);
  }

  #is(person: Person | null): void {
    // The same person stays the same object: what hangs on it is kept.
    if (person === null || JSON.stringify(person) !== JSON.stringify(this.person)) this.person = person;
    // At once, in pages that nobody sees as well: they must hold nothing of who signed out.
    this.tell();
  }
}

export const session = new Session();

/** Asks the Runtime something that is not A2A. @throws Refusal; TypeError when it does not answer. */
export async function call(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(at(path), {
    method,
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
    ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
  });
  if (response.status === 204) return undefined;
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer;
  const { code = "unknown", message = `The Runtime answered ${response.status}.` } =
    (answer as { readonly error?: { readonly code?: string; readonly message?: string } } | undefined)?.error ?? {};
  if (response.status === 401 && !path.startsWith("dashboard/")) session.ended();
  throw new Refusal(response.status, code, message);
}

/** An error in words for a person. */
export function saying(error: unknown): string {
  if (error instanceof TypeError) return "The Runtime does not answer. Is it running?";
  return error instanceof Error ? error.message : String(error);
}
