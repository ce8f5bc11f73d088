/** In the place of packages/runtime/src/store/sqlite/store.ts, which it wraps. */
import { openSqliteStore as openReal } from "../../../packages/runtime/src/store/sqlite/store.ts";
import { withPoints } from "./store.ts";

export const openSqliteStore: typeof openReal = async (options) => withPoints(await openReal(options));
