/**
 * How a name is looked up. The system's own way (`/etc/hosts` and all) takes one of the process's few threads for as long as a name
 * server keeps it waiting, and files are read by the same threads: it is for names that an operator has chosen. The names of others are asked
 * of the name servers directly, which takes none.
 */
import { lookup as systemLookup } from "node:dns";
import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";

import type { Trust } from "./addresses.ts";

/** All addresses of a name. Rejects when there are none. */
export type Lookup = (name: string, trust: Trust) => Promise<readonly LookupAddress[]>;

/** For one question, in milliseconds, and how often it is asked. */
const PATIENCE = 3_000;
const TRIES = 2;

export const lookUp: Lookup = (name, trust) => (trust === "public" ? ask(name) : lookUpHere(name));

async function ask(name: string): Promise<readonly LookupAddress[]> {
  const resolver = new Resolver({ timeout: PATIENCE, tries: TRIES });
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = (answer: PromiseSettledResult<readonly string[]>, family: 4 | 6) =>
    answer.status === "fulfilled" ? answer.value.map((address): LookupAddress => ({ address, family })) : [];
  const addresses = [...found(four, 4), ...found(six, 6)];
  if (addresses.length === 0 && four.status === "rejected") throw four.reason;
  return addresses;
}

function lookUpHere(name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}
