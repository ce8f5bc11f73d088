/**
 * The view's side of MCP Apps (2026-01-26): JSON-RPC 2.0 with the window that embeds it.
 *
 * Written out rather than taken from the official SDK, whose view side brings MCP's whole schema library along: 650 kB in each of
 * the views that a conversation may show, against two. The tests show it in the SDK's host side.
 */
const PROTOCOL_VERSION = "2026-01-26";

type Params = Readonly<Record<string, unknown>>;

interface Message {
  readonly jsonrpc: "2.0";
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: unknown;
}

/** What a host says about itself. */
export interface HostContext {
  readonly theme?: string;
  readonly locale?: string;
  readonly styles?: { readonly variables?: Readonly<Record<string, string | undefined>> };
}

export interface HostListener {
  /** At the beginning, and with what changed. */
  context(context: HostContext): void;
  /** A tool's result: that of the call that this view is shown for. */
  result(result: Params): void;
}

export class Host {
  readonly #listener: HostListener;
  readonly #waiting = new Map<number, (result: Params | undefined) => void>();
  /** Not known before the host's first answer, which is why the first word, which tells nothing, goes to anybody. */
  #origin = "*";
  #ids = 0;
  #callsTools = false;

  constructor(listener: HostListener) {
    this.#listener = listener;
    addEventListener("message", (message) => this.#receive(message));
  }

  async connect(version: string): Promise<void> {
    const answer = await this.#request("ui/initialize", {
      protocolVersion: PROTOCOL_VERSION,
      appInfo: { name: "agent-progress", version },
      appCapabilities: {},
    });
    const { hostCapabilities, hostContext } = (answer ?? {}) as {
      hostCapabilities?: Params;
      hostContext?: HostContext;
    };
    this.#callsTools = hostCapabilities?.["serverTools"] !== undefined;
    this.#listener.context(hostContext ?? {});
    this.notify("ui/notifications/initialized", {});
  }

  notify(method: string, params: Params): void {
    this.#post({ jsonrpc: "2.0", method, params });
  }

  /** @returns undefined when the host does not let views call tools, or the call failed. */
  async callTool(name: string, args: Params): Promise<Params | undefined> {
    if (!this.#callsTools) return undefined;
    return await this.#request("tools/call", { name, arguments: args });
  }

  async #request(method: string, params: Params): Promise<Params | undefined> {
    const id = ++this.#ids;
    const { promise, resolve } = Promise.withResolvers<Params | undefined>();
    this.#waiting.set(id, resolve);
    this.#post({ jsonrpc: "2.0", id, method, params });
    return await promise;
  }

  #receive({ source, origin, data }: MessageEvent<unknown>): void {
    const message = (data ?? {}) as Message;
    if (source !== parent || message.jsonrpc !== "2.0") return;
    if (this.#origin !== "*" && origin !== this.#origin) return;
    const { id, method, params = {} } = message;
    if (method === undefined) {
      // A sandboxed host has no origin that it could be addressed by.
      if (origin !== "null") this.#origin = origin;
      this.#waiting.get(id as number)?.(message.error === undefined ? message.result : undefined);
      this.#waiting.delete(id as number);
    } else if (id !== undefined) this.#answer(id, method);
    else if (method === "ui/notifications/tool-result") this.#listener.result(params);
    else if (method === "ui/notifications/host-context-changed") this.#listener.context(params);
  }

  /** There is nothing to be done before the view is taken down. */
  #answer(id: number | string, method: string): void {
    const known = method === "ping" || method === "ui/resource-teardown";
    this.#post({
      jsonrpc: "2.0",
      id,
      ...(known ? { result: {} } : { error: { code: -32601, message: `Method not found: ${method}` } }),
    });
  }

  #post(message: Message): void {
    parent.postMessage(message, this.#origin);
  }
}
