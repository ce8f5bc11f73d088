/**
 * The projection of a turn to an A2A Task (A2A 1.0, section 4.1.1). Pure: the same record gives the same task, ids included.
 *
 * No extension data goes out that the request did not activate, wherever in the task it would sit: on the task, in the status,
 * in the history, on an artifact. What an agent keeps to itself (its journal, why a turn is held) is never in here (I10).
 */
import { EXTENSION_URIS, EXTENSIONS, isTerminal, joinMetadata, splitMetadata, taskStateOf } from "@nylorun/protocol";
import type {
  Artifact,
  EffectsData,
  ExtensionData,
  ExtensionUri,
  Message,
  OpenInteraction,
  Part,
  ProgressData,
  SendMessageResponse,
  StreamResponse,
  Struct,
  Task,
  TaskStatus,
  TelemetryData,
} from "@nylorun/protocol";

import type { Change, Said, TurnRecord } from "./record.ts";
import type { TaskIds } from "./task-id.ts";

export interface TaskOptions {
  readonly taskIds: TaskIds;
  /** The extensions that the request activated. */
  readonly active: ReadonlySet<ExtensionUri>;
  /** The most recent messages of the history, this many at most; undefined: all of them (A2A 1.0, section 3.2.4). */
  readonly historyLength?: number | undefined;
  /** What leads to the files among the artifacts. Undefined: there are none. */
  readonly links?: ArtifactLinks | undefined;
  /** Where people find this Runtime, and can answer. Without a slash at the end. Default: a prompt names the command alone. */
  readonly publicUrl?: string | undefined;
  /** Whether artifacts are in it. Default: true. */
  readonly artifacts?: boolean | undefined;
}

/** Links to the files of one turn, as they are now. */
export interface ArtifactLinks {
  linkOf(artifact: Artifact): string;
}

/** What says how a message goes out: where it belongs, and what the request may see of it. */
interface Place {
  readonly agent: string;
  readonly contextId: string;
  readonly taskId: string;
  readonly active: ReadonlySet<ExtensionUri>;
  readonly publicUrl: string | undefined;
}

export function taskOf(record: TurnRecord, options: TaskOptions): Task {
  const { active, historyLength, links, publicUrl, artifacts: wanted = true } = options;
  const { agent, contextId } = record;
  const place: Place = { agent, contextId, taskId: options.taskIds.encode(record), active, publicUrl };
  const artifacts = wanted ? record.view.artifacts?.map((artifact) => linked(artifact, links)) : undefined;
  const history = historyLength === 0 ? undefined : historyOf(record, place, historyLength);
  const metadata = metadataOf(record, active);
  return {
    id: place.taskId,
    contextId: place.contextId,
    status: statusOf(record, place),
    ...(artifacts?.length && { artifacts: artifacts.map((artifact) => artifactOf(artifact, active)) }),
    ...(history && { history }),
    ...(metadata && { metadata }),
  };
}

/** What SendMessage answers: the agent's own Message when it answered with one, else the task (A2A 1.0, section 3.1.1). */
export function sendResponseOf(record: TurnRecord, options: TaskOptions): SendMessageResponse {
  const { reply } = record.view;
  if (reply === undefined) return { task: taskOf(record, options) };
  return { message: replyOf(reply, { contextId: record.contextId, taskId: options.taskIds.encode(record) }) };
}

/** The Message that the agent answered with. It carries the ids of its task, so that a caller can find that again. */
function replyOf(parts: readonly Part[], { contextId, taskId }: Pick<Place, "contextId" | "taskId">): Message {
  return { messageId: `reply-${taskId}`, contextId, taskId, role: "ROLE_AGENT", parts };
}

/** What a webhook is told of a change (A2A 1.0, section 4.3.3), as the task was then. */
export function streamResponseOf(record: TurnRecord, change: Change, options: TaskOptions): StreamResponse {
  const { active, taskIds, publicUrl } = options;
  const { agent, contextId } = record;
  const taskId = taskIds.encode(record);
  switch (change.kind) {
    case "task":
      return { task: taskOf({ ...record, ...change }, options) };
    case "status": {
      const then = { ...record, ...change };
      const metadata = metadataOf(then, active);
      const status = statusOf(then, { agent, contextId, taskId, active, publicUrl });
      return { statusUpdate: { taskId, contextId, status, ...(metadata && { metadata }) } };
    }
    case "artifact":
      return {
        artifactUpdate: {
          taskId,
          contextId,
          artifact: artifactOf(linked(change.artifact, options.links), active),
          lastChunk: true,
        },
      };
    case "reply":
      return { message: replyOf(change.parts, { contextId, taskId }) };
  }
}

