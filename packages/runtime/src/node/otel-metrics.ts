/** {@link Metrics} as instruments of OpenTelemetry's API: they go to whichever SDK is registered. */
import { metrics as api } from "@opentelemetry/api";
import type { Observable, ObservableCallback } from "@opentelemetry/api";

import type { Figure, Metrics } from "../http/metrics.ts";

/**
 * @param version Of this package.
 * @returns Ends it.
 */
export function addInstruments(metrics: Metrics, version: string): () => void {
  const meter = api.getMeter("@nylorun/runtime", version);
  const stops: (() => void)[] = [];
  for (const figure of metrics.figures) {
    const { name, unit } = nameOf(figure);
    const options = { description: figure.help, unit };
    const observable: Observable =
      figure.kind === "counter"
        ? meter.createObservableCounter(name, options)
        : meter.createObservableGauge(name, options);
    const observe: ObservableCallback = async (result) => {
      for (const { value, labels } of await figure.read()) result.observe(value, labels);
    };
    observable.addCallback(observe);
    stops.push(() => observable.removeCallback(observe));
  }
  for (const distribution of metrics.distributions) {
    const { name, unit } = nameOf(distribution);
    const histogram = meter.createHistogram(name, {
      description: distribution.help,
      unit,
      advice: { explicitBucketBoundaries: [...distribution.bounds] },
    });
    distribution.onRecord = (value) => histogram.record(value);
    stops.push(() => (distribution.onRecord = undefined));
  }
  return () => {
    for (const stop of stops) stop();
  };
}

const UNITS: Readonly<Record<string, string>> = { seconds: "s", bytes: "By" };

/** `nylorun_store_write_seconds` is `nylorun.store.write` in `s`: OpenTelemetry keeps the unit apart. */
function nameOf({ name }: Pick<Figure, "name">): { readonly name: string; readonly unit: string } {
  const words = name.replace(/_total$/, "").split("_");
  const unit = UNITS[words.at(-1) ?? ""];
  return { name: (unit === undefined ? words : words.slice(0, -1)).join("."), unit: unit ?? "1" };
}
