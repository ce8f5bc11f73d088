/** The log: JSON lines on stderr, or, when a person looks at it, lines to read. Never a key, never what callers wrote. */
import { styleText } from "node:util";

import { plainText } from "@nylorun/protocol";
import { pino } from "pino";

import type { Settings } from "./settings.ts";

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** An `error` field is written with its stack and causes. */
export function createLog(level: Settings["logLevel"]): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.errWithCause },
    },
    process.stderr.isTTY ? { write: (line) => process.stderr.write(readable(line)) } : pino.destination(2),
  );
}

const COLOURS = { error: "red", warn: "yellow", info: "cyan", debug: "gray" } as const;

/** `12:30:01 warn A turn is held. agent="echo"`, and an error's stack below. */
function readable(line: string): string {
  const { time, level, msg, error, ...fields } = JSON.parse(line) as {
    time: string;
    level: keyof typeof COLOURS;
    msg?: string;
    error?: { stack?: string };
  };
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${plainText(JSON.stringify(value))}`);
  const clock = new Date(time).toTimeString().slice(0, 8);
  const head = `${clock} ${styleText(COLOURS[level], level.padEnd(5), { stream: process.stderr })}`;
  const stack = error?.stack === undefined ? "" : `\n${error.stack.split("\n").map(plainLine).join("\n")}`;
  return `${head} ${plainText(msg ?? "")}${styleText("dim", pairs.join(""), { stream: process.stderr })}${stack}\n`;
}

/** As far in as it was. */
function plainLine(line: string): string {
  return /^ */.exec(line)![0] + plainText(line);
}
