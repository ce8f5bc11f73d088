import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";

import fc from "fast-check";

import { createTaskIds, TASK_ID_KEY_BYTES } from "../../src/access/task-ids.ts";
import type { TurnKey } from "../../src/turn/record.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const key = randomBytes(TASK_ID_KEY_BYTES);
const ids = createTaskIds(key);
const integer = fc.oneof(fc.maxSafeNat(), fc.nat(1000), fc.constant(Number.MAX_SAFE_INTEGER));
const turnKey: fc.Arbitrary<TurnKey> = fc.record({ context: integer, turn: integer });

describe("task ids", () => {
  it("come back as the turn they were made of, also after a restart with the same key", () => {
    const restarted = createTaskIds(key);
    fc.assert(
      fc.property(turnKey, (turn) => {
        const id = ids.encode(turn);
        assert.match(id, /^[A-Za-z0-9_-]{22}$/);
        assert.deepEqual(ids.decode(id), { ...turn });
        assert.deepEqual(restarted.decode(id), { ...turn });
      }),
    );
  });

  it("differ for different turns", () => {
    fc.assert(
      fc.property(turnKey, turnKey, (one, other) => {
        const same = one.context === other.context && one.turn === other.turn;
        assert.equal(ids.encode(one) === ids.encode(other), same);
      }),
    );
  });

  // keeps: profile-rules-task-id
  it("show nothing of the turn: neighbours share no more characters than chance gives them", () => {
    let shared = 0;
    const pairs = 2_000;
    for (let turn = 0; turn < pairs; turn++) {
      const one = ids.encode({ context: 1, turn });
      const next = ids.encode({ context: 1, turn: turn + 1 });
      for (let at = 0; at < 21; at++) if (one[at] === next[at]) shared++;
    }
    assert.ok(shared / (pairs * 21) < 2 / 64, `${shared} of ${pairs * 21} characters are equal`);
  });

  it("name no other turn when a character is altered, and only one spelling of an id is one", () => {
    const turns = Array.from({ length: 64 }, (_, turn) => ({ context: turn >> 3, turn }));
    const made = new Set(turns.map((turn) => ids.encode(turn)));
    for (const id of made) {
      for (let at = 0; at < id.length; at++) {
        for (const character of ALPHABET) {
          if (character === id[at]) continue;
          const decoded = ids.decode(id.slice(0, at) + character + id.slice(at + 1));
          if (decoded === undefined) continue;
          // One in four million passes the check; then it must be a turn that nobody has.
          assert.ok(
            decoded.context > 8 || decoded.turn > 64,
            `${id} altered at ${at} names ${JSON.stringify(decoded)}`,
          );
        }
      }
    }
  });

  it("never decode to anything but what encodes to them", () => {
    const text = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc
        .array(fc.constantFrom(...ALPHABET.split("")), { minLength: 22, maxLength: 22 })
        .map((characters) => characters.join("")),
    );
    fc.assert(
      fc.property(text, (id) => {
        const decoded = ids.decode(id);
        if (decoded !== undefined) assert.equal(ids.encode(decoded), id);
      }),
    );
  });

  it("refuse padding, blanks, the other base 64 alphabet, loose trailing bits and other lengths", () => {
    let turn = 0;
    let id = ids.encode({ context: 7, turn });
    while (!/[-_]/.test(id)) id = ids.encode({ context: 7, turn: ++turn });
    const last = id.at(-1) ?? "";
    const loose = ALPHABET[ALPHABET.indexOf(last) + 1] ?? "";
    const spellings = [
      `${id}==`,
      `${id}=`,
      ` ${id}`,
      `${id}\n`,
      `${id}A`,
      id.slice(0, -1),
      id.slice(0, -1) + loose,
      id.replaceAll("-", "+").replaceAll("_", "/"),
      id + id,
      "",
    ];
    for (const spelling of spellings) assert.equal(ids.decode(spelling), undefined, JSON.stringify(spelling));
    assert.deepEqual(ids.decode(id), { context: 7, turn });
  });

  it("made under another key are foreign", () => {
    const others = createTaskIds(randomBytes(TASK_ID_KEY_BYTES));
    for (let turn = 0; turn < 1_000; turn++) {
      const decoded = ids.decode(others.encode({ context: 1, turn }));
      if (decoded !== undefined) assert.ok(decoded.context > 1_000 || decoded.turn > 1_000);
    }
  });

  it("cannot be made of what is no turn key", () => {
    for (const bad of [-1, 0.5, NaN, 2 ** 53]) {
      assert.throws(() => ids.encode({ context: bad, turn: 1 }), RangeError);
      assert.throws(() => ids.encode({ context: 1, turn: bad }), RangeError);
    }
  });
});
