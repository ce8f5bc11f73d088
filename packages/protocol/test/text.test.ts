import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { plainText } from "../src/index.ts";

// keeps: a2a-14.1-sanitized
test("what steers a terminal is taken out whole (P23)", () => {
  for (const [given, plain] of [
    ["\x1b[2J\x1b[Hcleared", "cleared"],
    ["\x1b[1;31mred\x1b[0m", "red"],
    ["\x1b]0;title\x07after", "after"],
    ["\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"],
    ["\x9b31mred", "red"],
    ["\x9d0;title\x9cafter", "after"],
    ["\x1bPq#0\x1b\\sixel", "sixel"],
    ["\x1bcreset", "reset"],
    ["\x1b(Bcharset", "charset"],
    ["\x1b\x1b[31m[31mtwice", "[31mtwice"],
    ["\x1b]0;never ends", "0;never ends"],
    ["a\bb\x7fc\0d", "abcd"],
    ["bell\x07", "bell"],
  ]) {
    assert.equal(plainText(given as string), plain, JSON.stringify(given));
  }
});

test("line breaks and tabs become one space, and spaces at the ends go", () => {
  assert.equal(plainText("\r\n one\r\ntwo\tthree\u2028four\u0085five \n"), "one two three four five");
});

test("text cannot be made to run the wrong way, and right-to-left text stays", () => {
  assert.equal(plainText("file\u202egnp.exe\u2066x\u2069"), "filegnp.exex");
  assert.equal(plainText("\u05e9\u05dc\u05d5\u05dd\u200f!"), "\u05e9\u05dc\u05d5\u05dd\u200f!");
});

test("a cut leaves whole characters: no half of a pair, at most the limit in code points", () => {
  assert.equal(plainText("😀".repeat(130), 120), "😀".repeat(120));
  assert.equal(plainText(`${"a".repeat(119)}😀😀`, 120), `${"a".repeat(119)}😀`);
  assert.equal(plainText("abc def", 4), "abc");
  assert.equal(plainText("\ud83d", 120), "\ufffd");
  assert.equal(plainText("\ud83d\u202e\ude00"), "😀");
  assert.equal(plainText("abc", 0), "");
});

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\x1b",
        "\x1b[",
        "\x1b]",
        "\x9b",
        "\x07",
        "\x1b\\",
        "31m",
        ";",
        " ",
        "\n",
        "\u202e",
        "\ud83d",
        "\ude00",
        "m",
        "é",
        "字",
      ),
      fc.string({ unit: "binary" }),
    ),
  )
  .map((pieces) => pieces.join(""));

test("doing it again changes nothing, and nothing unprintable is ever left", () => {
  fc.assert(
    fc.property(hostile, fc.nat(20), (text, limit) => {
      const once = plainText(text, limit);
      assert.equal(plainText(once, limit), once);
      assert.ok(Array.from(once).length <= limit);
      assert.ok(once.isWellFormed());
      assert.doesNotMatch(once, /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    }),
    { numRuns: 1000 },
  );
});

test("hostile text takes time in proportion to its length", () => {
  const time = (unit: string, count: number): number => {
    const text = unit.repeat(count);
    const start = performance.now();
    plainText(text, 120);
    return performance.now() - start;
  };
  for (const unit of ["\x1b]", "\x1b[", "\x1b[1", "\x1b]a", "\x9d", "\x90a", "\x9b1", "\x1b ", "\x1b[0;", " \n"]) {
    assert.ok(time(unit, 300_000) < 1000, JSON.stringify(unit));
  }
  // One introducer before a long tail that never ends it.
  assert.ok(time(`\x1b]${"a".repeat(1_000_000)}`, 1) < 1000);
});
