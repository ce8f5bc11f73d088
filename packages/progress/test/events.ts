/** Records for tests. */
import { sinkRecord } from "../src/record.ts";
import type { SinkRecord } from "../src/record.ts";

export function record(fields: Partial<SinkRecord> = {}): SinkRecord {
  const { agent, ...event } = fields;
  return sinkRecord(
    {
      proto: 1,
      task_id: "test:task",
      percent: 50,
      eta_seconds: null,
      stage: "Testing",
      status: "running",
      timestamp: "2026-10-14T02:00:00.000Z",
      ...event,
    },
    agent,
  );
}

export const line = (fields: Partial<SinkRecord> = {}): string => `${JSON.stringify(record(fields))}\n`;

/** The file of the day that records have unless told otherwise. */
export const FILE = "events-2026-10-14.jsonl";
