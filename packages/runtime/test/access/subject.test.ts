import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { checkSubject } from "../../src/access/subject.ts";

function refusal(value: unknown): string {
  try {
    checkSubject(value);
  } catch (error) {
    assert.equal((error as { code?: string }).code, "subject.invalid");
    return (error as Error).message;
  }
  return assert.fail(`${JSON.stringify(value)} was taken`);
}

describe("a subject", () => {
  it("is any 1-200 visible ASCII characters, taken as they are", () => {
    const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.array(visible, { minLength: 1, maxLength: 200 }), (characters) => {
        assert.equal(checkSubject(characters.join("")), characters.join(""));
      }),
    );
  });

  it("is refused with what is wrong and where", () => {
    assert.match(refusal(""), /1-200 visible ASCII characters.*it is empty\.$/);
    assert.match(refusal("a".repeat(201)), /it has 201 characters\.$/);
    assert.match(refusal("ada lovelace"), /character 4 is a blank\.$/);
    assert.match(refusal("ada\n"), /character 4 is U\+000A\.$/);
    assert.match(refusal("adä"), /character 3 is U\+00E4\.$/);
    assert.match(refusal("👩"), /character 1 is U\+1F469\.$/);
    assert.match(refusal(7), /it is number, not a text\.$/);
    assert.match(refusal(null), /it is null, not a text\.$/);
    assert.match(refusal(undefined), /it is undefined, not a text\.$/);
  });
});
