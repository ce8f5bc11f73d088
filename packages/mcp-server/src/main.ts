/** The process: what `npx @nylorun/mcp-server` runs. */
import { FOLDER_VARIABLE, sinkFolder } from "@nylorun/progress";

import { takeStandardOutput } from "./output.ts";

const HELP = `nylorun-mcp-server: an MCP server with which an agent reports its progress (report_progress, get_status).

It speaks MCP over standard input and output, so it is started by an MCP host. For Claude Code:

  claude mcp add progress -- npx -y @nylorun/mcp-server

Reports are kept in ${sinkFolder({})}, one file a day, for 7 days.
Watch them with "npx -y @nylorun/runtime watch".

Environment:
  UAPB_AGENT                  names the agent; without it, what its task ids begin with does
  ${FOLDER_VARIABLE}   keeps the reports in another folder
`;

if (process.argv.includes("--help")) process.stdout.write(HELP);
else {
  if (process.stdin.isTTY) process.stderr.write(`${HELP}\nWaiting for a client on standard input; Ctrl-C ends this.\n`);
  // Before the rest is loaded: that, too, may print what it likes.
  const output = takeStandardOutput();
  const { serve } = await import("./serve.ts");
  serve(output);
}
