/**
 * The links to files. A link is its own permission: no key is looked at, and none is needed. What it leads to is one content, for as long
 * as the link is good and its task is stored.
 *
 * A browser that is led here runs nothing of what it is given: it is told to save what could run, to make no other type of it than it
 * has, and to let it do nothing.
 */
import type { ListedFile } from "@nylorun/protocol";
import { Hono } from "hono";

import { BlobError } from "../files/blob.ts";
import type { KeptFiles } from "../files/kept.ts";
import { FILES_PATH } from "../files/links.ts";
import type { FileLinks, Linked } from "../files/links.ts";
import { readManifest } from "../files/manifest.ts";
import { isPassive } from "../files/media-type.ts";
import type { TurnKey } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { refuse } from "./answer.ts";
import { answerConditions } from "./conditions.ts";
import { fileGone, fileLost, linkExpired, linkInvalid } from "./refusals.ts";

export interface FileRouteOptions {
  readonly links: FileLinks;
  readonly files: KeptFiles;
  readonly taskIds: TaskIds;
}

/** Entries of a folder whose links are made in one go. */
const AT_ONCE = 100;

const GUARDS = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  // Whoever has the link may have the content; whoever keeps it asks whether it is still there.
  "Cache-Control": "private, no-cache",
} as const;

export function createFileRoutes({ links, files, taskIds }: FileRouteOptions): Hono {
  const answer = async (request: Request, token: string): Promise<Response> => {
    const linked = await links.open(token);
    if (linked === undefined) return refuse(linkInvalid);
    if (linked === "expired") return refuse(linkExpired);
    const key = taskIds.decode(linked.taskId);
    const size = key && (await files.sizeOf(key, linked.sha256));
    if (key === undefined || size === undefined) return refuse(fileGone);
    try {
      return linked.isFolder === true ? await folder(request, linked, key) : await file(request, linked, { key, size });
    } catch (error) {
      if (error instanceof BlobError && error.code === "blob.missing") return refuse(fileLost);
      throw error;
    }
  };

  const file = async (
    request: Request,
    linked: Linked,
    { key, size }: { readonly key: TurnKey; readonly size: number },
  ) => {
    const { sha256, mediaType, name } = linked;
    const etag = `"${sha256}"`;
    const common = { ...GUARDS, ETag: etag, "Accept-Ranges": "bytes" };
    const asked = answerConditions(request.headers, { etag, size });
    if (asked.status === 304 || asked.status === 412)
      return new Response(null, { status: asked.status, headers: common });
    const headers = {
      ...common,
      "Content-Type": mediaType,
      "Content-Disposition": dispositionOf(mediaType, name),
    };
    if (asked.status === 416) {
      return new Response(null, { status: 416, headers: { ...common, "Content-Range": `bytes */${size}` } });
    }
    const range = asked.status === 206 ? asked.range : undefined;
    const length = range === undefined ? size : range.last - range.first + 1;
    const whole = {
      ...headers,
      "Content-Length": String(length),
      ...(range && { "Content-Range": `bytes ${range.first}-${range.last}/${size}` }),
    };
    if (request.method === "HEAD") return new Response(null, { status: asked.status, headers: whole });
    return new Response(await files.read(key, sha256, range), { status: asked.status, headers: whole });
  };

  /** The list of its files, each with a link as good as this one was. */
  const folder = async (request: Request, { taskId, sha256, name }: Linked, key: TurnKey) => {
    const headers = {
      ...GUARDS,
      "Cache-Control": "no-store",
      "Content-Type": "application/json",
      "Content-Disposition": dispositionOf("application/json", `${name}.json`),
    };
    if (request.method === "HEAD") return new Response(null, { headers });
    const entries = readManifest(await new Response(await files.read(key, sha256)).text());
    const encoder = new TextEncoder();
    let from = 0;
    const list = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(encoder.encode('{"entries":[')),
      async pull(controller) {
        const some = await Promise.all(entries.slice(from, from + AT_ONCE).map((entry) => linkedEntry(entry, taskId)));
        if (some.length > 0) controller.enqueue(encoder.encode(`${from === 0 ? "" : ","}${some.join(",")}`));
        if ((from += AT_ONCE) < entries.length) return;
        controller.enqueue(encoder.encode("]}"));
        controller.close();
      },
    });
    return new Response(list, { headers });
  };

  const linkedEntry = async (entry: ListedFile, taskId: string): Promise<string> => {
    const { path, sha256, mediaType } = entry;
    const name = path.slice(path.lastIndexOf("/") + 1);
    return JSON.stringify({ ...entry, url: await links.make({ taskId, sha256, name, mediaType }) });
  };

  const path = `${FILES_PATH}/:token`;
  return new Hono()
    .get(path, (c) => answer(c.req.raw, c.req.param("token")))
    .get(`${path}/:name`, (c) => answer(c.req.raw, c.req.param("token")));
}

/** RFC 6266, with the name as RFC 8187 writes it, and for those who do not read that, in ASCII. */
function dispositionOf(mediaType: string, name: string): string {
  const kind = isPassive(mediaType) ? "inline" : "attachment";
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
