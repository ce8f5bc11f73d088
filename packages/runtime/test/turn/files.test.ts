/** What agents hand out and take in: kept once, whatever happens to the process; each version one, none missing (E7). */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { FileContent, FileVersion, FolderEntry, Turn } from "@nylorun/agents";
import type { FilesData } from "@nylorun/protocol";

import { BlobError } from "../../src/files/blob.ts";
import { FileError } from "../../src/files/errors.ts";
import { keptFiles } from "../../src/files/kept.ts";
import { readManifest } from "../../src/files/manifest.ts";
import { StoreError } from "../../src/store/errors.ts";
import { leftoverMs } from "../../src/store/files.ts";
import { filesDataOf } from "../../src/turn/outputs.ts";
import type { TurnRecord } from "../../src/turn/record.ts";
import { agent, codeOf, messageOf, Stage } from "./stage.ts";
import type { Node } from "./stage.ts";

function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What files/v1 says of a turn's outputs, those that its function returned aside. */
function filesOf({ view }: TurnRecord): readonly FilesData[] {
  return (view.artifacts ?? [])
    .map((artifact) => filesDataOf(artifact)!)
    .filter(({ path }) => !path.startsWith("output."));
}

async function textOf(node: Node, turn: TurnRecord, hash: string): Promise<string> {
  return new Response(await keptFiles({ store: node.inner, blobs: node.blobs }).read(turn, hash)).text();
}

/** Removes what nobody needs, and says how many bytes are left. */
async function collected(node: Node): Promise<number> {
  for (;;) {
    const condemned = await node.inner.files.condemn(100);
    if (condemned.length === 0) return (await node.inner.measure()).fileBytes;
    await node.blobs.remove(condemned);
    await node.inner.files.gone(condemned.map(({ blob }) => blob));
  }
}

async function* pieces(...texts: readonly string[]): AsyncGenerator<string> {
  yield* texts;
}

