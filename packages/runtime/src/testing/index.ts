/** For the tests of agents: with any test runner, without a server, without waiting. */
export { answer, approve, cancel, expire } from "./answers.ts";
export type { Answer, AnswerOptions } from "./answers.ts";
export type { Called, CalledAgent, CalledMessage, TestCall } from "./called-agents.ts";
export { assertDurable } from "./durable.ts";
export type { Durability, UncertainEffect } from "./durable.ts";
export { TestingError } from "./errors.ts";
export type { TestingErrorCode } from "./errors.ts";
export type { TestFile } from "./files.ts";
export type { Script, TestEffect, TestRun } from "./script.ts";
export { testAgent } from "./test-agent.ts";
