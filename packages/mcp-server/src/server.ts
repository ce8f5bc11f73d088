/** The MCP server: the two tools over a ledger. How its bytes travel is not its business. */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";

import { McpServer } from "@modelcontextprotocol/server";
import type { CallToolResult, StandardSchemaWithJSON } from "@modelcontextprotocol/server";

import type { Ledger } from "./ledger.ts";
import { GET_STATUS, INSTRUCTIONS, REPORT_PROGRESS } from "./tools.ts";
import { linkToView, VIEW } from "./view.ts";

/** Tasks that one answer holds. */
const STATUS_LIMIT = 100;

/**
 * A server for one connection. Several may share a ledger.
 *
 * It sends no `notifications/progress`, though a client gives a token: calls are answered at once, and a client that reads the
 * notification together with the answer takes the token for unknown, at which some hosts close the connection (P10).
 */
export function createServer(ledger: Ledger): McpServer {
  const server = new McpServer(
    { name: "agent-progress", title: "Agent progress", version: version() },
    { instructions: INSTRUCTIONS, capabilities: { tools: { listChanged: false }, resources: { listChanged: false } } },
  );
  server.registerTool("report_progress", { ...schemas(REPORT_PROGRESS), _meta: linkToView("model") }, async (report) =>
    structured({ ...(await ledger.report(report)) }),
  );
  server.registerTool("get_status", { ...schemas(GET_STATUS), _meta: linkToView("model", "app") }, (input) => {
    const tasks = ledger.status(taskIdOf(input));
    return structured({ tasks: tasks.slice(0, STATUS_LIMIT), total: tasks.length });
  });
  server.registerResource(VIEW.name, VIEW.uri, VIEW.metadata, () => ({ contents: [...VIEW.contents] }));
  return server;
}

/** For clients that read structured content, and, for those that do not, the same as text. */
function structured(content: Record<string, unknown>): CallToolResult {
  return {
    structuredContent: content,
    content: [{ type: "text", text: JSON.stringify(content) }],
  };
}

function taskIdOf(input: unknown): string | undefined {
  const { task_id: id } = input as { readonly task_id?: unknown };
  if (id === undefined || id === null) return undefined;
  if (typeof id !== "string") throw new TypeError(`task_id must be a string, or left out; it is a ${typeof id}`);
  return id;
}

interface Tool {
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema: Record<string, unknown>;
}

function schemas<Described extends Tool>(tool: Described) {
  return { ...tool, inputSchema: advertised(tool.inputSchema), outputSchema: advertised(tool.outputSchema) };
}

/**
 * A schema that is shown as it is and checked by nobody: what a report must be is `normalizeReport`'s to say, the same for
 * every way in and in words that help.
 */
function advertised(schema: Record<string, unknown>): StandardSchemaWithJSON {
  return {
    "~standard": {
      version: 1,
      vendor: "nylorun",
      validate: (value) => ({ value }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

function version(): string {
  const path = findPackageJSON("..", import.meta.url) ?? "";
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
