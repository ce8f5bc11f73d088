/** A2A 1.0, sections 4, 5 and 9: data, bindings, JSON-RPC. */
import { may, must, section, should } from "../requirement.ts";
import { A2A } from "./a2a-operations.ts";

export const DATA = [
  section(A2A, ["4.1", "Objects"], {
    task: must("A task has its id and its status.", { how: "And its `contextId`.", tck: ["DM-TASK-001"] }),
    states: must("A state is one of the protocol's names.", { tck: ["DM-TASK-002"] }),
    status: must("A status has its state.", { how: "And its time.", tck: ["DM-STATUS-001"] }),
    message: must("A message has its id, its role and at least one part.", { tck: ["DM-MSG-001"] }),
    role: must("A role is one of the protocol's names.", { tck: ["DM-MSG-002"] }),
    part: must("A part holds exactly one of text, raw, url and data.", { tck: ["DM-PART-001"] }),
    artifact: must("An artifact has its id and at least one part.", { tck: ["DM-ART-001"] }),
  }),

  section(A2A, ["4.4", "The Agent Card"], {
    fields: must(
      "The card has a name, a description, a version, interfaces, capabilities, input and output modes, and skills.",
      { tck: ["CARD-STRUCT-001"] },
    ),
  }),

  section(A2A, ["4.6", "Extensions"], {
    versioned: should("The URI of an extension has its version.", { how: "`…/v1`." }),
    ignored: should("A version of an extension that is not served is ignored."),
    "no-fallback": must("No other version is taken in its place."),
  }),

  section(A2A, ["5.1", "Several bindings"], {
    same: must("All bindings of an agent do the same.", {
      how: "There is one.",
      tck: ["BIND-EQUIV-001", "BIND-EQUIV-002", "BIND-EQUIV-003", "BIND-EQUIV-004"],
    }),
  }),

  section(A2A, ["5.2", "Choosing a binding"], {
    declared: must("The card declares all that are served.", { tck: ["BIND-FIELD-001"] }),
  }),

  section(A2A, ["5.4", "Error codes"], {
    codes: must("Each of A2A's errors has its JSON-RPC code, -32001 to -32009.", {
      tck: ["JSONRPC-SSE-002", "JSONRPC-ERR-002"],
    }),
  }),

  section(A2A, ["5.5", "Names"], {
    "camel-case": must("Fields are in lowerCamelCase.", {
      how: "In what goes out. What comes in may be in snake_case, too.",
      tck: ["DM-SERIAL-001"],
    }),
    enums: must("Enums are the names of the protocol's own definition.", { tck: ["DM-SERIAL-002"] }),
  }),

  section(A2A, ["5.6.1", "Times"], {
    utc: must("Times are ISO 8601 in UTC, with a Z and no other offset.", { tck: ["DM-SERIAL-003"] }),
    milliseconds: should("They have milliseconds."),
    parsed: must("Times that come in are read rightly.", {
      how: "In any offset and precision; rounded up to a millisecond, so that 'at or after' stays exact.",
    }),
  }),

  section(A2A, ["5.7", "Presence"], {
    required: must("Required fields are there, and required lists are not empty.", { tck: ["DM-SERIAL-004"] }),
    validated: should("A message without one is refused."),
    unknown: should("Fields that are not known are ignored.", { tck: ["DM-SERIAL-005"] }),
  }),

  section(A2A, ["9.1", "JSON-RPC"], {
    "json-rpc": must("Requests and answers are JSON-RPC 2.0.", {
      how: 'One object. The id is echoed exactly, `0` and `""` too; a batch is refused.',
      tck: ["JSONRPC-FMT-001"],
    }),
    notifications: may("A request without an id is JSON-RPC's notification.", {
      deviates: "Nobody would hear what became of it: it is refused with -32600, and nothing runs.",
    }),
    "content-type": must("Both are `application/json`.", {
      how: "A request of another type is -32005.",
      tck: ["JSONRPC-FMT-002"],
    }),
    methods: must("Methods have the names of the protocol, in PascalCase.", { tck: ["JSONRPC-SVC-001"] }),
  }),

  section(A2A, ["9.2", "Headers"], {
    headers: must("Service parameters are HTTP headers.", { tck: ["JSONRPC-SVC-002"] }),
    list: should("Several values are one header, separated by commas."),
  }),

  section(A2A, ["9.4.2", "Streams over JSON-RPC"], {
    sse: must("Streams are server-sent events.", {
      deviates: "Nothing is streamed.",
      tck: ["JSONRPC-SSE-001"],
    }),
  }),

  section(A2A, ["9.5", "Errors over JSON-RPC"], {
    object: must("An error is JSON-RPC's object: code, message, data.", { tck: ["JSONRPC-ERR-001"] }),
    standard: must("What JSON-RPC itself names has its codes: -32700, -32600, -32601, -32602, -32603."),
    "error-info": must("An error of A2A's has a `google.rpc.ErrorInfo` in `data`: reason and domain.", {
      tck: ["JSONRPC-ERR-003"],
    }),
    "bad-request": should("Wrong parameters have a `google.rpc.BadRequest`."),
  }),
];
