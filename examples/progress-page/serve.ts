/**
 * A page that shows what the agents on this machine report: plain HTML at `/`, the same with React at `/react`.
 *
 *     node examples/progress-page/serve.ts [PORT]
 *
 * Agents report over MCP, or by `npx nylorun report`; this reads the folder that all of them write to, and sends what is new to its
 * pages. Only for programs on this machine: it listens on loopback, and to requests that name it so.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { dayOf, follow, SinkReader, sinkFolder } from "@nylorun/progress";
import type { SinkRecord } from "@nylorun/progress";
import { build } from "esbuild";

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'",
  "cache-control": "no-store",
};

const read = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");

async function bundle(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, name)],
    bundle: true,
    minify: true,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
  });
  return outputFiles[0]!.text;
}

const files = new Map([
  ["/", { type: "text/html", body: read("plain.html") }],
  ["/plain.js", { type: "text/javascript", body: await bundle("plain.js") }],
  ["/react", { type: "text/html", body: read("react.html") }],
  ["/react.js", { type: "text/javascript", body: await bundle("react.tsx") }],
  ["/page.css", { type: "text/css", body: read("page.css") }],
]);

/** The latest record of each task, for pages that are opened later. */
const latest = new Map<string, SinkRecord>();
const pages = new Set<ServerResponse>();
const message = (record: SinkRecord) => `data: ${JSON.stringify(record)}\n\n`;

const server = createServer((request, response) => {
  const { port } = server.address() as AddressInfo;
  const path = URL.parse(request.url ?? "", "http://page")?.pathname ?? "";
  const file = files.get(path);
  if (![`127.0.0.1:${port}`, `localhost:${port}`].includes(request.headers.host ?? "")) {
    response.writeHead(403).end();
  } else if (path === "/events") {
    response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
    response.write(`: hello\n\n${[...latest.values()].map(message).join("")}`);
    pages.add(response);
    response.on("close", () => pages.delete(response));
  } else if (file === undefined) {
    response.writeHead(404).end();
  } else {
    response.writeHead(200, { ...HEADERS, "content-type": `${file.type}; charset=utf-8` }).end(file.body);
  }
});
server.listen(Number(process.argv[2] ?? 4317), "127.0.0.1", () => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  console.log(`What the agents on this machine report: ${origin} (with React: ${origin}/react)`);
});

const reader = new SinkReader({ folder: sinkFolder(process.env), from: dayOf(Date.now()) });
for await (const { records } of follow(reader, { signal: new AbortController().signal })) {
  for (const record of records) {
    latest.set(record.task_id, record);
    for (const page of pages) page.write(message(record));
  }
}
