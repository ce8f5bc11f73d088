/** The soak's operator: lets held turns go, and says of each lost effect what its own log says of it, as an operator would who looks at the provider. */
import { setTimeout as delay } from "node:timers/promises";

import { readDeeds } from "./checker.ts";

export interface OperatorOptions {
  readonly url: string;
  readonly key: string;
  readonly log: string;
}

export class Operator {
  readonly #options: OperatorOptions;
  resolved = 0;
  released = 0;

  constructor(options: OperatorOptions) {
    this.#options = options;
  }

  async work(until: () => boolean): Promise<void> {
    while (!until()) {
      await this.#round().catch(() => undefined);
      await delay(1000);
    }
  }

  async #round(): Promise<void> {
    await this.#release();
    const { effects } = (await this.#call("GET", "/v1/operator/effects")) as {
      effects: { effectId: string; taskId: string; name: string; lostAt: number }[];
    };
    if (effects.length === 0) return;
    const deeds = readDeeds(this.#options.log);
    for (const { effectId, taskId, name } of effects) {
      const ours = deeds.filter((deed) => deed.task === taskId && deed.effect === name);
      const isDone = ours.some(({ what }) => what === "done");
      const begun = ours.length > 0;
      const outcome = isDone
        ? { outcome: "completed", value: name }
        : { outcome: "failed", message: begun ? "It was begun, and not done." : "It was not begun." };
      await this.#call("POST", `/v1/operator/effects/${effectId}/resolve`, outcome).then(
        () => this.resolved++,
        () => undefined,
      );
    }
  }

  /** Whatever so many processes died with: here it is not the turn that kills them (E17). */
  async #release(): Promise<void> {
    const { turns } = (await this.#call("GET", "/v1/operator/turns/held")) as { turns: { taskId: string }[] };
    for (const { taskId } of turns) {
      await this.#call("POST", `/v1/operator/turns/${taskId}/release`).then(
        () => this.released++,
        () => undefined,
      );
    }
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.#options.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#options.key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
    return response.status === 204 ? undefined : response.json();
  }
}
