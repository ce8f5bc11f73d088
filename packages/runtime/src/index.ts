/** Serves agents from within a program. The `nylorun` command is the other way. */
export { startRuntime } from "./node/runtime.ts";
export type { Runtime, RuntimeOptions } from "./node/runtime.ts";
export { RuntimeError } from "./node/errors.ts";
export type { RuntimeErrorCode } from "./node/errors.ts";
export type { Settings, SomeSettings } from "./node/settings.ts";
export { AccessError } from "./access/errors.ts";
export type { AccessErrorCode } from "./access/errors.ts";
export type { Authenticate } from "./access/api-keys.ts";
export type { Credentials } from "./access/sessions.ts";
export type { Principal } from "./access/principal.ts";
export { StoreError } from "./store/errors.ts";
export type { StoreErrorCode } from "./store/errors.ts";
