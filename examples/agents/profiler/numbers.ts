/** How the numbers of a column are spread. */

export interface Numbers {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Of a sample (n - 1); absent for a single number. */
  readonly standardDeviation?: number;
  /** Between neighbours, in proportion (type 7, as spreadsheets and NumPy do). */
  readonly quantiles: {
    readonly p5: number;
    readonly p25: number;
    readonly p50: number;
    readonly p75: number;
    readonly p95: number;
  };
}

/** @param values At least one, all finite. */
export function summarize(values: readonly number[]): Numbers {
  // Numbers in a typed array sort as numbers, in native code: some 0.1 s for a million.
  const sorted = Float64Array.from(values).toSorted();
  // Welford's method: no large sums that cancel each other out.
  let mean = 0;
  let squares = 0;
  sorted.forEach((value, index) => {
    const before = value - mean;
    mean += before / (index + 1);
    squares += before * (value - mean);
  });
  const deviation = Math.sqrt(squares / (sorted.length - 1));
  return {
    min: sorted[0]!,
    max: sorted.at(-1)!,
    mean: Math.min(Math.max(short(mean), sorted[0]!), sorted.at(-1)!),
    ...(Number.isFinite(deviation) ? { standardDeviation: short(deviation) } : {}),
    quantiles: {
      p5: quantile(sorted, 0.05),
      p25: quantile(sorted, 0.25),
      p50: quantile(sorted, 0.5),
      p75: quantile(sorted, 0.75),
      p95: quantile(sorted, 0.95),
    },
  };
}

function quantile(sorted: Float64Array, share: number): number {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)]!;
  const high = sorted[Math.ceil(at)]!;
  const part = at - Math.floor(at);
  // Held between its neighbours, which rounding could leave.
  return Math.min(Math.max(short(low * (1 - part) + high * part), low), high);
}

/** Without the noise of binary fractions: 0.3 rather than 0.30000000000000004. */
export function short(value: number): number {
  return Number(value.toPrecision(12));
}
