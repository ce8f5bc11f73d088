/**
 * The requirements of the official test kit (a2aproject/a2a-tck, branch 1.0-dev), by its ids. Each is one of ours, or one of a binding
 * that is not served. The kit itself is run by hand against a Runtime; our own suite re-states what it checks.
 */

const numbered = (prefix: string, ...numbers: readonly string[]): string[] => numbers.map((one) => `${prefix}-${one}`);
const upTo = (prefix: string, last: number): string[] =>
  Array.from({ length: last }, (_, index) => `${prefix}-${String(index + 1).padStart(3, "0")}`);

export const TCK: readonly string[] = [
  ...upTo("AUTH-INTASK", 6),
  ...upTo("AUTH-SCOPE", 3),
  ...upTo("AUTH-SERVER", 2),
  ...upTo("AUTH-TLS", 2),
  ...upTo("BIND-EQUIV", 4),
  "BIND-FIELD-001",
  ...upTo("CARD-CACHE", 3),
  "CARD-DISC-001",
  ...upTo("CARD-EXT", 2),
  ...upTo("CARD-PROTO", 2),
  ...upTo("CARD-SIGN", 4),
  "CARD-STRUCT-001",
  ...upTo("CORE-CANCEL", 3),
  ...upTo("CORE-CAP", 4),
  ...upTo("CORE-ERR", 2),
  ...upTo("CORE-EXECUTION-MODE", 2),
  ...upTo("CORE-GET", 2),
  ...upTo("CORE-HIST", 6),
  ...upTo("CORE-LIST", 5),
  ...numbered("CORE-MULTI", "001", "001a", "002", "002a", "003", "004", "005", "006"),
  ...upTo("CORE-SEND", 3),
  ...upTo("CORE-STREAM", 3),
  "DM-ART-001",
  ...upTo("DM-MSG", 2),
  "DM-PART-001",
  ...upTo("DM-SERIAL", 5),
  "DM-STATUS-001",
  ...upTo("DM-TASK", 2),
  ...upTo("JSONRPC-ERR", 3),
  ...upTo("JSONRPC-FMT", 2),
  ...upTo("JSONRPC-SSE", 2),
  ...upTo("JSONRPC-SVC", 2),
  ...upTo("PUSH-CREATE", 2),
  ...upTo("PUSH-DEL", 2),
  ...upTo("PUSH-DELIVER", 3),
  ...upTo("PUSH-GET", 2),
  "PUSH-LIST-001",
  ...upTo("STREAM-ORDER", 4),
  ...upTo("STREAM-SUB", 4),
  ...upTo("VER-CLIENT", 2),
  ...upTo("VER-SERVER", 3),
];

/** Of bindings that the profile rules out. */
export const NOT_SERVED: readonly string[] = [
  ...upTo("GRPC-ERR", 3),
  "GRPC-META-001",
  ...upTo("GRPC-SVC", 3),
  ...upTo("HTTP_JSON-ERR", 2),
  "HTTP_JSON-QP-001",
  "HTTP_JSON-SSE-001",
  "HTTP_JSON-STATUS-001",
  ...upTo("HTTP_JSON-SVC", 2),
  ...upTo("HTTP_JSON-URL", 2),
];
