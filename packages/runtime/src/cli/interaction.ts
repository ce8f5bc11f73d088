import { plainText } from "@nylorun/protocol";
import type { OpenInteraction } from "@nylorun/protocol";
/**
 * An open interaction, as a person at a terminal reads it, and what they answer. What an agent wrote is printed as text, whatever is
 * in it: no escape sequence gets through.
 */
import stringWidth from "string-width";

import type { Answering } from "../node/caller.ts";

/** Columns that are used at most; longer lines are hard to read. */
const WIDEST = 100;
/** Columns of a name in the table of details. */
const WIDEST_NAME = 24;
/** How often an answer that is none is asked for again. */
const TRIES = 20;

/** What the agent asks, and what it shows with it, in lines of at most `columns`. */
export function interactionText(open: OpenInteraction, columns: number): string {
  const width = Math.min(columns, WIDEST) - 2;
  const table = detailRows(open);
  const widest = Math.min(WIDEST_NAME, Math.floor(width / 3));
  const names = Math.min(widest, Math.max(0, ...table.map(([name]) => stringWidth(name))));
  const rows = table.flatMap(([name, value]) => {
    const indent = " ".repeat(names + 2);
    const values = wrap(value, width - names - 2).map((line) => `${indent}${line}`);
    // A name that does not fit beside its value stands above it.
    if (stringWidth(name) > names) return [...wrap(name, width), ...values];
    return [pad(name, names) + values[0]!.slice(names), ...values.slice(1)];
  });
  const words = open.prompt.split(/\r\n?|\n/).map((line) => plainText(line));
  const prompt = words.slice(0, words.findLastIndex((line) => line !== "") + 1).flatMap((line) => wrap(line, width));
  const choices = choicesOf(open)?.map((choice, index) => `${String(index + 1).padStart(2)}  ${plainText(choice)}`);
  return [prompt, rows, choices ?? []]
    .filter((block) => block.length > 0)
    .map((block) => block.map((line) => `  ${line}`.trimEnd()).join("\n"))
    .join("\n\n");
}

/** How the terminal asks: writes the question, and gives back the line that came; undefined when none will come any more. */
export type Ask = (question: string) => Promise<string | undefined>;

/** Lets the person answer. Undefined: later. Only the words for it approve; Enter, or anything else, does not. */
export async function askPerson(open: OpenInteraction, ask: Ask): Promise<Answering | undefined> {
  const { question, hint } = wordingOf(open);
  for (let tries = 0; tries < TRIES; tries++) {
    const line = await ask(tries === 0 ? question : `${hint}\n${question}`);
    if (line === undefined) return undefined;
    const answer = open.kind === "question" ? chosen(open, line) : decided(open, line);
    if (answer !== "unclear") return answer === "later" ? undefined : answer;
  }
  return undefined;
}

export function decide({ interactionId, kind }: OpenInteraction, approved: boolean): Answering {
  const yes = kind === "approval" ? "Approved." : "Connected.";
  return { answer: { interactionId, approved }, parts: [{ text: approved ? yes : "Denied." }] };
}

export function giveValue({ interactionId }: OpenInteraction, value: unknown): Answering {
  // Every agent's history can show a text; not every agent takes data.
  const text = typeof value === "string" && value !== "" ? value : JSON.stringify(value);
  return { answer: { interactionId, value }, parts: [{ text }] };
}

/** What is asked; and what is said when the answer was none. */
function wordingOf(open: OpenInteraction): { readonly question: string; readonly hint: string } {
  const choices = choicesOf(open);
  switch (open.kind) {
    case "approval":
      return { question: "[a]pprove  [d]eny  [l]ater: ", hint: "Type a to approve, d to deny, l to leave it open." };
    case "connection": {
      const hint = "Type c when it is connected, d to deny, l to leave it open.";
      return { question: "[c]onnected  [d]eny  [l]ater: ", hint };
    }
    case "question": {
      if (choices === undefined) {
        const json = schemaOf(open) === undefined ? "" : ", as JSON";
        return { question: `Your answer${json} (empty: later): `, hint: "" };
      }
      const hint = `Type the number before your choice, or l to leave it open.`;
      return { question: `Which one? 1-${choices.length}, or [l]ater: `, hint };
    }
  }
}

function decided(open: OpenInteraction, line: string): Answering | "later" | "unclear" {
  const word = line.toLowerCase();
  const yes = open.kind === "approval" ? ["a", "approve"] : ["c", "connected"];
  if (yes.includes(word)) return decide(open, true);
  if (["d", "deny"].includes(word)) return decide(open, false);
  return ["l", "later"].includes(word) ? "later" : "unclear";
}

function chosen(open: OpenInteraction, line: string): Answering | "later" | "unclear" {
  const choices = choicesOf(open);
  if (choices !== undefined) {
    const choice =
      choices.find((each) => each === line) ?? (/^\d{1,3}$/.test(line) ? choices[Number(line) - 1] : undefined);
    if (choice !== undefined) return giveValue(open, choice);
    return ["l", "later"].includes(line.toLowerCase()) ? "later" : "unclear";
  }
  if (line === "") return "later";
  const schema = schemaOf(open);
  if (schema === undefined) return giveValue(open, line);
  try {
    return giveValue(open, JSON.parse(line));
  } catch {
    // A text need not be in quotes; whether one fits is the Runtime's to say.
    return giveValue(open, line);
  }
}

function choicesOf({ kind, detail }: OpenInteraction): readonly string[] | undefined {
  const choices = kind === "question" ? detail?.["choices"] : undefined;
  return Array.isArray(choices) && choices.every((each) => typeof each === "string") ? choices : undefined;
}

function schemaOf({ kind, detail }: OpenInteraction): object | undefined {
  const schema = kind === "question" ? detail?.["schema"] : undefined;
  return typeof schema === "object" && schema !== null && (schema as { type?: unknown }).type !== "string"
    ? schema
    : undefined;
}

function detailRows(open: OpenInteraction): readonly (readonly [string, string])[] {
  const choices = choicesOf(open);
  return Object.entries(open.detail ?? {})
    .filter(([name]) => name !== "choices" || choices === undefined)
    .map(([name, value]) => [plainText(name), plainText(typeof value === "string" ? value : JSON.stringify(value))]);
}

function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - stringWidth(text)));
}

/** Breaks at blanks, and words that are wider than a line anywhere. */
function wrap(text: string, width: number): readonly string[] {
  const room = Math.max(width, 10);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((each) => pieces(each, room))) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (stringWidth(longer) <= room) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

function pieces(word: string, width: number): readonly string[] {
  if (stringWidth(word) <= width) return [word];
  const cut: string[] = [""];
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    if (stringWidth(cut.at(-1)! + segment) > width) cut.push(segment);
    else cut[cut.length - 1] += segment;
  }
  return cut;
}
