/**
 * What operators measure a Runtime by: figures that are read when somebody asks, and those that are counted as things happen. This is
 * the list of them all, and Prometheus's text form of it (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Figure {
  /** Prometheus's: `nylorun_…`, with the unit at the end. */
  readonly name: string;
  readonly help: string;
  readonly kind: "gauge" | "counter";
  /** Undefined where nobody knows. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>;
}

export interface Distribution {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[];
  /** How many were at most each bound, and how many in all at the end. */
  readonly counts: readonly number[];
  readonly sum: number;
  /** Called with each value that is recorded from here on. */
  onRecord: ((value: number) => void) | undefined;
}

export class Metrics {
  readonly figures: Figure[] = [];
  readonly distributions: Distribution[] = [];

  gauge(name: string, help: string, read: Figure["read"]): void {
    this.figures.push({ name, help, kind: "gauge", read });
  }

  /** Counts how often something happens, by what is told of it. Labels must be few: each set of them is kept. */
  counter(name: string, help: string): (labels: Readonly<Record<string, string>>, by?: number) => void {
    const counts = new Map<string, { value: number; readonly labels: Readonly<Record<string, string>> }>();
    this.figures.push({ name, help, kind: "counter", read: () => [...counts.values()] });
    return (labels, by = 1) => {
      const key = Object.values(labels).join("\n");
      const count = counts.get(key);
      if (count !== undefined) count.value += by;
      else counts.set(key, { value: by, labels });
    };
  }

  distribution(name: string, help: string, bounds: readonly number[]): (value: number) => void {
    const counts = Array.from({ length: bounds.length + 1 }, () => 0);
    let sum = 0;
    const distribution: Distribution = {
      name,
      help,
      bounds,
      get counts() {
        let total = 0;
        return counts.map((count) => (total += count));
      },
      get sum() {
        return sum;
      },
      onRecord: undefined,
    };
    this.distributions.push(distribution);
    return (value) => {
      let at = 0;
      while (at < bounds.length && value > bounds[at]!) at++;
      counts[at]!++;
      sum += value;
      distribution.onRecord?.(value);
    };
  }

  /** In Prometheus's text form. */
  async text(): Promise<string> {
    const lines: string[] = [];
    for (const { name, help, kind, read } of this.figures) {
      const samples = await read();
      // Also of what has not happened yet, so that it can be told what there is.
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
      for (const { value, labels } of samples) lines.push(`${name}${labelText(labels)} ${value}`);
    }
    for (const { name, help, bounds, counts, sum } of this.distributions) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} histogram`);
      counts.forEach((count, at) => lines.push(`${name}_bucket{le="${bounds[at] ?? "+Inf"}"} ${count}`));
      lines.push(`${name}_sum ${sum}`, `${name}_count ${counts.at(-1)}`);
    }
    return `${lines.join("\n")}\n`;
  }
}

function labelText(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escape(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
