/** The KeyStore on PostgreSQL. What was found is taken to be so for a moment, as each call comes with a key. */
import type { KeyRecord, KeyStore, NewKey } from "../store.ts";
import type { Ask } from "./connections.ts";
import { keyOf } from "./rows.ts";
import type { Writer } from "./writer.ts";

/** How long a key is taken to be what it was: another node may have revoked it. */
const freshMs = 1000;
const mostFound = 1000;

export class Keys implements KeyStore {
  readonly #writer: Writer;
  readonly #read: Ask;
  readonly #found = new Map<string, { readonly at: number; readonly key: Promise<KeyRecord | undefined> }>();

  /** @param read Calls what only reads. */
  constructor(writer: Writer, read: Ask) {
    this.#writer = writer;
    this.#read = read;
  }

  async add({ hash, holder }: NewKey): Promise<KeyRecord> {
    const subject = holder.role === "subject" ? holder.subject : null;
    const [row] = await this.#writer.ask(
      "INSERT INTO api_keys (hash, role, subject, created_at) VALUES ($1, $2, $3, clock($4)) RETURNING *",
      [hash, holder.role, subject, this.#writer.given],
    );
    this.forget();
    return keyOf(row!);
  }

  async list(): Promise<readonly KeyRecord[]> {
    return (await this.#read("SELECT * FROM api_keys ORDER BY key", [])).map(keyOf);
  }

  async revoke(id: string): Promise<boolean> {
    if (!/^\d{1,15}$/.test(id)) return false;
    const rows = await this.#writer.ask(
      "UPDATE api_keys SET revoked_at = clock($2) WHERE key = $1 AND revoked_at IS NULL RETURNING key",
      [Number(id), this.#writer.given],
    );
    this.forget();
    return rows.length > 0;
  }

  async find(hash: string): Promise<KeyRecord | undefined> {
    const now = performance.now();
    let found = this.#found.get(hash);
    if (found === undefined || now - found.at > freshMs) {
      const reading = this.#read("SELECT * FROM api_keys WHERE hash = $1 AND revoked_at IS NULL", [hash]);
      found = { at: now, key: reading.then(([row]) => row && keyOf(row)) };
      if (this.#found.size >= mostFound) this.#found.clear();
      this.#found.set(hash, found);
      found.key.catch(() => this.#found.delete(hash));
    }
    return found.key;
  }

  /** Some may be no more. */
  forget(): void {
    this.#found.clear();
  }
}
