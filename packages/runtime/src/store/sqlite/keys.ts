/** The KeyStore on SQLite. Each call comes with a key, and nobody but this process can revoke one: what was found is remembered. */
import type { KeyRecord, KeyStore, NewKey } from "../store.ts";
import type { Reader } from "./reader.ts";
import type { WriterThread } from "./thread.ts";

const mostFound = 1000;

export class Keys implements KeyStore {
  readonly #thread: WriterThread;
  readonly #reader: Reader;
  readonly #now: () => number;
  /** By hash. */
  readonly #found = new Map<string, KeyRecord>();

  constructor(thread: WriterThread, reader: Reader, now: () => number) {
    this.#thread = thread;
    this.#reader = reader;
    this.#now = now;
  }

  async add({ hash, holder }: NewKey): Promise<KeyRecord> {
    const subject = holder.role === "subject" ? holder.subject : null;
    const key = await this.#thread.run("addKey", { hash, role: holder.role, subject, now: this.#now() });
    return this.#reader.keys().find(({ id }) => id === String(key))!;
  }

  async list(): Promise<readonly KeyRecord[]> {
    return this.#reader.keys();
  }

  async revoke(id: string): Promise<boolean> {
    if (!/^\d{1,15}$/.test(id)) return false;
    const revoked = await this.#thread.run("revokeKey", { key: Number(id), now: this.#now() });
    this.forget();
    return revoked;
  }

  async find(hash: string): Promise<KeyRecord | undefined> {
    let key = this.#found.get(hash);
    if (key !== undefined) return key;
    key = this.#reader.key(hash);
    if (key === undefined) return undefined;
    if (this.#found.size >= mostFound) this.#found.clear();
    this.#found.set(hash, key);
    return key;
  }

  /** Some may be no more. */
  forget(): void {
    this.#found.clear();
  }
}
