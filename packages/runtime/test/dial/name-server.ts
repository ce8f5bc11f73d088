/** A DNS server of the test's own: it says what it is told to say, another thing at each question if need be. */
import { createSocket } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { isIPv4 } from "node:net";

import ipaddr from "ipaddr.js";

import type { Lookup } from "../../src/dial/lookup.ts";

export interface NameServer extends AsyncDisposable {
  /** Asks it, as a dialler does. */
  readonly lookup: Lookup;
  /** The names that were asked for, in order; one question for addresses of both kinds counts once. */
  readonly asked: readonly string[];
}

const A = 1;
const AAAA = 28;

/** @param answers What a name stands for: at the first question the first list, at the last and all later ones the last. */
export async function serveNames(
  answers: Readonly<Record<string, readonly (readonly string[])[]>>,
): Promise<NameServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  const times = new Map<string, number>();
  socket.on("message", (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    if (type === A) asked.push(name);
    const key = `${name} ${type}`;
    const time = times.get(key) ?? 0;
    times.set(key, time + 1);
    const lists = answers[name] ?? [];
    const all = lists[Math.min(time, lists.length - 1)] ?? [];
    const fit = all.filter((one) => isIPv4(one) === (type === A) && (type === A || type === AAAA));
    socket.send(replyOf(query, { end, type, addresses: fit, isKnown: name in answers }), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const resolver = new Resolver({ timeout: 2_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    asked,
    async lookup(name) {
      const none = () => [] as string[];
      const [four, six] = await Promise.all([resolver.resolve4(name).catch(none), resolver.resolve6(name).catch(none)]);
      const found =
        (family: 4 | 6) =>
        (address: string): LookupAddress => ({ address, family });
      return [...four.map(found(4)), ...six.map(found(6))];
    },
    async [Symbol.asyncDispose]() {
      resolver.cancel();
      await new Promise<void>((resolve) => socket.close(() => resolve()));
    },
  };
}

function questionOf(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

interface Reply {
  readonly end: number;
  readonly type: number;
  readonly addresses: readonly string[];
  readonly isKnown: boolean;
}

function replyOf(query: Buffer, { end, type, addresses, isKnown }: Reply): Buffer {
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(isKnown ? 0x8580 : 0x8583, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const bytes = Buffer.from(ipaddr.parse(address).toByteArray());
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(0, 6); // Asked anew each time.
    record.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([head, query.subarray(12, end), ...records]);
}
