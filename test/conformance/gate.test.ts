import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { citationsIn } from "./citations.ts";
import { problemsOf } from "./gate.ts";
import { must, section } from "./requirement.ts";
import { SECTIONS } from "./requirements.ts";
import { NOT_SERVED, TCK } from "./tck.ts";

const DOCUMENT = { prefix: "doc", name: "A document", at: "docs/README.md" };
const SECTION = section(DOCUMENT, ["1.2", "Things"], {
  kept: must("It is kept.", { tck: ["T-1"] }),
  not: must("It is not kept.", { deviates: "It would be worse." }),
  theirs: must("It is somebody else's.", { left: "somebody else" }),
});
const problems = (text: string, tck: readonly string[] = ["T-1"]): string[] => {
  const { citations, problems: misread } = citationsIn("a.test.ts", text);
  return [...misread, ...problemsOf({ sections: [SECTION], citations, tck })];
};
const GOOD = '// keeps: doc-1.2-kept\nit("is", () => {});\n// deviates: doc-1.2-not\nit("is not", () => {});\n';

describe("the gate", () => {
  it("has nothing to say when each requirement has a test, and each test a requirement", () => {
    assert.deepEqual(problems(GOOD), []);
    const inGroup = `describe("a group", () => {\n${GOOD.replaceAll(/^/gm, "  ")}});\n`;
    assert.deepEqual(problems(inGroup), []);
    assert.deepEqual(problems(GOOD.replace("it(", "// What it is.\nit(")), [], "comments may stand between");
  });

  it("finds a requirement that no test keeps", () => {
    assert.match(problems(GOOD.slice(GOOD.indexOf("// deviates")))[0]!, /^doc-1\.2-kept is cited by no test/);
    assert.match(problems(GOOD.slice(0, GOOD.indexOf("// deviates")))[0]!, /^doc-1\.2-not is cited by no test/);
  });

  it("finds a citation of nothing", () => {
    assert.match(problems(`${GOOD}// keeps: doc-9-none\nit("x", () => {});`)[0]!, /^a\.test\.ts:5 cites doc-9-none/);
    assert.match(problems(`${GOOD}// keeps: doc-1.2-kept,\nit("x", () => {});`)[0]!, /nothing between two commas/);
  });

  it("finds a citation above nothing that runs", () => {
    const test = 'it("x", () => {});';
    for (const below of ["", "const x = 1;", 'it.skip("x", () => {});', 'it.todo("x");', `}\n${test}`, `\n${test}`]) {
      assert.match(problems(`${GOOD}// keeps: doc-1.2-kept\n${below}`)[0]!, /stands above no test/, below);
    }
  });

  it("finds a deviation that is said to be kept, and the other way round", () => {
    const swapped = GOOD.replace("deviates:", "x").replace("keeps:", "deviates:").replace("x", "keeps:");
    assert.deepEqual(
      problems(swapped).map((one) => /said to be (\w+)/.exec(one)?.[1]),
      ["kept", "deviated"],
    );
    assert.match(problems(`${GOOD}// keeps: doc-1.2-theirs\nit("x", () => {});`)[0]!, /left to somebody else/);
  });

  it("finds what the test kit checks and nobody re-states", () => {
    assert.match(problems(GOOD, ["T-1", "T-2"])[0]!, /^T-2 of the test kit is re-stated by no requirement/);
    assert.match(problems(GOOD, [])[0]!, /^T-1 is no requirement of the test kit/);
  });

  it("knows the whole test kit: what is served is re-stated, the rest is named as not served", () => {
    const restated = new Set(SECTIONS.flatMap(({ requirements }) => requirements.flatMap(({ tck }) => tck)));
    assert.deepEqual(
      TCK.filter((id) => !restated.has(id)),
      [],
    );
    assert.deepEqual(
      NOT_SERVED.filter((id) => restated.has(id)),
      [],
    );
    assert.equal(new Set([...TCK, ...NOT_SERVED]).size, TCK.length + NOT_SERVED.length);
  });
});
