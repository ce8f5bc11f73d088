/** Engines that look right, each without one of the rules: what a test of the rules must find out. */
import type { Change } from "./variant.ts";

/** As if the journal told nothing of where in the run a call was made. */
const matchesCallsAlone: readonly Change[] = [
  { file: "replay.ts", from: "if (recorded.after !== call.after) {", to: "if (recorded.after === -1) {" },
  {
    file: "replay.ts",
    from: "((this.#entries[ahead] as Start).after ?? 0) <= this.#delivered",
    to: "this.#delivered < 0",
  },
  { file: "replay.ts", from: "if (callName(recorded) !== callName(call)) {", to: "if (recorded.kind !== call.kind) {" },
];

export const wrongEngines: Readonly<Record<string, readonly Change[]>> = {
  "hands what is recorded over in the order of the calls, not of the results (E2)": [
    ...matchesCallsAlone,
    {
      file: "replay.ts",
      from: "  #delivered = 0;\n",
      to: "  #delivered = 0;\n  #handed = new Set<number>();\n  #recorded = -1;\n",
    },
    {
      file: "replay.ts",
      from: "  load(entries: readonly Entry[]): void {\n",
      to: "  load(entries: readonly Entry[]): void {\n    if (this.#recorded < 0) this.#recorded = entries.length;\n",
    },
    {
      file: "replay.ts",
      from: "  #nextCompletion(): number | undefined {\n",
      to: `  #nextCompletion(): number | undefined {
    let first: number | undefined;
    this.#entries.slice(0, this.#recorded).forEach((entry, at) => {
      if (!isCompletion(entry) || this.#handed.has(at)) return;
      if (first === undefined || entry.of < (this.#entries[first] as Completion).of) first = at;
    });
    if (first !== undefined) return first;
    this.#cursor = Math.max(this.#cursor, this.#recorded);
`,
    },
    {
      file: "replay.ts",
      from: "    this.#cursor = at + 1;\n",
      to: "    this.#handed.add(at);\n    if (at >= this.#recorded) this.#cursor = at + 1;\n",
    },
  ],

  "hands over at once all results that are there (E2)": [
    ...matchesCallsAlone,
    {
      file: "steps.ts",
      from: "this.take(() => this.#handOver(at, completion));",
      to: `this.take(() => {
        this.#handOver(at, completion);
        for (let more = this.#run.replay.next(); more.kind === "deliver"; more = this.#run.replay.next())
          this.#handOver(more.at, more.completion);
      });`,
    },
  ],

  "tries once more whatever was begun (I4, E8)": [
    {
      file: "effect.ts",
      from: 'if (stage === "allowed" || (stage === "begun" && this.#mayRepeat(at))) this.#again(at, 0);',
      to: 'if (stage === "allowed" || stage === "begun") this.#again(at, 0);',
    },
  ],

  "runs an effect before its beginning is on disk (E7)": [
    {
      file: "face.ts",
      from: "effects.begin(at, { name, run: code, options }, isNew)",
      to: "effects.begin(at, { name, run: early ? () => early : code, options }, isNew)",
    },
    {
      file: "face.ts",
      from: '      checkTime("timeoutMs", options.timeoutMs, 1);\n',
      to: `      checkTime("timeoutMs", options.timeoutMs, 1);
      const id = ports.entropy.id();
      const key = ports.entropy.derive(\`effect \${id}\`).slice(0, 32);
      const early = run.behind ? undefined : (async () => code({ key, signal: run.signal } as never))();
      early?.catch(() => undefined);
`,
    },
    { file: "face.ts", from: "        name,\n        id: ports.entropy.id(),", to: "        name,\n        id," },
  ],

  "concludes uncertainty again for what is known (E9)": [
    {
      file: "journal-writer.ts",
      from: 'waiting = waiting.filter(({ entry }) => !("of" in entry && run.replay.hasEnded(entry.of)));',
      to: "",
    },
  ],

  "ends a turn before its effects have (E10)": [
    {
      file: "conclusion.ts",
      from: "if (!writer.idle || effects.running > 0) return;",
      to: "if (!writer.idle) return;",
    },
  ],

  "draws chance anew in each run (E15)": [
    {
      file: "chance.ts",
      from: "run.ports.entropy.derive(`chance ${context}.${turn} ${step}.${calls++}`)",
      to: "run.ports.entropy.hex(32 + 0 * context * turn * calls++)",
    },
  ],
};