function statusOf(record: TurnRecord, place: Place): TaskStatus {
  const { view } = record;
  const state = taskStateOf(record.state, view.waitsFor);
  const timestamp = new Date(record.statusAt).toISOString();
  return view.status === undefined
    ? { state, timestamp }
    : { state, message: messageOf(view.status, place), timestamp };
}

/** The caller's message, what was said since, and what the agent replied, oldest first. */
function historyOf(record: TurnRecord, place: Place, length = Infinity): readonly Message[] {
  const { message, view } = record;
  const { messageId, parts, metadata, extensions, extensionData, referenceTaskIds } = message;
  const first: Message = {
    messageId,
    contextId: place.contextId,
    taskId: place.taskId,
    role: "ROLE_USER",
    parts,
    ...carried({ metadata, extensions, data: extensionData }, place.active),
    ...(referenceTaskIds && { referenceTaskIds }),
  };
  if (view.history === undefined && view.reply === undefined) return [first];
  const all = [first, ...(view.history ?? []).map((said) => messageOf(said, place))];
  if (view.reply !== undefined) all.push(replyOf(view.reply, place));
  return all.length > length ? all.slice(-length) : all;
}

function messageOf(said: Said, place: Place): Message {
  const { metadata, extensions } = said;
  const data = said.interaction
    ? { ...said.extensionData, [EXTENSIONS.interactions]: said.interaction }
    : said.extensionData;
  return {
    messageId: said.id,
    contextId: place.contextId,
    taskId: place.taskId,
    role: said.by === "user" ? "ROLE_USER" : "ROLE_AGENT",
    parts: said.interaction ? promptParts(said.parts, said.interaction, place) : said.parts,
    ...carried({ metadata, extensions, data }, place.active),
  };
}

/** Who has no part in interactions/v1 reads that words do not answer this, and who can (A2A 1.0, section 7.6.1). */
function promptParts(parts: readonly Part[], { kind }: OpenInteraction, place: Place): readonly Part[] {
  if (kind === "question" || place.active.has(EXTENSIONS.interactions)) return parts;
  const done = kind === "approval" ? "approve this" : "make this connection";
  const { agent, taskId, publicUrl } = place;
  const there =
    publicUrl === undefined
      ? ""
      : `in this server's dashboard, at ${publicUrl}/dashboard/#/tasks/${agent}/${taskId}, or `;
  const text = `A reply in words cannot ${done}. A person who is signed in can: ${there}with: nylorun answer ${taskId}`;
  return [...parts, { text }];
}

/** A file with the link that leads to it. */
function linked(artifact: Artifact, links: ArtifactLinks | undefined): Artifact {
  const [part] = artifact.parts;
  if (part?.url === undefined || links === undefined) return artifact;
  return { ...artifact, parts: [{ ...part, url: links.linkOf(artifact) }] };
}

function artifactOf(artifact: Artifact, active: ReadonlySet<ExtensionUri>): Artifact {
  if (artifact.metadata === undefined && artifact.extensions === undefined) return artifact;
  const { metadata: _, extensions: __, ...rest } = artifact;
  return { ...rest, ...joinMetadata(splitMetadata(artifact), active) };
}

/** Extension data of a status update (wire.md): on the task in an answer, on the event in a push. */
function metadataOf(record: TurnRecord, active: ReadonlySet<ExtensionUri>): Struct | undefined {
  if (active.size === 0) return undefined;
  const { plan, lost, totals } = record.view;
  const data: ExtensionData = {
    [EXTENSIONS.progress]: plan && ({ steps: plan } satisfies ProgressData),
    [EXTENSIONS.effects]:
      record.state === "uncertain" && lost?.[0] && ({ uncertain: lost[0].id } satisfies EffectsData),
    [EXTENSIONS.telemetry]:
      isTerminal(taskStateOf(record.state)) &&
      ({ steps: 0, ...totals, traceId: record.traceparent.slice(3, 35) } satisfies TelemetryData),
  };
  const uris = EXTENSION_URIS.filter((uri) => active.has(uri) && data[uri]);
  return uris.length === 0 ? undefined : Object.fromEntries(uris.map((uri) => [uri, data[uri]]));
}

interface Carried {
  readonly metadata?: Struct | undefined;
  readonly extensions?: readonly string[] | undefined;
  readonly data?: ExtensionData | undefined;
}

/** What a message carries beside its parts, of the active extensions alone. Most carry nothing. */
function carried(
  { metadata, extensions, data }: Carried,
  active: ReadonlySet<ExtensionUri>,
): Partial<Message> | undefined {
  if (metadata === undefined && extensions === undefined && data === undefined) return undefined;
  return joinMetadata(
    { ...(metadata && { metadata }), ...(extensions && { extensions }), ...(data && { data }) },
    active,
  );
}
