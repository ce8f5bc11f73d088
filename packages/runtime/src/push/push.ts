/** What the rest of the Runtime needs to know of push: where it may go, and the keys that receivers check it with. */
import type { HostList } from "../dial/host-list.ts";
import type { WebhookKeys } from "./keys.ts";

export interface Push {
  readonly hosts: HostList;
  readonly keys: WebhookKeys;
}
