/** Push, put together: where it may go, what signs it, and what carries it out. */
import type { Agent } from "@nylorun/agents";
import { EXTENSION_URIS } from "@nylorun/protocol";

import { createDialler } from "../dial/dialler.ts";
import { HostList } from "../dial/host-list.ts";
import type { LinksOf } from "../files/task-links.ts";
import type { Metrics } from "../http/metrics.ts";
import { Deliverer } from "../push/deliverer.ts";
import type { WebhookKeys } from "../push/keys.ts";
import type { Push } from "../push/push.ts";
import { createSigner } from "../push/signer.ts";
import type { Signal } from "../store/signal.ts";
import type { Store } from "../store/store.ts";
import { isOpenTo } from "../turn/callee.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { streamResponseOf } from "../turn/task.ts";
import { systemTimers } from "../turn/timers.ts";
import type { Log } from "./log.ts";
import { openPushSecrets } from "./push-secrets.ts";
import type { Settings } from "./settings.ts";
import { packageVersion } from "./tracing.ts";

export interface PushParts {
  readonly agents: readonly Agent[];
  readonly store: Store;
  readonly signal: Signal;
  readonly taskIds: TaskIds;
  readonly webhookKeys: WebhookKeys;
  readonly linksOf: LinksOf;
  /** See `TaskOptions`. */
  readonly publicUrl: string;
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface OpenPush {
  readonly push: Push;
  /** Begins to deliver. */
  start(): Deliverer;
}

/** Undefined: there is no secret to sign with, so nothing is pushed. @throws RuntimeError `setting.invalid`. */
export function openPush({
  agents,
  store,
  signal,
  taskIds,
  webhookKeys,
  linksOf,
  publicUrl,
  settings,
  log,
  metrics,
}: PushParts): OpenPush | undefined {
  const secrets = openPushSecrets(settings, log);
  if (secrets === undefined) return undefined;
  // The setting has been checked.
  const hosts = HostList.parse(settings.pushHosts)!;
  if (settings.pushHosts.length === 0)
    log.warn({}, "There is a push secret, but no webhook is allowed: set pushHosts.");
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const count = metrics.counter("nylorun_push_attempts_total", "Attempts to tell webhooks, by what came of them.");
  return {
    push: { hosts, keys: webhookKeys },
    start: () =>
      new Deliverer({
        store,
        signal,
        timers: systemTimers,
        dialler: createDialler({ trustOf: (origin) => hosts.trustOf(origin) }),
        sign: createSigner({ secrets, keys: () => webhookKeys.current() }),
        async render({ turn, change, target }) {
          const active = new Set(EXTENSION_URIS.filter((uri) => target.extensions.includes(uri)));
          const artifacts =
            change.kind === "artifact" ? [change.artifact] : change.kind === "task" ? change.view.artifacts : undefined;
          const links = await linksOf(turn, artifacts);
          return streamResponseOf(turn, change, { taskIds, active, links, publicUrl });
        },
        mayBeTold({ turn }) {
          const agent = byId.get(turn.agent);
          return agent === undefined || isOpenTo(agent, turn.subject);
        },
        userAgent: `nylorun/${packageVersion()}`,
        random: Math.random,
        log,
        onAttempt: (outcome) => count({ outcome }),
      }),
  };
}