describe("turn.file", () => {
  test("takes texts, bytes, streams, and functions that make them", async () => {
    await using stage = new Stage();
    const contents: Readonly<Record<string, FileContent>> = {
      "a.txt": "text ä",
      "b.bin": new Uint8Array([0, 255, 1]),
      "c.txt": pieces("one", "", "two"),
      "d.txt": new Blob(["blob"]).stream(),
      "e.txt": () => "made",
      "f.txt": async () => pieces("made", " later"),
      "g.txt": "",
      "h.txt": ["an", "array"],
      "i.ts": { localPath: import.meta.filename },
    };
    await using node = await stage.start(
      agent(async (turn) => {
        for (const [path, content] of Object.entries(contents)) await turn.file(path, content);
      }),
    );
    const turn = await node.ended(await node.send());
    const texts = await Promise.all(filesOf(turn).map((file) => textOf(node, turn, file.sha256)));
    assert.deepEqual(texts.slice(0, 8), [
      "text ä",
      "\0\uFFFD\u0001",
      "onetwo",
      "blob",
      "made",
      "made later",
      "",
      "anarray",
    ]);
    assert.match(texts[8]!, /^\/\*\* What agents hand out/);
    assert.deepEqual(turn.view.artifacts!.map(({ name, parts }) => [name, parts[0]!.mediaType]).slice(0, 2), [
      ["a.txt", "text/plain"],
      ["b.bin", "application/octet-stream"],
    ]);
    assert.equal(turn.view.totals?.steps, 9);
  });

  test("gives versions to each path, over the turns of a context, with one artifactId; other contexts have their own", async () => {
    await using stage = new Stage();
    await using node = await stage.start(
      agent(async (turn) => {
        const all = [
          await turn.file("a/b.csv", "1"),
          await turn.file("a/b.csv", turn.text),
          await turn.file("c.csv", "3"),
        ];
        return all.map(({ version }) => version);
      }),
    );
    const first = await node.ended(await node.send("x", { contextId: "talk" }));
    const second = await node.ended(await node.send("y", { contextId: "talk" }));
    const other = await node.ended(await node.send("x", { contextId: "other" }));
    const outputs = [first, second, other].map(({ view }) => view.artifacts!.at(-1)!.parts[0]!);
    assert.deepEqual(
      outputs.map((part) => part.data),
      [
        [1, 2, 1],
        [3, 4, 2],
        [1, 2, 1],
      ],
    );
    assert.deepEqual(
      filesOf(second).map(({ path, version, kind }) => [path, version, kind]),
      [
        ["a/b.csv", 4, "file"],
        ["c.csv", 2, "file"],
      ],
    );
    const idsOf = ({ view }: TurnRecord) => view.artifacts!.map(({ artifactId }) => artifactId);
    assert.deepEqual(idsOf(first), idsOf(second));
    assert.equal(new Set(idsOf(first)).size, 3);
    // What is returned is an output, too.
    assert.deepEqual(
      [first, second].map(({ view }) => filesDataOf(view.artifacts!.at(-1)!)),
      [1, 2].map((version, index) => {
        const text = JSON.stringify(
          [
            [1, 2, 1],
            [3, 4, 2],
          ][index],
        );
        return { kind: "file", version, size: text.length, sha256: sha256(text), path: "output.json" };
      }),
    );
    // The first version's bytes are still there, for whoever has its link.
    assert.equal(await textOf(node, first, sha256("1")), "1");
  });

  test("calls that run at the same time have versions in the order in which they end", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    await using node = await stage.start(
      agent(async (turn) => {
        const slow = turn.file("x", () => gate.promise);
        const fast = await turn.file("x", "fast");
        gate.resolve("slow");
        return [fast.version, (await slow).version];
      }),
    );
    const turn = await node.ended(await node.send());
    assert.deepEqual(turn.view.artifacts!.at(-1)!.parts[0]!.data, [1, 2]);
    assert.equal(filesOf(turn)[0]!.sha256, sha256("slow"));
  });

  const outside: readonly (readonly [path: string, why: RegExp])[] = [
    ["", /must not be empty/],
    ["../x", /the segment \.\./],
    ["a/../x", /the segment \.\./],
    ["..", /the segment \.\./],
    [".", /the segment \./],
    ["./x", /the segment \./],
    ["a/.", /the segment \./],
    ["/x", /begins with \//],
    ["//x", /begins with \//],
    ["a//b", /an empty segment/],
    ["a/", /an empty segment/],
    ["a\\b", /a backslash/],
    ["..\\x", /a backslash/],
    ["C:\\x", /a backslash/],
    ["a\0b", /control characters/],
    ["a\nb", /control characters/],
    ["a\u007Fb", /control characters/],
    ["a\u0085b", /control characters/],
    ["a\uD800b", /well-formed Unicode/],
    ["x".repeat(300), /at most 255 bytes/],
    ["ä".repeat(128), /at most 255 bytes/],
    [`${"abcdefg/".repeat(200)}x`, /at most 1024 characters/],
    ["output.txt", /return it/],
    ["output.json", /return it/],
  ];
  for (const [path, why] of outside) {
    test(`refuses the path ${JSON.stringify(path.slice(0, 20))}, and nothing is kept`, async () => {
      await using stage = new Stage();
      const seen: unknown[] = [];
      await using node = await stage.start(
        agent(async (turn) => {
          for (const call of [() => turn.file(path, "x"), () => turn.folder(path, { x: "x" })]) {
            try {
              await call();
            } catch (error) {
              seen.push(codeOf(error), messageOf(error));
            }
          }
          return "done";
        }),
      );
      const turn = await node.ended(await node.send());
      assert.deepEqual([seen[0], seen[2]], ["file.invalid", "file.invalid"]);
      for (const at of [1, 3]) assert.match(String(seen[at]), why);
      assert.deepEqual(filesOf(turn), []);
      assert.equal(turn.length, 0);
    });
  }

  test("keeps names that only look alike apart, and 255 bytes of one", async () => {
    await using stage = new Stage();
    const paths = [
      "A.txt",
      "a.txt",
      "é.txt",
      "e\u0301.txt",
      "x".repeat(255),
      "…",
      " ",
      "a b",
      "a:b",
      "CON",
      "-rf",
      "%2e%2e",
      "a/B",
      "a/b",
      "__proto__",
    ];
    await using node = await stage.start(
      agent(async (turn) => {
        for (const path of paths) await turn.file(path, `of ${path}`);
      }),
    );
    const turn = await node.ended(await node.send());
    assert.deepEqual(
      filesOf(turn).map(({ path, version }) => [path, version]),
      paths.map((path) => [path, 1]),
    );
    assert.equal(new Set(turn.view.artifacts!.map(({ artifactId }) => artifactId)).size, paths.length);
    for (const file of filesOf(turn)) assert.equal(await textOf(node, turn, file.sha256), `of ${file.path}`);
  });

  test("says what is too large, or one too many, and loses nothing by it", async () => {
    await using stage = new Stage({ fileLimits: { file: 1000, total: 1500 } });
    const codes: unknown[] = [];
    const note = (error: unknown) => void codes.push(codeOf(error), messageOf(error));
    await using node = await stage.start(
      agent(async (turn) => {
        await turn.file("a", "a".repeat(1000));
        await turn.file("a", "b".repeat(1001)).catch(note);
        await turn.file("a", () => pieces("x".repeat(600), "y".repeat(600))).catch(note);
        await turn.file("b", "c".repeat(600)).catch(note);
        await turn.folder("f", { one: "x".repeat(300), two: "y".repeat(300) }).catch(note);
        return (await turn.file("a", "small")).version;
      }),
    );
    const turn = await node.ended(await node.send());
    assert.deepEqual(
      codes.filter((_, index) => index % 2 === 0),
      ["file.tooLarge", "file.tooLarge", "file.noRoom", "file.noRoom"],
    );
    assert.match(String(codes[1]), /more than the 1000 bytes/);
    assert.match(String(codes[5]), /may have 1500 bytes/);
    assert.equal(turn.view.artifacts!.at(-1)!.parts[0]!.data, 2);
    assert.equal(await textOf(node, turn, sha256("a".repeat(1000))), "a".repeat(1000));
    stage.pass(leftoverMs);
    assert.equal(await collected(node), 1005, "what did not come to be is gone");
  });

  test("passes on what its content throws, and says what is no content", async () => {
    await using stage = new Stage();
    const errors: unknown[] = [];
    const broken = async function* () {
      yield "some";
      throw Object.assign(new Error("broken"), { code: "E_MINE" });
    };
    await using node = await stage.start(
      agent(async (turn) => {
        const wrong: readonly unknown[] = [
          broken,
          7,
          null,
          {},
          [1, 2],
          { localPath: "/nowhere/at/all" },
          { localPath: "/tmp" },
          { localPath: "/dev/zero" },
        ];
        for (const content of wrong) {
          await turn.file("x", content as FileContent).catch((error: unknown) => errors.push(codeOf(error)));
        }
        await turn
          .file("x", "x", { mediaType: "text/html\r\nX: y" })
          .catch((error: unknown) => errors.push(codeOf(error)));
      }),
    );
    const turn = await node.ended(await node.send());
    assert.deepEqual(errors, [
      "E_MINE",
      ...Array.from({ length: 4 }, () => "file.invalid"),
      ...Array.from({ length: 3 }, () => "file.unreadable"),
      "file.invalid",
    ]);
    assert.deepEqual(filesOf(turn), []);
    stage.pass(leftoverMs);
    assert.equal(await collected(node), 0);
  });

  test("is refused inside an effect, and out of step without a key", async () => {
    await using stage = new Stage();
    const codes: unknown[] = [];
    const note = (error: unknown) => void codes.push((error as { code?: unknown }).code);
    await using node = await stage.start(
      agent(async (turn) => {
        await turn.effect("x", () => turn.file("a", "a").then(() => 1)).catch(note);
        await setTimeout(2);
        await turn.file("a", "a").catch(note);
        await turn.file("a", "a", { key: "k" });
      }),
    );
    const turn = await node.ended(await node.send());
    assert.deepEqual(codes, ["turn.nested", "turn.unjournaled"]);
    assert.equal(filesOf(turn).length, 1);
  });

  test("ends at once when the task is cancelled, and leaves nothing", async () => {
    await using stage = new Stage();
    const begun = Promise.withResolvers<undefined>();
    await using node = await stage.start(
      agent(async (turn) => {
        await turn.file("x", async function* () {
          yield "some";
          begun.resolve(undefined);
          await new Promise<never>(() => undefined);
        });
      }),
    );
    const sent = await node.send();
    await begun.promise;
    await node.engine.cancel(node.scope(), node.taskId(sent));
    const turn = await node.letGo(sent);
    assert.equal(turn.state, "canceled");
    assert.deepEqual(filesOf(turn), []);
    stage.pass(leftoverMs);
    assert.equal(await collected(node), 0);
  });

  // keeps: files-artifact-once
  test("is not written again on replay: its content is neither made nor read", async () => {
    await using stage = new Stage();
    let made = 0;
    let cancelled = 0;
    await using node = await stage.start(
      agent(async (turn) => {
        await turn.file("made", () => `${++made}`);
        await turn.file(
          "stream",
          new ReadableStream<Uint8Array>(
            { pull: (c) => c.close(), cancel: () => void cancelled++ },
            { highWaterMark: 0 },
          ),
        );
        await turn.ask({ prompt: "Go on?" });
        return (await turn.file("made", () => `${++made}`)).version;
      }),
    );
    const sent = await node.send();
    await node.letGo(await node.interrupted(sent));
    await node.answer(sent, { value: "yes" });
    const turn = await node.ended(sent);
    assert.equal(turn.view.artifacts!.at(-1)!.parts[0]!.data, 2);
    assert.equal(made, 2);
    assert.equal(cancelled, 1, "who made a stream is told that nobody reads it");
  });
});

describe("turn.folder", () => {
  // keeps: files-artifact-folder
  test("keeps its files, in whatever order they come, as one list in one order", async () => {
    await using stage = new Stage();
    const entries = { "z.css": "css", "a/b/index.html": "page", "a.txt": "text", Ä: "ä" };
    const list: readonly FolderEntry[] = Object.entries(entries)
      .map(([path, content]) => ({ path, content }))
      .toReversed();
    await using node = await stage.start(
      agent(async (turn) => {
        await turn.folder("object", entries);
        await turn.folder("list", list);
        await turn.folder(
          "stream",
          (async function* () {
            yield* list;
          })(),
        );
        await turn.folder("empty", {});
      }),
    );
    const turn = await node.ended(await node.send());
    const [object, ...rest] = filesOf(turn);
    assert.deepEqual([object!.kind, object!.version, object!.size], ["folder", 1, 13]);
    const canonical = await textOf(node, turn, object!.sha256);
    const known = [
      ["Ä", "ä", 2, "text/plain"],
      ["a.txt", "text", 4, "text/plain"],
      ["a/b/index.html", "page", 4, "text/html"],
      ["z.css", "css", 3, "text/css"],
    ] as const;
    // RFC 8785 orders by UTF-16 code units.
    const expected = known
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, text, size, mediaType]) => ({ mediaType, path, sha256: sha256(text), size }));
    assert.equal(canonical, JSON.stringify({ entries: expected }));
    assert.equal(object!.sha256, sha256(canonical));
    for (const same of rest.slice(0, 2)) assert.equal(same.sha256, object!.sha256);
    assert.equal(await textOf(node, turn, rest[2]!.sha256), '{"entries":[]}');
    for (const { sha256: hash, path } of readManifest(canonical)) {
      assert.equal(await textOf(node, turn, hash), entries[path as "a.txt"]);
    }
  });

  const cannot: readonly (readonly [why: RegExp, entries: unknown])[] = [
    [
      /two entries "a"/,
      [
        { path: "a", content: "1" },
        { path: "a", content: "2" },
      ],
    ],
    [/lies below "a", which is a file/, { a: "1", "a/b": "2" }],
    [
      /"a" has other entries below it/,
      [
        { path: "a/b", content: "1" },
        { path: "a", content: "2" },
      ],
    ],
    [/"\.\.\/x" must not have the segment/, { "../x": "1" }],
    [/"\/etc\/passwd" must be relative/, { "/etc/passwd": "1" }],
    [/backslash/, { "a\\..\\b": "1" }],
    [/entries { path, content }/, [7]],
    [/entries { path, content }/, 7],
    [/no media type/, [{ path: "a", content: "1", mediaType: "no" }]],
    [/at most 10000 entries/, Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`${n}`, ""]))],
  ];
  for (const [why, entries] of cannot) {
    test(`refuses what cannot be one: ${String(why)}`, async () => {
      await using stage = new Stage({ fileLimits: { total: 1024 ** 3 } });
      let error: unknown;
      await using node = await stage.start(
        agent(async (turn) => {
          await turn.folder("f", entries as Record<string, string>).catch((caught: unknown) => {
            error = caught;
          });
        }),
      );
      const turn = await node.ended(await node.send());
      assert.equal(codeOf(error), "file.invalid");
      assert.match(messageOf(error), why);
      assert.deepEqual(filesOf(turn), []);
      stage.pass(leftoverMs);
      assert.equal(await collected(node), 0);
    });
  }

  test("of ten thousand files is one, each of them as it was", async () => {
    await using stage = new Stage();
    const path = (n: number) => `${n % 100}/file ${n}.txt`;
    await using node = await stage.start(
      agent((turn) =>
        turn.folder(
          "many",
          (function* () {
            for (let n = 0; n < 10_000; n++) yield { path: path(n), content: `content ${n}` };
          })(),
        ),
      ),
    );
    const turn = await node.ended(await node.send());
    const [folder] = filesOf(turn);
    const entries = readManifest(await textOf(node, turn, folder!.sha256));
    assert.equal(entries.length, 10_000);
    assert.equal(
      folder!.size,
      entries.reduce((sum, { size }) => sum + size, 0),
    );
    for (const n of [0, 1, 4999, 9999]) {
      const entry = entries.find((one) => one.path === path(n));
      assert.equal(await textOf(node, turn, entry!.sha256), `content ${n}`);
    }
  });
});

