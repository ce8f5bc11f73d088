/** Loaded into a node before all else: its clock is wrong by `SKEW_MS`, as a machine's may be. */
const skew = Number(process.env["SKEW_MS"] ?? 0);
const now = Date.now.bind(Date);
const Real = Date;

globalThis.Date = class extends Real {
  static override now(): number {
    return now() + skew;
  }

  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(now() + skew);
    else super(...(args as [number]));
  }
} as DateConstructor;
