/**
 * The least that a server can do with files: `node:http`, and streams to and from a disk. `POST /?url=…` fetches what is there into a file,
 * `&sync` also makes sure that it is on the disk; `GET /` gives that file back.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { createServer, get } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";

const [folder = "."] = process.argv.slice(2);
const file = `${folder}/plain.bin`;

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url!, "http://localhost");
  const handled = request.method === "POST" ? take(searchParams) : give();
  handled.catch((error: unknown) => response.destroy(error as Error));

  async function take(asked: URLSearchParams): Promise<void> {
    const source = await new Promise<IncomingMessage>((resolve, reject) => {
      get(asked.get("url")!, resolve).on("error", reject);
    });
    await pipeline(source, createWriteStream(file));
    if (asked.has("sync")) {
      await using handle = await open(file, "r+");
      await handle.sync();
    }
    response.end("taken");
  }

  async function give(): Promise<void> {
    const { size } = await stat(file);
    response.writeHead(200, { "content-length": size });
    await pipeline(createReadStream(file), response);
  }
});
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
