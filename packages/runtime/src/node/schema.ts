/** JSON Schema (2020-12) of an agent's question. */
import { createRequire } from "node:module";

import type { Ajv2020 } from "ajv/dist/2020.js";

/** What is wrong with a value, in a few words; undefined when it fits. A schema that is none lets nothing fit. */
export function misfit(schema: object, value: unknown): string | undefined {
  // Few turns ask questions with schemas: it is loaded with the first of them.
  const { Ajv2020: Ajv } = createRequire(import.meta.url)("ajv/dist/2020.js") as { Ajv2020: typeof Ajv2020 };
  const ajv = new Ajv({ strict: false, validateFormats: false });
  try {
    return ajv.validate(schema, value) ? undefined : ajv.errorsText(ajv.errors, { dataVar: "answer" });
  } catch (error) {
    return `the schema cannot be used (${(error as Error).message})`;
  }
}