describe("a process that dies while a file is kept", () => {
  /** Writes two versions of a path, a folder, and returns which versions they were. */
  const work = async (turn: Turn) => {
    const versions = [
      await turn.file("a", "one"),
      await turn.file("a", "two"),
      await turn.folder("f", { x: "x", y: "y" }),
    ];
    return versions.map(({ version }) => version);
  };
  const kept = "one".length + "two".length + 2;

  for (const store of ["memory", "sqlite"] as const) {
    for (const when of ["before", "after"] as const) {
      test(`${when} any write or hold (${store}) has each version once, and what was in between is neither lost nor left`, async () => {
        for (let at = 1; ; at++) {
          await using stage = new Stage({ store });
          let asked = 0;
          let node = await stage.start(agent(work));
          const first = node;
          const die = ({ name, commit }: { readonly name: string; readonly commit: object | undefined }) => {
            if ((commit !== undefined || name === "files.hold") && ++asked === at) first.faulty.die();
          };
          node.faulty.faults = when === "before" ? { before: die } : { after: die };
          const sent = await node.send("go", { contextId: "talk" });
          const died = await Promise.race([node.ended(sent).then(() => false), untilDead(node)]);
          await node.kill();
          node = await stage.start(agent(work));
          const turn = await node.ended(sent);
          assert.deepEqual(turn.view.artifacts!.at(-1)!.parts[0]!.data, [1, 2, 1], `death ${at}`);
          assert.deepEqual(
            filesOf(turn).map(({ path, version }) => [path, version]),
            [
              ["a", 2],
              ["f", 1],
            ],
          );
          for (const text of ["one", "two"]) assert.equal(await textOf(node, turn, sha256(text)), text);
          const manifest = await textOf(node, turn, filesOf(turn)[1]!.sha256);
          for (const { sha256: hash, path } of readManifest(manifest))
            assert.equal(await textOf(node, turn, hash), path);
          stage.pass(leftoverMs);
          assert.equal(await collected(node), kept + manifest.length);
          await node.stop();
          if (!died) break;
          assert.ok(at < 60, "it does not come to an end");
        }
      });
    }
  }

  test("between the blob and the journal, with another content the next time: only what was recorded is left", async () => {
    await using stage = new Stage();
    let tries = 0;
    const run = (turn: Turn) => turn.file("a", () => `attempt ${++tries}`);
    let node = await stage.start(agent(run));
    node.faulty.faults = {
      before: ({ commit }) => {
        if (commit?.entries?.some(({ kind }) => kind === "outcome")) node.faulty.die();
      },
    };
    const sent = await node.send();
    await untilDead(node);
    await node.kill();
    assert.equal(tries, 1);
    node = await stage.start(agent(run));
    const turn = await node.ended(sent);
    assert.deepEqual(
      filesOf(turn).map(({ version, sha256: hash }) => [version, hash]),
      [[1, sha256("attempt 2")]],
    );
    stage.pass(leftoverMs);
    const json = turn.view.artifacts!.at(-1)!.parts[0]!.data as FileVersion;
    assert.equal(json.version, 1);
    assert.equal(await collected(node), "attempt 2".length);
    await node.stop();
  });
});

