/**
 * Serves one client over standard input and output, and ends with it: when input ends or output breaks (P11). A signal ends the
 * process at once, as signals do: what was answered is stored.
 */
import type { Writable } from "node:stream";

import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { Sink, sinkFolder } from "@nylorun/progress";

import { Ledger } from "./ledger.ts";
import { createServer } from "./server.ts";

/** How long answers that the client has not taken yet may keep the process, in milliseconds. */
const LAST_WORDS = 500;

/** @param output The way to the client. */
export function serve(output: Writable): void {
  const warn = (text: string): void => void process.stderr.write(`nylorun-mcp-server: ${text}\n`);
  const sink = new Sink({ folder: sinkFolder(process.env), warn });
  const ledger = new Ledger({ sink, agent: process.env["UAPB_AGENT"] });
  const transport = new Connection(output, () => {
    sink[Symbol.dispose]();
    setTimeout(() => process.exit(), LAST_WORDS);
    output.write("", () => process.exit());
  });
  serveStdio(() => createServer(ledger), { transport, onerror: ({ message }) => warn(message) });
}

/** The SDK's transport, which tells nobody but the SDK that it is closed. */
class Connection extends StdioServerTransport {
  #closed: (() => void) | undefined;

  constructor(output: Writable, closed: () => void) {
    super(process.stdin, output);
    this.#closed = closed;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#closed?.();
    this.#closed = undefined;
  }
}
