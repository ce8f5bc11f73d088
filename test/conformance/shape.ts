/**
 * What A2A 1.0's objects may hold (section 4, and `a2a.proto`), field by field, as a strict reader takes them: required fields are there,
 * lists that are required hold something, no field is null, none is unknown, none is in snake_case.
 */

type Check = (value: unknown, at: string, found: string[]) => void;

const TASK_STATE = /^TASK_STATE_(SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|INPUT_REQUIRED|REJECTED|AUTH_REQUIRED)$/;
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const text: Check = (value, at, found) => {
  if (typeof value !== "string" || value === "") found.push(`${at} is no text`);
};
const anyText: Check = (value, at, found) => {
  if (typeof value !== "string") found.push(`${at} is no text`);
};
const matching =
  (pattern: RegExp): Check =>
  (value, at, found) => {
    if (typeof value !== "string" || !pattern.test(value)) found.push(`${at} is ${JSON.stringify(value)}`);
  };
const flag: Check = (value, at, found) => {
  if (typeof value !== "boolean") found.push(`${at} is no boolean`);
};
const whole: Check = (value, at, found) => {
  if (!Number.isInteger(value)) found.push(`${at} is no whole number`);
};
/** `google.protobuf.Struct`: its own content is free. */
const struct: Check = (value, at, found) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) found.push(`${at} is no object`);
};
const anything: Check = () => {};

const listOf =
  (check: Check, least = 0): Check =>
  (value, at, found) => {
    if (!Array.isArray(value)) found.push(`${at} is no list`);
    else if (value.length < least) found.push(`${at} is empty`);
    else value.forEach((one, index) => check(one, `${at}[${index}]`, found));
  };
const mapOf =
  (check: Check): Check =>
  (value, at, found) => {
    struct(value, at, found);
    for (const [key, one] of Object.entries(value ?? {})) check(one, `${at}.${key}`, found);
  };

/** Fields with a `?` at the end of their name may be absent. A list that may be absent is not there when it is empty. */
const object =
  (fields: Readonly<Record<string, Check>>, more?: (value: object, at: string, found: string[]) => void): Check =>
  (value, at, found) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      found.push(`${at} is no object`);
      return;
    }
    const known = new Map(Object.entries(fields).map(([name, check]) => [name.replace("?", ""), check]));
    for (const name of Object.keys(value)) if (!known.has(name)) found.push(`${at}.${name} is no field`);
    for (const [name, check] of known) {
      const one = (value as Readonly<Record<string, unknown>>)[name];
      if (one !== undefined) check(one, `${at}.${name}`, found);
      else if (name in fields) found.push(`${at}.${name} is missing`);
    }
    more?.(value, at, found);
  };

const part = object(
  {
    "text?": anyText,
    "raw?": anyText,
    "url?": text,
    "data?": anything,
    "metadata?": struct,
    "filename?": text,
    "mediaType?": text,
  },
  (value, at, found) => {
    const kinds = ["text", "raw", "url", "data"].filter((kind) => kind in value);
    if (kinds.length !== 1) found.push(`${at} holds ${kinds.length} of text, raw, url and data`);
  },
);

const message = object({
  messageId: text,
  "contextId?": text,
  "taskId?": text,
  role: matching(/^ROLE_(USER|AGENT)$/),
  parts: listOf(part, 1),
  "metadata?": struct,
  "extensions?": listOf(text, 1),
  "referenceTaskIds?": listOf(text, 1),
});

const artifact = object({
  artifactId: text,
  "name?": text,
  "description?": text,
  parts: listOf(part, 1),
  "metadata?": struct,
  "extensions?": listOf(text, 1),
});

const task = object({
  id: text,
  contextId: text,
  status: object({ state: matching(TASK_STATE), "message?": message, timestamp: matching(UTC) }),
  "artifacts?": listOf(artifact, 1),
  "history?": listOf(message, 1),
  "metadata?": struct,
});

const requirement = object({ schemes: mapOf(object({ "list?": listOf(text, 1) })) });

const card = object({
  name: text,
  description: text,
  version: text,
  supportedInterfaces: listOf(
    object({ url: text, protocolBinding: text, protocolVersion: matching(/^\d+\.\d+$/), "tenant?": text }),
    1,
  ),
  capabilities: object({
    "streaming?": flag,
    "pushNotifications?": flag,
    "extendedAgentCard?": flag,
    "extensions?": listOf(object({ uri: text, "description?": text, "required?": flag, "params?": struct }), 1),
  }),
  defaultInputModes: listOf(text, 1),
  defaultOutputModes: listOf(text, 1),
  skills: listOf(
    object({
      id: text,
      name: text,
      description: text,
      tags: listOf(text, 1),
      "examples?": listOf(text, 1),
      "inputModes?": listOf(text, 1),
      "outputModes?": listOf(text, 1),
      "securityRequirements?": listOf(requirement, 1),
    }),
    1,
  ),
  "provider?": object({ organization: text, url: text }),
  "documentationUrl?": text,
  "iconUrl?": text,
  "securitySchemes?": mapOf(struct),
  "securityRequirements?": listOf(requirement, 1),
  "signatures?": listOf(object({ protected: text, signature: text, "header?": struct }), 1),
});

const SHAPES = {
  task,
  message,
  card,
  sendMessage: object({ "task?": task, "message?": message }, (value, at, found) => {
    if (Object.keys(value).length !== 1) found.push(`${at} is neither a task nor a message`);
  }),
  listTasks: object({ tasks: listOf(task), nextPageToken: anyText, pageSize: whole, totalSize: whole }),
  /** JSON-RPC 2.0, sections 5 and 5.1. */
  response: object(
    {
      jsonrpc: matching(/^2\.0$/),
      id: anything,
      "result?": struct,
      "error?": object({
        code: whole,
        message: text,
        "data?": listOf(
          object({
            "@type": matching(/^type\.googleapis\.com\/google\.rpc\./),
            "reason?": matching(/^[A-Z][A-Z_]*[A-Z]$/),
            "domain?": text,
            "metadata?": mapOf(anyText),
            "fieldViolations?": listOf(object({ field: text, description: text }), 1),
          }),
        ),
      }),
    },
    (value, at, found) => {
      if ("result" in value === "error" in value) found.push(`${at} needs a result or an error, and not both`);
    },
  ),
} as const satisfies Readonly<Record<string, Check>>;

/** What is wrong with a value; nothing: it is what it should be. */
export function faultsOf(shape: keyof typeof SHAPES, value: unknown): string[] {
  const found: string[] = [];
  SHAPES[shape](value, shape, found);
  return found;
}
