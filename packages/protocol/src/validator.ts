/** What the generated validators look like: one for each schema, made from it, with nothing to load and nothing to compile. */

/** Where a value breaks its schema. */
export interface SchemaError {
  /** JSON pointer to what is wrong; empty: the value itself. */
  readonly instancePath: string;
  readonly message?: string;
}

/** Says whether a value fits its schema. `errors` tells why the last call said no; the next call replaces it. */
export interface Validator<T> {
  (value: unknown): value is T;
  readonly errors?: readonly SchemaError[] | null;
}
