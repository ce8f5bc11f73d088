/** Links to files: one that was changed gives nothing, and what a good one gives is what was asked for, whatever range that is. */
import * as fc from "fast-check";

import { nearBytes } from "../edit.ts";
import { checkAnswer, Served } from "../served.ts";
import type { HttpInput } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

const CONTENT = "0123456789";
const ranges = fc.oneof(
  fc.tuple(fc.nat(15), fc.nat(15)).map(([from, to]) => `bytes=${from}-${to}`),
  fc.constantFrom(
    "bytes=-3",
    "bytes=3-",
    "bytes=0-0,2-3",
    "bytes=99999999999999999999-",
    "bytes=-",
    "items=0-1",
    "bytes=-0",
    "bytes= 1-2",
  ),
  fc.string({ unit: "binary-ascii", maxLength: 12 }),
);

export const startFileLink: StartTarget = async () => {
  const served = await Served.start();
  const { id } = await served.ada.send("target", "file", { message: { contextId: "files" } });
  const { artifacts = [] } = await served.ada.until("target", id, "TASK_STATE_COMPLETED");
  const link = new URL(artifacts.find(({ name }) => name === "notes.txt")!.parts[0]!.url!).pathname;
  const [, token] = /^\/v1\/files\/([^/]+)/.exec(link)!;
  return {
    inputs: fc.record({
      method: fc.constantFrom("GET", "GET", "GET", "HEAD"),
      path: fc.oneof(fc.constant("@link"), fc.constant("@link"), nearBytes(fc.constant(link), 3)),
      headers: fc.record(
        {
          range: ranges,
          "if-none-match": fc.constantFrom("*", '"x"', "x"),
          "if-range": fc.constantFrom('"x"', "x", "Thu, 01 Jan 1970 00:00:00 GMT"),
        },
        { requiredKeys: [] },
      ),
      body: fc.constant(""),
    }),
    async check(input: Input) {
      const given = { ...(input as HttpInput), path: (input as HttpInput).path.replace("@link", link) };
      if (!Served.canSend(given)) return;
      const answer = await served.ask(given);
      checkAnswer(answer);
      if ((answer.status === 200 || answer.status === 206) && !isSame(given.path, token!)) {
        throw new Error(`a link that was changed is served: ${given.path}`);
      }
      if (answer.status === 206 && given.method === "GET" && !CONTENT.includes(answer.text)) {
        throw new Error(`a range that is none of the file: ${answer.text}`);
      }
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
};

/** Whether a path has the token, in whatever way a URL or base64 may write the same. */
function isSame(path: string, token: string): boolean {
  const read = URL.parse(path, "http://x")?.pathname.split("/")[3] ?? "";
  let given = read;
  try {
    given = decodeURIComponent(read);
  } catch {
    // It is as it is.
  }
  const [head, payload, signature = ""] = given.split(".");
  const [ownHead, ownPayload, ownSignature = ""] = token.split(".");
  return (
    head === ownHead &&
    payload === ownPayload &&
    Buffer.from(signature, "base64url").equals(Buffer.from(ownSignature, "base64url"))
  );
}
