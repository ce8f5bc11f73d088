/** The FileStore on PostgreSQL: see migrations/004-files.sql. */
import type { Blob, FileStore, Held } from "../files.ts";
import type { Ask } from "./connections.ts";
import type { Writer } from "./writer.ts";

/** @param read Calls what only reads. */
export function createFileStore(writer: Writer, read: Ask): FileStore {
  return {
    async hold({ key, of, anew, bytes, limits }): Promise<Held> {
      const hashes = bytes.map(({ sha256 }) => sha256);
      const sizes = bytes.map(({ size }) => size);
      const [row] = await writer.ask("SELECT * FROM hold($1, $2, $3, $4, $5::text[], $6::bigint[], $7, $8, $9)", [
        ...[key.context, key.turn, of, anew, hashes, sizes],
        ...[limits.total, limits.subject, writer.given],
      ]);
      const kind = row!["kind"] as Held["kind"];
      if (kind !== "held") return { kind };
      const keys = ((row!["at_blobs"] as string[] | null) ?? []).map(Number);
      return { kind, blobs: bytes.map(({ sha256, size }, index): Blob => ({ blob: keys[index]!, sha256, size })) };
    },

    find: findBlob(read),

    async lastVersion(context, path) {
      const [row] = await read("SELECT version FROM outputs WHERE context = $1 AND path = $2", [context, path]);
      return (row?.["version"] as number | undefined) ?? 0;
    },

    async condemn(limit) {
      const rows = await writer.ask("SELECT * FROM condemn($1, $2)", [limit, writer.given]);
      return rows.map((row): Blob => ({
        blob: row["at_blob"] as number,
        sha256: row["at_sha256"] as string,
        size: row["at_size"] as number,
      }));
    },

    async gone(blobs) {
      await writer.ask("SELECT gone($1::bigint[])", [blobs]);
    },
  };
}

/** The one operation that needs no writer. */
export function findBlob(read: Ask): FileStore["find"] {
  return async ({ context, turn }, sha256) => {
    const [row] = await read(
      `SELECT b.blob, b.sha256, b.size FROM blobs b
       WHERE b.sha256 = $1 AND NOT b.condemned
         AND EXISTS (SELECT 1 FROM holds h WHERE h.context = $2 AND h.turn = $3 AND h.blob = b.blob)`,
      [sha256, context, turn],
    );
    return row && { blob: row["blob"] as number, sha256, size: row["size"] as number };
  };
}
