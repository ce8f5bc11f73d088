/**
 * What a value has become when it has made a round trip through JSON: a `Date` is a text, a `Map` an empty object, methods are gone.
 * What is JSON already stays what it is.
 */
export type Jsonified<Value> = 0 extends 1 & Value // any
  ? Value
  : Value extends { toJSON(): infer Told }
    ? Jsonified<Told>
    : Value extends Gone
      ? undefined
      : Value extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
        ? Record<string, never>
        : Value extends readonly unknown[]
          ? { [Index in keyof Value]: Value[Index] extends Gone ? null : Jsonified<Value[Index]> }
          : Value extends object
            ? { [Key in keyof Value as Value[Key] extends Gone ? never : Key & string]: Jsonified<Value[Key]> }
            : Value;

/** What JSON has no word for. */
type Gone = symbol | ((...given: never) => unknown);
