/**
 * Every setting of the Runtime, each defined once. Flags, environment variables, keys of the config file, their checks,
 * `--help` and the docs all come from this table.
 *
 * A setting's name is its key in the config file and its name in code; `turnTimeoutMs` is `--turn-timeout-ms` as a flag
 * and `NYLORUN_TURN_TIMEOUT_MS` in the environment. An empty environment variable counts as none.
 */
import {
  agentId,
  anotherFolder,
  baseUrl,
  databaseUrl,
  dialledHosts,
  folder,
  host,
  hostNames,
  jwtIssuers,
  keyFile,
  line,
  oneOf,
  secretLine,
  origins,
  schemaName,
  traceUrl,
  webhookSecrets,
  webUrl,
  whole,
} from "./setting.ts";
import type { Setting } from "./setting.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const MIB = 1024 * 1024;

export const SETTINGS = {
  // The home goes with the agents' code, not with the person: what waits in it can only be resumed by that code.
  home: folder({
    doc: "The folder that keeps everything: the database, the lock, the local key. One process serves a home.",
    default: ".nylorun",
  }),
  databaseUrl: databaseUrl({
    doc: "The PostgreSQL database that everything is kept in, for any number of processes; each has a home of its own beside it. Without one: a file in the home, for one process.",
  }),
  databaseSchema: schemaName({
    doc: "The schema of that database that the tables are in. It is made if there is none.",
    default: "nylorun",
  }),
  databaseConnections: whole({
    doc: "How many connections to that database this process opens at most, besides one for signals. What runs holds none.",
    min: 1,
    max: 1000,
    default: 10,
  }),
  host: host({
    doc: "The address to listen on. Beyond this machine only when you say so.",
    default: "127.0.0.1",
  }),
  // "NYLO" on a telephone's keys.
  port: whole({ doc: "The port to listen on; 0 takes any that is free.", min: 0, max: 65_535, default: 6956 }),
  publicUrl: baseUrl({
    doc: "Where callers reach the Runtime, as cards say it. Without it: the address it listens on.",
  }),
  allowedHosts: hostNames({
    doc: "More names that requests may carry in their Host header, besides the public URL's and, on this machine, localhost.",
  }),
  corsOrigins: origins({
    doc: "The origins whose pages may call from a browser. Without any: none but the Runtime's own.",
  }),
  jwtIssuers: jwtIssuers({
    doc: "Whose tokens are taken beside keys: JWTs (RS256, ES256, EdDSA) of these issuers. Their subjects are `<name>:<sub>`, or what `subject` says.",
  }),
  defaultAgent: agentId({
    doc: "Whose card /.well-known/agent-card.json is. Without it: the only agent's, if there is one only.",
  }),
  providerName: line({
    doc: "Who runs the agents, as cards say it. Goes with providerUrl.",
  }),
  providerUrl: webUrl({
    doc: "Where that provider is, as cards say it. Goes with providerName.",
  }),
  documentationUrl: webUrl({
    doc: "Where agents are documented, as cards say it; `{agent}` stands for an agent's id.",
  }),
  traceUrl: traceUrl({
    doc: "Where traces are looked at, for links in the dashboard; `{traceId}` stands for a trace's id. Without it: the id alone.",
  }),
  iconUrl: webUrl({
    doc: "The agents' icon, as cards say it; `{agent}` stands for an agent's id.",
  }),
  cardKey: keyFile({
    doc: "The private key that cards are signed with: PEM, a JWK, or a JWK set. Without it, cards are not signed.",
  }),
  pushSecret: webhookSecrets({
    doc: "What pushes to webhooks are signed with. Without it, or pushSecretFile, nothing is pushed. While one secret replaces another: both, the new one first.",
  }),
  pushSecretFile: keyFile({
    doc: "A file that holds what pushSecret would, one secret a line. It is read again when it changes, so that secrets change without a restart.",
  }),
  pushHosts: dialledHosts({
    doc: "The hosts that webhooks may be on. `*.example.com` stands for all names below; https, unless the entry itself begins with http://; the scheme's own port, unless it names one or `:*`. A host that is named, rather than covered by `*`, may also have private addresses.",
  }),
  a2aWaitMs: whole({
    doc: "How long a blocking SendMessage waits for the task before it answers with the task as it is.",
    unit: "ms",
    min: 0,
    max: 60 * MINUTE,
    default: 5 * MINUTE,
  }),
  messageDedupeMs: whole({
    doc: "How long a message id is remembered, so that a message sent again does not run again; 0 turns that off.",
    unit: "ms",
    min: 0,
    max: 365 * DAY,
    default: DAY,
  }),
  contextQueueDepth: whole({
    doc: "How many messages may wait in one context while a turn of it is active.",
    min: 0,
    max: 10_000,
    default: 100,
  }),
  bodyBytes: whole({
    doc: "The largest request body.",
    unit: "bytes",
    min: 1024,
    max: 64 * MIB,
    default: 8 * MIB,
  }),
  maxRunningTurns: whole({
    doc: "How many turns run at once; the others wait in order.",
    min: 1,
    max: 100_000,
    default: 256,
  }),
  maxConnections: whole({
    doc: "How many connections are open at once. When there is one more, the one on which nothing has been asked for longest is closed.",
    min: 1,
    max: 1_000_000,
    default: 10_000,
  }),
  requestTimeoutMs: whole({
    doc: "How long a request may take to come in, its headers 30 s at most, and how long nothing of an answer may be read. Then the connection is closed.",
    unit: "ms",
    min: 1000,
    max: 60 * MINUTE,
    default: 2 * MINUTE,
  }),
  subjectRequestsPerSecond: whole({
    doc: "How many requests a second one subject may send; 0 sets no limit. More are answered 429.",
    min: 0,
    max: 1_000_000,
    default: 0,
  }),
  subjectOpenWaits: whole({
    doc: "How many blocking calls and event streams of one subject may wait at once. More are answered 429.",
    min: 0,
    max: 1_000_000,
    default: 1000,
  }),
  subjectRunningTurns: whole({
    doc: "How many turns of one subject run at once. Besides, none has more than three times what is free, so that whoever comes next finds room.",
    min: 1,
    max: 100_000,
    default: 100_000,
  }),
  subjectQueuedTurns: whole({
    doc: "How many messages of one subject may wait to be begun, in all its contexts. More are refused: SUBJECT_QUEUE_FULL.",
    min: 1,
    max: 10_000_000,
    default: 10_000,
  }),
  subjectStoredBytes: whole({
    doc: "How much of one subject is kept: messages, answers, journals and files. More messages are refused: SUBJECT_STORAGE_FULL.",
    unit: "bytes",
    min: MIB,
    max: 1024 * 1024 * MIB,
    default: 10 * 1024 * MIB,
  }),
  fileBytes: whole({
    doc: "The largest file that an agent makes, or that a message names by its URL.",
    unit: "bytes",
    min: 1024,
    max: 1024 * 1024 * MIB,
    default: 100 * MIB,
  }),
  totalBytes: whole({
    doc: "How much all files together may take. Files count among what is kept of their subject, too.",
    unit: "bytes",
    min: MIB,
    max: 1024 * 1024 * MIB,
    default: 10 * 1024 * MIB,
  }),
  fileHosts: dialledHosts({
    doc: "From where files are fetched that messages name by their URL, besides https at public addresses: hosts of your own networks, named one by one, and those without TLS, as `http://…`.",
  }),
  fileFetchMs: whole({
    doc: "How long it may take to fetch such a file.",
    unit: "ms",
    min: 1,
    max: 60 * MINUTE,
    default: 2 * MINUTE,
  }),
  fileLinkMs: whole({
    doc: "How long a link to a file is good for. It is made anew each time that its task is read.",
    unit: "ms",
    min: 1000,
    max: DAY,
    default: 5 * MINUTE,
  }),
  fileFolder: anotherFolder({
    doc: "The folder that files are kept in. Processes that share a database share it as well, or S3-compatible storage. Without it: `blobs` in the home.",
  }),
  s3Url: baseUrl({
    doc: "Where files are kept in S3-compatible storage instead: its address with the bucket, and what names begin with, such as `https://s3.example.com/bucket/nylorun`.",
  }),
  s3Region: line({ doc: "The region of that storage. Without it: `auto`." }),
  s3AccessKeyId: line({ doc: "The id of a key to that storage." }),
  s3SecretAccessKey: secretLine({ doc: "The secret of that key." }),
  turnRetentionMs: whole({
    doc: "How long a task is kept after it has ended; 0 keeps it for ever. Those that need an operator are kept, and those of contexts in use.",
    unit: "ms",
    min: 0,
    max: 3650 * DAY,
    default: 30 * DAY,
  }),
  journalRetentionMs: whole({
    doc: "How long the journal of a task is kept after it has ended, for an operator to look into; 0 keeps it as long as the task.",
    unit: "ms",
    min: 0,
    max: 3650 * DAY,
    default: 7 * DAY,
  }),
  usageRetentionMs: whole({
    doc: "How long it is kept what tasks used, added up by subject, agent and day; 0 keeps it for ever.",
    unit: "ms",
    min: 0,
    max: 3650 * DAY,
    default: 400 * DAY,
  }),
  giveUpRetentionMs: whole({
    doc: "How long a delivery is kept after it was given up, for an operator to send it again; 0 keeps it as long as the task.",
    unit: "ms",
    min: 0,
    max: 3650 * DAY,
    default: 7 * DAY,
  }),
  minFreeBytes: whole({
    doc: "No new message is taken while the disk of the home has less room than this, so that what runs can end.",
    unit: "bytes",
    min: 0,
    max: 1024 * 1024 * MIB,
    default: 64 * MIB,
  }),
  turnTimeoutMs: whole({
    doc: "How long a turn may run before it fails; the time it waits for somebody does not count.",
    unit: "ms",
    min: 1,
    max: 7 * DAY,
    default: 60 * MINUTE,
  }),
  cancelGraceMs: whole({
    doc: "How long the function of a cancelled turn may go on before its context goes on without it.",
    unit: "ms",
    min: 0,
    max: 10 * MINUTE,
    default: 10_000,
  }),
  leaseMs: whole({
    doc: "How long a process has a context to itself before it must renew that; another takes over after so long.",
    unit: "ms",
    min: 1000,
    max: 10 * MINUTE,
    default: 15_000,
  }),
  replayStallMs: whole({
    doc: "How long a resumed turn may go without making a call that it made before; then it is held.",
    unit: "ms",
    min: 1,
    max: 60 * MINUTE,
    default: 30_000,
  }),
  stopGraceMs: whole({
    doc: "How long running turns may go on after SIGTERM or SIGINT; what is not done then is resumed at the next start.",
    unit: "ms",
    min: 0,
    max: 10 * MINUTE,
    default: 10_000,
  }),
  logLevel: oneOf({
    doc: "What goes to the log, on stderr: this and what is graver.",
    words: ["debug", "info", "warn", "error", "silent"],
    default: "info",
  }),
} as const;

export type SettingName = keyof typeof SETTINGS;

/** Every setting with its value. */
export type Settings = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer Value> ? Value : never;
};

/** Some settings, as an embedder gives them. */
export type SomeSettings = { readonly [Name in SettingName]?: Settings[Name] | undefined };

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** `--turn-timeout-ms` for `turnTimeoutMs`. */
export function flagOf(name: SettingName): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `NYLORUN_TURN_TIMEOUT_MS` for `turnTimeoutMs`. */
export function variableOf(name: SettingName): string {
  return `NYLORUN_${name.replaceAll(/[A-Z]/g, "_$&").toUpperCase()}`;
}
