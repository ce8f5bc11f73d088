/** Gives out so many bytes, as fast as they are taken. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const bytes = Number(process.argv[2]);
const piece = randomBytes(256 * 1024);

const server = createServer((_, response) => {
  response.writeHead(200, { "content-length": bytes, "content-type": "application/octet-stream" });
  let left = bytes;
  const more = () => {
    while (left > 0) {
      const part = left < piece.length ? piece.subarray(0, left) : piece;
      left -= part.length;
      if (!response.write(part)) return void response.once("drain", more);
    }
    response.end();
  };
  more();
});
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