describe("a blob store that fails", () => {
  test("is asked again, and the turn goes on when it is there again", async () => {
    await using stage = new Stage();
    let fails = 2;
    const receive = stage.blobs.receive.bind(stage.blobs);
    stage.blobs.receive = async () => {
      const intake = await receive();
      const place = intake.place.bind(intake);
      intake.place = async (blob) => {
        if (fails-- > 0) throw new BlobError("blob.failed", "down");
        return place(blob);
      };
      return intake;
    };
    await using node = await stage.start(agent(async (turn) => (await turn.file("x", pieces("a", "b"))).size));
    const turn = await node.ended(await node.send());
    assert.equal(turn.view.artifacts!.at(-1)!.parts[0]!.data, 2);
  });

  test("that is full is said to be so at once", async () => {
    await using stage = new Stage();
    stage.blobs.receive = async () => {
      throw new BlobError("blob.full", "The disk is full.");
    };
    let code: unknown;
    await using node = await stage.start(
      agent(async (turn) => {
        await turn.file("x", "x").catch((error: unknown) => (code = codeOf(error)));
      }),
    );
    await node.ended(await node.send());
    assert.equal(code, "file.noRoom");
  });
});

describe("a version that the store cannot say", () => {
  const run = async (turn: Turn) => `said ${turn.text}`;
  /** A context that has a version of what is returned, and a store that says no more of it. */
  async function downStage() {
    const stage = new Stage();
    const node = await stage.start(agent(run));
    await node.ended(await node.send("one", { contextId: "talk" }));
    const state = { down: true, asked: 0 };
    node.faulty.faults = {
      before({ name }) {
        if (name !== "files.lastVersion" || !state.down) return;
        state.asked++;
        throw new StoreError("store.failed", "down");
      },
    };
    const sent = await node.send("two", { contextId: "talk" });
    while (state.asked < 3) await setTimeout(5);
    return { stage, node, state, sent };
  }

  test("is waited for", async () => {
    const { stage, node, state, sent } = await downStage();
    assert.equal((await node.load(sent)).state, "running");
    state.down = false;
    const turn = await node.ended(sent);
    assert.equal(filesDataOf(turn.view.artifacts!.at(-1)!)!.version, 2);
    await node.stop();
    await stage[Symbol.asyncDispose]();
  });

  test("is waited for no longer than the run lasts: the next process finds it", async () => {
    const { stage, node, state, sent } = await downStage();
    await node.stop();
    const { asked } = state;
    await setTimeout(100);
    assert.ok(state.asked <= asked + 1, "nobody asks any more");
    const next = await stage.start(agent(run));
    const turn = await next.ended(sent);
    assert.equal(filesDataOf(turn.view.artifacts!.at(-1)!)!.version, 2);
    await next.stop();
    await stage[Symbol.asyncDispose]();
  });
});

