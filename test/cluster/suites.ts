/**
 * Which suites of test/e2e and test/crash are run once more on three nodes that share a PostgreSQL, behind a plain round-robin proxy; and by
 * which file here, so that each file is done in time.
 *
 * | here       | what it runs again                                                                                           |
 * |------------|--------------------------------------------------------------------------------------------------------------|
 * | e2e        | what callers, other agents and webhooks are answered                                                          |
 * | processes  | what is seen of processes from outside: their figures, limits, files, and what people do for them            |
 * | crash      | kill -9: when a node dies, the others go on with what it had                                                 |
 * | faults     | the same at each named point at which something is written or done                                           |
 *
 * What one process cannot lose, the database and the connections to it, kill.test.ts takes from the nodes.
 */
export const suites = {
  e2e: [
    "e2e/turns",
    "e2e/subjects",
    "e2e/call-agents",
    "e2e/client-servers",
    "e2e/official-client",
    "e2e/client-gateway",
    "e2e/push",
    "e2e/push-configs",
    "e2e/memory",
  ],
  processes: ["e2e/files", "e2e/operators", "e2e/limits", "e2e/metrics", "e2e/progress-everywhere", "e2e/keep-alive"],
  crash: ["crash/kill", "crash/deadly-turn", "crash/files", "crash/push"],
  faults: ["crash/faults"],
} as const;

/** Of these suites, the tests with such names: the others are about servers that are not ours. */
export const only: Readonly<Record<string, string>> = { "e2e/client-servers": "our Runtime" };

/** Those that would mean nothing there, and why. */
export const elsewhere: Readonly<Record<string, string>> = {
  "e2e/client-published":
    "What is published for callers is tried in programs that are not ours; what answers them does not matter.",
  "e2e/disk": "The disk that fills up is that of the database in the home. PostgreSQL looks after its own.",
};
