import assert from "node:assert/strict";
import { it } from "node:test";

import { makeAgent, serve } from "./served.ts";

it("GET /v1/usage tells a subject what its own tasks used, and an operator what all did (I7, I11)", async () => {
  const agents = [
    makeAgent("paid", (turn) => {
      turn.usage({ costUsd: 0.25, tokens: 40 });
      return "Done";
    }),
    makeAgent("free", () => "Done"),
  ];
  await using served = await serve({ agents });
  await served.send({}, { agent: "paid", as: "ada" });
  await served.send({}, { agent: "paid", as: "bob" });
  await served.send({}, { agent: "free", as: "bob" });
  const ask = async (as: string | undefined, query = "") => {
    const response = await served.get(`/v1/usage${query}`, as === undefined ? {} : { authorization: `Bearer ${as}` });
    return [response.status, ((await response.json()) as { usage?: object[] }).usage] as const;
  };
  const day = new Date(served.core.store.now()).toISOString().slice(0, 10);
  const free = { agent: "free", turns: 1, day };
  assert.deepEqual(await ask("ada"), [200, [{ agent: "paid", turns: 1, tokens: 40, costUsd: 0.25, day }]]);
  assert.deepEqual(await ask("bob", "?days=1"), [
    200,
    [free, { agent: "paid", turns: 1, tokens: 40, costUsd: 0.25, day }],
  ]);
  assert.deepEqual(await ask("operator"), [200, [free, { agent: "paid", turns: 2, tokens: 80, costUsd: 0.5, day }]]);
  assert.deepEqual(await ask("eve"), [200, []]);
  assert.deepEqual(await ask(undefined), [401, undefined]);
  for (const days of ["0", "401", "-1", "1e2", "x"])
    assert.deepEqual(await ask("ada", `?days=${days}`), [400, undefined]);
});
