/** What is behind every way in: the store of a home, and the engine on it. */
import { randomBytes } from "node:crypto";

import type { Agent } from "@nylorun/agents";
import type { Sink } from "@nylorun/progress";

import { createTaskIds, TASK_ID_KEY_BYTES } from "../access/task-ids.ts";
import type { Blobs } from "../files/blob.ts";
import type { FileKeeper } from "../files/files.ts";
import { Metrics } from "../http/metrics.ts";
import type { Operations } from "../http/operations.ts";
import { createWebhookKeys } from "../push/keys.ts";
import type { WebhookKeys } from "../push/keys.ts";
import type { StoreError } from "../store/errors.ts";
import type { Signal } from "../store/signal.ts";
import type { Store } from "../store/store.ts";
import { createEngine } from "../turn/engine.ts";
import type { Engine } from "../turn/engine.ts";
import type { Tracer } from "../turn/ports.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { noTracer } from "../turn/trace.ts";
import { createCallees } from "./callees.ts";
import type { NetworkCallees } from "./callees.ts";
import { DiskRoom } from "./disk-room.ts";
import { createEntropy } from "./entropy.ts";
import { filePlaceOf, openFiles } from "./files.ts";
import type { Home } from "./home.ts";
import type { Log } from "./log.ts";
import { createOperations } from "./operations.ts";
import { ProgressFeed } from "./progress.ts";
import { misfit } from "./schema.ts";
import type { Settings } from "./settings.ts";
import { openStorage } from "./storage.ts";
import { asyncContext } from "./unheard.ts";

export interface CoreOptions {
  readonly home: Home;
  readonly settings: Settings;
  readonly agents: readonly Agent[] | Promise<readonly Agent[]>;
  readonly log: Log;
  /** Where progress is kept for the person at this machine; undefined when others can reach the Runtime. */
  readonly sink?: Sink | undefined;
  /** Default: none. */
  readonly tracer?: Tracer | undefined;
  /** The disk or the database failed: nothing more is to be built on what the store says. Default: it is logged. */
  readonly onBroken?: ((error: StoreError) => void) | undefined;
}

export interface Core extends AsyncDisposable {
  readonly agents: readonly Agent[];
  readonly store: Store;
  readonly signal: Signal;
  readonly taskIds: TaskIds;
  readonly webhookKeys: WebhookKeys;
  readonly files: FileKeeper;
  readonly blobs: Blobs;
  /** Not started. */
  readonly engine: Engine;
  readonly operations: Operations;
  readonly callees: NetworkCallees;
  readonly progress: ProgressFeed;
  readonly tracer: Tracer;
  readonly disk: DiskRoom;
  readonly metrics: Metrics;
}

/** Upper bounds, in seconds: from what a fast disk takes for a commit to what nobody waits for. */
const WRITE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/**
 * Opens the store while the agents load, then makes the engine.
 *
 * @throws StoreError `store.newer`, `store.broken`, `store.unavailable`; what `agents` rejects with.
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { home, settings, agents: loading, log, sink, tracer = noTracer, onBroken } = options;
  await using opened = new AsyncDisposableStack();
  const metrics = new Metrics();
  const seconds = metrics.distribution(
    "nylorun_store_write_seconds",
    "How long writes took, from when they were asked for until they were on disk.",
    WRITE_SECONDS,
  );
  const disk = opened.use(await DiskRoom.watch({ folder: home.folder, least: settings.minFreeBytes, log }));
  const opening = openStorage({
    home,
    settings,
    disk,
    log,
    onWrite: (ms) => seconds(ms / 1000),
    onBroken,
  });
  // The store opens on another thread; should the agents not load meanwhile, it is closed all the same.
  opened.defer(() => opening.then((storage) => storage[Symbol.asyncDispose]()).catch(() => undefined));
  const agents = await loading;
  const { store, signal } = await opening;
  const taskIds = createTaskIds(await store.secret("task-id", () => randomBytes(TASK_ID_KEY_BYTES)));
  const progress = opened.use(new ProgressFeed({ store, signal, taskIds, agents, sink, log }));
  const entropy = createEntropy(await store.secret("turn-seed", () => randomBytes(32)));
  const limits = settings;
  const { files, blobs } = opened.use(
    openFiles({ home: home.folder, settings, store, hasRoom: () => disk.isThere, log }),
  );
  const callees = createCallees();
  const engine = opened.use(
    createEngine({
      store,
      signal,
      agents,
      taskIds,
      log,
      limits,
      entropy,
      asyncContext,
      misfit,
      files,
      tracer,
      callees,
    }),
  );
  const webhookKeys = createWebhookKeys(store);
  const operations = createOperations({
    store,
    signal,
    engine,
    taskIds,
    webhookKeys,
    filePlace: filePlaceOf(home.folder, settings),
  });
  const stack = opened.move();
  return {
    agents,
    store,
    signal,
    taskIds,
    webhookKeys,
    files,
    blobs,
    engine,
    operations,
    callees,
    progress,
    tracer,
    disk,
    metrics,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
