/** The least an MCP server can be: the SDK's own stdio, and one tool that answers what it was given. */
import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

serveStdio(() => {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: fromJsonSchema({ type: "object" }) }, (input) => ({
    content: [{ type: "text", text: JSON.stringify(input) }],
  }));
  return server;
});
