/** The SessionStore on PostgreSQL. */
import type { SessionStore } from "../store.ts";
import type { Ask } from "./connections.ts";
import type { Writer } from "./writer.ts";

/** @param read Calls what only reads. */
export function createSessionStore(writer: Writer, read: Ask): SessionStore {
  return {
    async add({ hash, sealed, expiresAt }) {
      await writer.ask(
        `WITH over AS (
           DELETE FROM sessions WHERE hash IN (
             SELECT hash FROM sessions WHERE expires_at <= clock($4) ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)
         ) INSERT INTO sessions (hash, sealed, expires_at) VALUES ($1, $2, $3)`,
        [hash, Buffer.from(sealed), expiresAt, writer.given],
      );
    },

    async find(hash) {
      const [row] = await read("SELECT sealed, expires_at FROM sessions WHERE hash = $1 AND expires_at > clock($2)", [
        hash,
        writer.given,
      ]);
      if (row === undefined) return undefined;
      return { hash, sealed: new Uint8Array(row["sealed"] as Buffer), expiresAt: row["expires_at"] as number };
    },

    async remove(hash) {
      return (await writer.ask("DELETE FROM sessions WHERE hash = $1 RETURNING hash", [hash])).length > 0;
    },
  };
}
