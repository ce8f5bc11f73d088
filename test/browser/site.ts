/** A web server for pages of tests, on loopback: what is served at which path, and with which headers. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Answer {
  readonly body: string;
  /** Default: by the path's ending, else HTML. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Hosts called `something.test` lead to loopback in a browser that is started with these, so that a page may have any origin
 * while nothing leaves the machine.
 */
export const TEST_HOSTS = ["--host-resolver-rules=MAP *.test 127.0.0.1"];

export class Site implements AsyncDisposable {
  readonly #server = createServer();
  readonly #answers = new Map<string, Answer>();
  /** `METHOD /path` of each request that came. */
  readonly requests: string[] = [];

  private constructor() {
    this.#server.on("request", (request, response) => {
      const path = URL.parse(request.url ?? "", "http://site.test")?.pathname ?? "";
      this.requests.push(`${request.method} ${path}`);
      const answer = this.#answers.get(path);
      const type = answer?.type ?? (path.endsWith(".js") ? "text/javascript" : "text/html");
      response.writeHead(answer === undefined ? 404 : 200, {
        "content-type": `${type}; charset=utf-8`,
        ...answer?.headers,
      });
      response.end(answer?.body);
    });
  }

  static async open(answers: Readonly<Record<string, Answer | string>> = {}): Promise<Site> {
    const site = new Site();
    site.serve(answers);
    await new Promise<void>((resolve) => site.#server.listen(0, "127.0.0.1", resolve));
    return site;
  }

  serve(answers: Readonly<Record<string, Answer | string>>): void {
    for (const [path, answer] of Object.entries(answers)) {
      this.#answers.set(path, typeof answer === "string" ? { body: answer } : answer);
    }
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** @param host One that leads to loopback. */
  origin(host = "127.0.0.1"): string {
    return `http://${host}:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
