/** In the place of packages/runtime/src/store/postgres/store.ts, which it wraps. */
import { openPostgresStore as openReal } from "../../../packages/runtime/src/store/postgres/store.ts";
import { withPoints } from "./store.ts";

export const openPostgresStore: typeof openReal = async (options) => withPoints(await openReal(options));
