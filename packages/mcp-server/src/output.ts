/**
 * Standard output, for the protocol alone: one stray `console.log`, be it of a dependency, and the host drops the connection
 * (P12).
 */

/**
 * Takes standard output. What anybody else in this process writes there from now on goes to standard error.
 *
 * @returns The stream as it was, which is the way to the client.
 */
export function takeStandardOutput(): NodeJS.WriteStream {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  // Who started us may have closed it, or stopped reading; that is no reason to end.
  stderr.on("error", () => undefined);
  // The SDK listens once for each answer that waits to go out.
  stdout.setMaxListeners(0);
  return new Proxy(stdout, {
    get(target, key) {
      if (key === "write") return write;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}
