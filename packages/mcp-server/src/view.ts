/** The bar that hosts of MCP Apps show for the results of both tools. It asks `get_status` when it is shown again, and nothing else. */
import { MCP_APP_HTML, MCP_APP_MEDIA_TYPE } from "@nylorun/widget/mcp-app";

const URI = "ui://agent-progress/bar.html";

/** On a tool: the view of its results, by today's key and by the one that older hosts read. */
export function linkToView(...visibility: readonly ("model" | "app")[]): Record<string, unknown> {
  return { ui: { resourceUri: URI, visibility }, "ui/resourceUri": URI };
}

export const VIEW = {
  name: "bar",
  uri: URI,
  metadata: { title: "Progress bar", description: "Shows how far a task is.", mimeType: MCP_APP_MEDIA_TYPE },
  contents: [
    // It needs no network, so it asks for none.
    { uri: URI, mimeType: MCP_APP_MEDIA_TYPE, text: MCP_APP_HTML, _meta: { ui: { prefersBorder: true } } },
  ],
} as const;
