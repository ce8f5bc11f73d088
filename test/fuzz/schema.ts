/** Values that fit a JSON Schema of `protocol/`: where structured fuzzing starts from. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import * as fc from "fast-check";

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

const PROTOCOL = resolve(import.meta.dirname, "../../protocol");

/** @param file Below `protocol/`. @param name Of one of its `$defs`; default: the whole. */
export function fitting(file: string, name?: string): fc.Arbitrary<unknown> {
  const root = JSON.parse(readFileSync(resolve(PROTOCOL, file), "utf8")) as Schema;
  const defs = root.$defs ?? {};
  const of = (schema: Schema): fc.Arbitrary<unknown> => {
    if (schema.$ref !== undefined) return of(defs[schema.$ref.slice("#/$defs/".length)]!);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return fc.oneof(...choices.map(of));
    if ("const" in schema) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const types = schema.type === undefined ? ["any"] : [schema.type].flat();
    return fc.oneof(...types.map((type) => ofType(type, schema)));
  };
  const ofType = (type: string, schema: Schema): fc.Arbitrary<unknown> => {
    const { minimum = -1e9, maximum = 1e9, minLength = 0, maxLength = 300 } = schema;
    switch (type) {
      case "object": {
        const properties = Object.entries(schema.properties ?? {}).map(([key, one]) => [key, of(one)] as const);
        const requiredKeys = (schema.required ?? []).filter((key) => schema.properties?.[key] !== undefined);
        return fc.record(Object.fromEntries(properties), { requiredKeys });
      }
      case "array":
        return fc.array(of(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: schema.maxItems ?? 5 });
      case "string":
        return schema.pattern === undefined
          ? fc.string({ unit: "grapheme", minLength, maxLength })
          : fc.stringMatching(new RegExp(schema.pattern));
      case "integer":
        return fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) });
      case "number":
        return fc.double({ min: minimum, max: maximum, noNaN: true });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      default:
        return fc.jsonValue();
    }
  };
  return of(name === undefined ? root : defs[name]!);
}
