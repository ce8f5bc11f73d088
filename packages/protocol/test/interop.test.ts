/** The official SDK's ProtoJSON code as the judge of our names: what it reads and writes again is what we wrote. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk from "@a2a-js/sdk";

import { parseParams, TASK_STATES } from "../src/index.ts";
import type { AgentCard, ListTasksRequest, Part, SendMessageRequest, StreamResponse, Task } from "../src/index.ts";

const parts: readonly Part[] = [
  { text: "Hello", mediaType: "text/markdown", filename: "a.md", metadata: { a: [1, null] } },
  { raw: "AAEC/w==", mediaType: "image/png" },
  { url: "https://example.com/a.csv" },
  { data: { deep: [1, { two: null }] } },
];

const task: Task = {
  id: "t",
  contextId: "c",
  status: {
    state: "TASK_STATE_INPUT_REQUIRED",
    message: { messageId: "s", role: "ROLE_AGENT", parts, contextId: "c", taskId: "t", extensions: ["urn:x"] },
    timestamp: "2026-10-28T10:30:00.000Z",
  },
  artifacts: [
    { artifactId: "a", name: "output", description: "It.", parts, metadata: { v: 1 }, extensions: ["urn:x"] },
  ],
  history: [{ messageId: "m", role: "ROLE_USER", parts, referenceTaskIds: ["r"], metadata: {} }],
  metadata: { "urn:x": {} },
};

test("a Task in our types is a Task of the SDK's, in every state", () => {
  for (const state of TASK_STATES) {
    const given: Task = { ...task, status: { ...task.status, state } };
    assert.deepEqual(sdk.Task.toJSON(sdk.Task.fromJSON(given)), given);
  }
});

test("the four kinds of StreamResponse have the SDK's names", () => {
  const ids = { taskId: "t", contextId: "c" };
  const responses: readonly StreamResponse[] = [
    { task },
    { message: { messageId: "m", role: "ROLE_AGENT", parts } },
    { statusUpdate: { ...ids, status: task.status, metadata: { a: 1 } } },
    { artifactUpdate: { ...ids, artifact: { artifactId: "a", parts }, append: true, lastChunk: true, metadata: {} } },
  ];
  for (const response of responses) {
    assert.deepEqual(sdk.StreamResponse.toJSON(sdk.StreamResponse.fromJSON(response)), response);
  }
});

test("what the SDK's client sends is read as it was meant", () => {
  const request: SendMessageRequest = {
    tenant: "t",
    message: {
      messageId: "m",
      contextId: "c",
      taskId: "t",
      role: "ROLE_USER",
      parts,
      metadata: { delivery: "reject" },
      extensions: ["urn:x"],
      referenceTaskIds: ["r"],
    },
    configuration: {
      acceptedOutputModes: ["text/plain"],
      taskPushNotificationConfig: {
        id: "p",
        url: "https://example.com/hook",
        token: "secret",
        authentication: { scheme: "Bearer", credentials: "key" },
      },
      historyLength: 0,
      returnImmediately: true,
    },
    metadata: { a: 1 },
  };
  assert.deepEqual(
    parseParams("SendMessage", sdk.SendMessageRequest.toJSON(sdk.SendMessageRequest.fromJSON(request))),
    request,
  );
  const list: ListTasksRequest = {
    contextId: "c",
    status: "TASK_STATE_WORKING",
    pageSize: 10,
    pageToken: "p",
    historyLength: 3,
    statusTimestampAfter: "2026-10-28T10:30:00.000Z",
    includeArtifacts: true,
  };
  assert.deepEqual(parseParams("ListTasks", sdk.ListTasksRequest.toJSON(sdk.ListTasksRequest.fromJSON(list))), list);
});

test("a card in our types is a card of the SDK's", () => {
  const card: AgentCard = {
    name: "Refunds",
    description: "Refunds an order.",
    supportedInterfaces: [
      { url: "https://example.com/", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "t" },
    ],
    provider: { url: "https://example.com/", organization: "Example" },
    version: "1.0.0",
    documentationUrl: "https://example.com/docs",
    capabilities: {
      streaming: false,
      pushNotifications: true,
      extensions: [{ uri: "urn:x", description: "It.", required: true, params: { a: 1 } }],
      extendedAgentCard: false,
    },
    securitySchemes: {
      key: { apiKeySecurityScheme: { description: "A key.", location: "header", name: "X-Key" } },
      bearer: { httpAuthSecurityScheme: { description: "A token.", scheme: "Bearer", bearerFormat: "JWT" } },
      code: {
        oauth2SecurityScheme: {
          description: "OAuth.",
          flows: {
            authorizationCode: {
              authorizationUrl: "https://example.com/a",
              tokenUrl: "https://example.com/t",
              refreshUrl: "https://example.com/r",
              scopes: { read: "Reads." },
              pkceRequired: true,
            },
          },
          oauth2MetadataUrl: "https://example.com/m",
        },
      },
      client: {
        oauth2SecurityScheme: {
          flows: { clientCredentials: { tokenUrl: "https://example.com/t", scopes: { a: "A." } } },
        },
      },
      device: {
        oauth2SecurityScheme: {
          flows: {
            deviceCode: {
              deviceAuthorizationUrl: "https://example.com/d",
              tokenUrl: "https://example.com/t",
              scopes: { a: "A." },
            },
          },
        },
      },
      oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://example.com/o" } },
      mtls: { mtlsSecurityScheme: { description: "A certificate." } },
    },
    securityRequirements: [{ schemes: { bearer: { list: ["read"] } } }],
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [
      {
        id: "refund",
        name: "Refund",
        description: "Refunds.",
        tags: ["orders"],
        examples: ["Refund 1001"],
        inputModes: ["text/plain"],
        outputModes: ["text/plain"],
        securityRequirements: [{ schemes: { key: { list: ["a"] } } }],
      },
    ],
    signatures: [{ protected: "p", signature: "s", header: { kid: "k" } }],
    iconUrl: "https://example.com/icon.png",
  };
  assert.deepEqual(sdk.AgentCard.toJSON(sdk.AgentCard.fromJSON(card)), card);
});
