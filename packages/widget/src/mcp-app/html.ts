/** The view as one file: what an MCP server serves as a resource for hosts that show MCP Apps. */
export { MCP_APP_HTML } from "../generated/mcp-app.ts";

/** Its media type, by which hosts know it. */
export const MCP_APP_MEDIA_TYPE = "text/html;profile=mcp-app";
