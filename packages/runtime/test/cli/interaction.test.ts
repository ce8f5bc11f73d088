import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { OpenInteraction } from "@nylorun/protocol";
import stringWidth from "string-width";

import { askPerson, interactionText } from "../../src/cli/interaction.ts";
import type { Ask } from "../../src/cli/interaction.ts";

const approval: OpenInteraction = { interactionId: "i", kind: "approval", prompt: "Refund 42.00 EUR to Ada?" };
const connection: OpenInteraction = { interactionId: "i", kind: "connection", prompt: "Connect your calendar." };
const choice: OpenInteraction = {
  interactionId: "i",
  kind: "question",
  prompt: "When?",
  detail: { choices: ["10:00", "14:00", "3"] },
};
const question: OpenInteraction = { interactionId: "i", kind: "question", prompt: "What is your name?" };
const number: OpenInteraction = { ...question, detail: { schema: { type: "number" } } };

/** A person who types these lines, and then no more. */
function typing(...lines: readonly string[]): Ask & { readonly asked: string[] } {
  const asked: string[] = [];
  const rest = [...lines];
  return Object.assign(async (text: string) => (asked.push(text), rest.shift()), { asked });
}

describe("a person at a terminal", () => {
  it("approves with the word for it, and with nothing else", async () => {
    for (const line of ["a", "A", "approve", "APPROVE"]) {
      assert.deepEqual((await askPerson(approval, typing(line)))?.answer, { interactionId: "i", approved: true });
    }
    const others = [
      "",
      "y",
      "yes",
      "ok",
      "1",
      "true",
      "approved",
      "a b",
      "ja",
      "aa",
      "é",
      '{"approved":true}',
      "[a]",
      "c",
    ];
    for (const line of others) assert.equal(await askPerson(approval, typing(line)), undefined, line);
  });

  it("denies with the word for it, leaves it open with another, and is asked again for anything else", async () => {
    for (const line of ["d", "Deny"]) {
      assert.deepEqual((await askPerson(approval, typing("", "yes", line)))?.answer, {
        interactionId: "i",
        approved: false,
      });
    }
    for (const line of ["l", "later"]) {
      const person = typing("", line, "a");
      assert.equal(await askPerson(approval, person), undefined);
      assert.equal(person.asked.length, 2);
      assert.match(person.asked[1]!, /^Type a to approve, d to deny, l to leave it open\.\n/);
    }
  });

  it("is not asked for ever", async () => {
    const person = typing(...Array.from({ length: 1000 }, () => "yes"));
    assert.equal(await askPerson(approval, person), undefined);
    assert.ok(person.asked.length < 100);
  });

  it("says that something is connected, which is not what approves", async () => {
    assert.deepEqual((await askPerson(connection, typing("c")))?.answer, { interactionId: "i", approved: true });
    assert.deepEqual((await askPerson(connection, typing("d")))?.answer, { interactionId: "i", approved: false });
    assert.equal(await askPerson(connection, typing("a")), undefined);
  });

  it("chooses by number, or by the words of the choice, which come first", async () => {
    const values: Record<string, unknown> = { "1": "10:00", "2": "14:00", "14:00": "14:00", "3": "3" };
    for (const [line, value] of Object.entries(values)) {
      assert.deepEqual((await askPerson(choice, typing(line)))?.answer, { interactionId: "i", value });
    }
    for (const line of ["0", "4", "-1", "1.0", "10", "noon", "", "l"]) {
      assert.equal(await askPerson(choice, typing(line)), undefined, line);
    }
  });

  it("answers a question with a text, or with JSON where that is asked for; with nothing it is left", async () => {
    const answer = async (open: OpenInteraction, line: string) => (await askPerson(open, typing(line)))?.answer;
    assert.deepEqual(await answer(question, "42"), { interactionId: "i", value: "42" });
    assert.deepEqual(await answer(number, "42"), { interactionId: "i", value: 42 });
    assert.deepEqual(await answer(number, "many"), { interactionId: "i", value: "many" });
    assert.deepEqual(await answer({ ...question, detail: { schema: { type: "string" } } }, "42"), {
      interactionId: "i",
      value: "42",
    });
    assert.equal(await answer(question, ""), undefined);
  });
});

describe("an interaction", () => {
  it("is shown with its details as a table", () => {
    const detail = { action: "refund", order: "1001", amount: 42, express: true, lines: [{ id: 1 }], note: null };
    assert.equal(
      interactionText({ ...approval, detail }, 80),
      [
        "  Refund 42.00 EUR to Ada?",
        "",
        "  action   refund",
        "  order    1001",
        "  amount   42",
        "  express  true",
        '  lines    [{"id":1}]',
        "  note     null",
      ].join("\n"),
    );
    assert.equal(interactionText(choice, 80), ["  When?", "", "   1  10:00", "   2  14:00", "   3  3"].join("\n"));
  });

  it("keeps to the width of the terminal, in cells, and loses nothing", () => {
    const words = "Überweisung 退款 an 愛子 👩‍👩‍👧 ".repeat(10).trim();
    const long = "x".repeat(150);
    const open = { ...approval, prompt: `${words}\n${long}`, detail: { [long]: words, 金額: long } };
    for (const columns of [20, 40, 80, 200]) {
      const text = interactionText(open, columns);
      for (const line of text.split("\n")) {
        assert.ok(stringWidth(line) <= Math.min(columns, 100), `${columns}: ${line}`);
      }
      assert.equal(text.replaceAll(/[^x]/g, "").length, 3 * long.length);
      assert.equal(text.match(/愛子/g)?.length, 20);
    }
  });

  it("cannot clear the screen, forge a line, or turn the text around, whatever the agent wrote", () => {
    const evil = "\x1b[2J\x1b]0;owned\x07\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\u202Eevil\r\x9b31m\x08";
    const text = interactionText(
      { ...approval, prompt: `Pay 1 EUR\r${evil}`, detail: { [`to${evil}`]: `Ada\n  amount  1${evil}`, list: [evil] } },
      80,
    );
    // oxlint-disable-next-line no-control-regex -- that none is there
    assert.doesNotMatch(text.replaceAll("\n", ""), /[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
    const lines = text.split("\n");
    assert.deepEqual(lines.slice(0, 4), ["  Pay 1 EUR", "  linkevil", "", "  tolinkevil  Ada   amount  1linkevil"]);
    const choices = interactionText({ ...choice, detail: { choices: [`one\n 2  two${evil}`, "two"] } }, 80);
    assert.equal(choices.split("\n").length, 4, choices);
  });
});
