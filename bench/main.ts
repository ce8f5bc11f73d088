/**
 * Ratios against peers, measured in one run: `npm run bench -- NAME [--quick]`. The last line is for programs:
 * `RESULT NAME key=value …`.
 */
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";

export interface BenchOptions {
  /** Less of everything: for trying out, not for figures to show. */
  readonly quick: boolean;
  /** How often each thing is measured; a default of the benchmark's own when left out. */
  readonly rounds: number | undefined;
}

const benchmarks: Readonly<Record<string, () => Promise<{ run(options: BenchOptions): Promise<void> }>>> = {
  cluster: () => import("./cluster.ts"),
  dashboard: () => import("./dashboard.ts"),
  files: () => import("./files.ts"),
  get: () => import("./get.ts"),
  list: () => import("./list.ts"),
  parked: () => import("./parked.ts"),
  progress: () => import("./progress.ts"),
  push: () => import("./push.ts"),
  send: () => import("./send.ts"),
  start: () => import("./start.ts"),
  widget: () => import("./widget.ts"),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, rounds: { type: "string" } },
});
const [name = ""] = positionals;
const benchmark = benchmarks[name];
const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
if (benchmark === undefined || (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))) {
  const names = Object.keys(benchmarks).join(", ");
  console.error(
    `npm run bench -- NAME [--quick] [--rounds N], where NAME is one of ${names}. It got "${process.argv.slice(2).join(" ")}".`,
  );
  process.exitCode = 1;
} else {
  console.log(`${cpus()[0]?.model.trim() ?? "?"}, ${availableParallelism()} cores, Node ${process.version}\n`);
  const module = await benchmark();
  await module.run({ quick: values.quick, rounds });
}