describe("turn.inputs", () => {
  const url = "https://example.com/data/rows%20one.csv?token=secret";
  const raw = Buffer.from("raw bytes").toString("base64");
  const parts = [{ text: "profile" }, { url, mediaType: "text/csv" }, { raw, filename: "r.bin" }, { data: 1 }, { url }];

  test("are the files of the message, fetched before the function is called", async () => {
    await using stage = new Stage();
    stage.urls.set(url, "a,b\n");
    await using node = await stage.start(
      agent(async (turn) => {
        assert.deepEqual(stage.fetched, [url, url]);
        const texts = [];
        for (const input of turn.inputs) texts.push(await input.text());
        return { inputs: turn.inputs, texts, bytes: [...(await turn.inputs[1]!.bytes())].length };
      }),
    );
    const turn = await node.ended(await node.send("", { parts }));
    assert.deepEqual(turn.view.artifacts![0]!.parts[0]!.data, {
      inputs: [
        { part: 1, name: "rows one.csv", mediaType: "text/csv", size: 4 },
        { part: 2, name: "r.bin", mediaType: "application/octet-stream", size: 9 },
        { part: 4, name: "rows one.csv", mediaType: "text/csv", size: 4 },
      ],
      texts: ["a,b\n", "raw bytes", "a,b\n"],
      bytes: 9,
    });
    assert.equal(turn.view.totals?.steps, 0, "nothing of that is a step of the agent's");
    const journal = JSON.stringify(await node.journal(turn));
    assert.doesNotMatch(journal, /a,b|raw bytes/, "no content is in the journal");
  });

  // keeps: files-in-once
  test("are fetched once: a replay has what was there then, whatever is there now", async () => {
    await using stage = new Stage();
    stage.urls.set(url, "old");
    const run = async (turn: Turn) => {
      const before = await turn.inputs[0]!.text();
      await turn.ask({ prompt: "Go on?" });
      return [before, await turn.inputs[0]!.text()];
    };
    let node = await stage.start(agent(run));
    const sent = await node.send("", { parts: [{ url }] });
    await node.letGo(await node.interrupted(sent));
    stage.urls.set(url, "new");
    await node.kill();
    node = await stage.start(agent(run));
    await node.answer(sent, { value: "yes" });
    const turn = await node.ended(sent);
    assert.deepEqual(turn.view.artifacts![0]!.parts[0]!.data, ["old", "old"]);
    assert.deepEqual(stage.fetched, [url]);
    stage.pass(leftoverMs);
    assert.equal(await collected(node), 0, "an input is not kept longer than its turn runs");
    await node.stop();
  });

  // keeps: files-in-refused
  test("that cannot be fetched fail the task, which says which part and why, and the function is not called", async () => {
    await using stage = new Stage();
    stage.urls.set(url, "fine");
    stage.urls.set("https://example.com/", new FileError("file.notFetched", "its server answered 404"));
    let called = 0;
    await using node = await stage.start(agent(() => void called++));
    const turn = await node.ended(
      await node.send("", { parts: [{ text: "x" }, { url }, { url: "https://example.com/", filename: "rows.csv" }] }),
    );
    assert.equal(turn.state, "failed");
    assert.deepEqual(turn.view.status?.parts, [
      { text: "Part 3 of the message (rows.csv) could not be fetched: its server answered 404." },
    ]);
    assert.equal(called, 0);
    const old = await node.ended(await node.send("", { parts: [{ url: "https://example.com/gone" }] }));
    assert.equal(old.state, "failed");
  });

  test("there is no room for fail the task, without a word of what is kept", async () => {
    await using stage = new Stage({ fileLimits: { total: 10 } });
    stage.urls.set(url, "more than ten bytes");
    await using node = await stage.start(agent(() => "done"));
    const turn = await node.ended(await node.send("", { parts: [{ url }] }));
    assert.deepEqual(turn.view.status?.parts, [{ text: "There is no room for part 1 of the message (rows one.csv)." }]);
  });

  test("stream from their beginning each time, in an effect and out of it, and need no key when they are awaited whole", async () => {
    await using stage = new Stage();
    stage.urls.set(url, "streamed");
    const read = async (stream: ReadableStream<Uint8Array>) => new Response(stream).text();
    await using node = await stage.start(
      agent(async (turn) => {
        const [input] = turn.inputs;
        const inside = await turn.effect("count", async () => [await read(input!.stream()), await input!.text()]);
        const text = await input!.text();
        const again = await turn.effect("again", () => read(input!.stream()));
        return [...inside, text, again];
      }),
    );
    const turn = await node.ended(await node.send("", { parts: [{ url }] }));
    assert.deepEqual(turn.view.artifacts![0]!.parts[0]!.data, ["streamed", "streamed", "streamed", "streamed"]);
  });

  for (const when of ["before", "after"] as const) {
    test(`a process that dies ${when} any write is told the same of them by the next`, async () => {
      const run = async (turn: Turn) => {
        const [one, two] = await Promise.all(turn.inputs.map((input) => input.text()));
        const kept = await turn.file("copy", one!);
        return [one, two, kept.version];
      };
      for (let at = 1; ; at++) {
        await using stage = new Stage();
        stage.urls.set(url, "first");
        let node = await stage.start(agent(run));
        const first = node;
        let asked = 0;
        const die = ({ commit }: { readonly commit: object | undefined }) => {
          if (commit !== undefined && ++asked === at) first.faulty.die();
        };
        node.faulty.faults = when === "before" ? { before: die } : { after: die };
        const sent = await node.send("", { parts: [{ url }, { raw }] });
        const died = await Promise.race([node.ended(sent).then(() => false), untilDead(node)]);
        await node.kill();
        node = await stage.start(agent(run));
        const turn = await node.ended(sent);
        assert.deepEqual(turn.view.artifacts!.at(-1)!.parts[0]!.data, ["first", "raw bytes", 1], `death ${at}`);
        await node.stop();
        if (!died) break;
        assert.ok(at < 40, "it does not come to an end");
      }
    });
  }

  test("that cannot be read for a while are waited for", async () => {
    await using stage = new Stage();
    stage.urls.set(url, "there");
    const read = stage.blobs.read.bind(stage.blobs);
    let fails = 2;
    stage.blobs.read = async (...asked) => {
      if (fails-- > 0) throw new BlobError("blob.failed", "down");
      return read(...asked);
    };
    await using node = await stage.start(agent((turn) => turn.inputs[0]!.text()));
    const turn = await node.ended(await node.send("", { parts: [{ url }] }));
    assert.equal(turn.view.artifacts![0]!.parts[0]!.text, "there");
  });
});

/** Resolves with true when the process has died. */
async function untilDead({ faulty }: Node): Promise<true> {
  while (!faulty.dead) await setTimeout(1);
  return true;
}
