/** What the dashboard says of a download: exactly what was checked. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { defineAgent } from "@nylorun/agents";
import { EXTENSIONS } from "@nylorun/protocol";
import type { Artifact, FilesData } from "@nylorun/protocol";

import { launchChromium } from "./chromium.ts";
import { Dashboard } from "./dashboard.ts";
import type { Person } from "./dashboard.ts";

const browser = await launchChromium();

const maker = defineAgent({
  id: "maker",
  name: "Maker",
  description: "For a test.",
  version: "1.0.0",
  skills: [{ id: "make", name: "Make", description: "For a test.", tags: ["test"] }],
  async run(turn) {
    await turn.file("notes.txt", "Some notes");
    await turn.folder("many", { "b.txt": "b", "a/ü.txt": "ü" });
    return { made: 2, of: ["zeta", "alpha"] };
  },
});

describe("a download in the dashboard", { timeout: 200_000 }, () => {
  const resources = new AsyncDisposableStack();
  resources.defer(() => browser.close());
  let dashboard: Dashboard;
  let ada: string;
  let task: string | undefined;

  before(async () => {
    dashboard = resources.use(await Dashboard.serve({ agents: [maker] }));
    ada = await dashboard.subjectKey("ada");
    const client = await dashboard.client("maker", ada);
    task = (await (await client.send("go")).done()).id;
  });
  after(() => resources.disposeAsync());

  /** @param change What becomes of each artifact on its way to the page. */
  async function open(change?: (artifact: Artifact, data: FilesData) => unknown): Promise<Person> {
    const person = await dashboard.open(browser, { subject: ada });
    if (change !== undefined) {
      await person.page.route("**/v1/a2a/agents/maker/**", async (route) => {
        const response = await route.fetch();
        if (route.request().method() !== "POST") return route.fulfill({ response });
        const answer = (await response.json()) as { result?: { artifacts?: Artifact[] } };
        for (const artifact of answer.result?.artifacts ?? []) {
          change(artifact, artifact.metadata![EXTENSIONS.files] as FilesData);
        }
        return route.fulfill({ response, json: answer });
      });
    }
    await person.go(`#/tasks/maker/${task}`);
    return person;
  }

  const fileOf = (person: Person, name: string) => person.page.locator(".file", { hasText: name });

  for (const [name, saved, said] of [
    ["notes.txt", "notes.txt", "Size and SHA-256 verified."],
    ["output.json", "output.json", "Size and SHA-256 verified."],
    ["many", "many.json", "SHA-256 of the list of its files verified. The files are not in it."],
  ] as const) {
    test(`says what was checked of ${name}`, async () => {
      await using person = await open();
      const file = fileOf(person, name);
      const downloading = person.page.waitForEvent("download");
      await file.getByRole("button").click();
      const download = await downloading;
      assert.equal(download.suggestedFilename(), saved);
      await file.getByText(said, { exact: true }).waitFor();
      const text = readFileSync(await download.path(), "utf8");
      if (name === "output.json") assert.equal(text, '{"made":2,"of":["zeta","alpha"]}');
      if (name === "many") assert.match(text, /^\{"entries":\[\{.*"url":"http/);
    });

    test(`hands nothing over of ${name} that is not what the agent told of`, async () => {
      await using person = await open((_, data) => Object.assign(data, { sha256: "0".repeat(64) }));
      let downloads = 0;
      person.page.on("download", () => downloads++);
      const file = fileOf(person, name);
      await file.getByRole("button").click();
      await file.getByText(/is not what the agent told of/).waitFor();
      assert.equal(downloads, 0);
    });
  }

  test("says that there was no hash to check by, where the agent told none", async () => {
    await using person = await open((artifact) => delete (artifact as { metadata?: unknown }).metadata);
    const file = fileOf(person, "notes.txt");
    await file.getByRole("button").click();
    await file.getByText("Downloaded. The agent gave no hash to check it by.", { exact: true }).waitFor();
  });
});
