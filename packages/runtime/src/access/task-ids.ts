/**
 * Task ids: the encrypted (context, turn) pair. A caller can read nothing from one and cannot make one up, and finding a
 * task by its id takes no index.
 *
 * One AES-128 block: the context as 64 bits, then the turn as 64 bits, big-endian. Both are below 2^53, so 22 bits of the
 * block are zero, which is the check: text that was not encrypted under this key passes it once in four million times, and then
 * names a turn among 2^106. A single block under a key used for nothing else needs no mode of operation, hence ECB.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";

import type { TurnKey } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";

/** 16 bytes in base64url; the last character carries two bits, so its four others are zero in the canonical form. */
const CANONICAL = /^[A-Za-z0-9_-]{21}[AQgw]$/;
const HIGH_BITS = 21;
const WORD = 2 ** 32;

/** Bytes of the key that {@link createTaskIds} takes. */
export const TASK_ID_KEY_BYTES = 16;

/** @param key 16 random bytes, the same for as long as the ids shall mean something. */
export function createTaskIds(key: Uint8Array): TaskIds {
  // Without padding a block in is a block out, so that one cipher serves every call: making one costs more than using it.
  const cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  const decipher = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  const block = Buffer.alloc(16);
  const words = new DataView(block.buffer, block.byteOffset, block.byteLength);

  return {
    encode({ context, turn }: TurnKey): string {
      writeInteger(words, 0, context);
      writeInteger(words, 8, turn);
      return cipher.update(block).toString("base64url");
    },

    decode(id: string): TurnKey | undefined {
      if (!CANONICAL.test(id)) return undefined;
      const plain = decipher.update(id, "base64url");
      const context = readInteger(plain, 0);
      const turn = readInteger(plain, 8);
      return context === undefined || turn === undefined ? undefined : { context, turn };
    },
  };
}

function writeInteger(words: DataView, offset: number, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`A turn key holds whole numbers; it has ${value}.`);
  words.setUint32(offset, Math.floor(value / WORD));
  words.setUint32(offset + 4, value % WORD);
}

function readInteger(plain: Buffer, offset: number): number | undefined {
  const high = plain.readUInt32BE(offset);
  return high >>> HIGH_BITS === 0 ? high * WORD + plain.readUInt32BE(offset + 4) : undefined;
}
