/**
 * Standard output, for the protocol alone: one stray `console.log`, be it of a dependency, and the host drops the connection
 * (P12).
 */

/**
 * Takes standard output. What anybody else in this process writes there from now on goes to standard error.
 *
 * @returns The stream as it was, which is the way to the client. Answers to what came in with one chunk go out with one write.
 */
export function takeStandardOutput(): NodeJS.WriteStream {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  // Who started us may have closed it, or stopped reading; that is no reason to end.
  stderr.on("error", () => undefined);
  // The SDK listens once for each answer that waits to go out.
  stdout.setMaxListeners(0);

  let waiting = "";
  const flush = (): void => {
    const text = waiting;
    waiting = "";
    if (text !== "") write(text);
  };
  const writeSoon = (text: string, done?: () => void): boolean => {
    if (done !== undefined) {
      flush();
      return write(text, done);
    }
    if (waiting === "") process.nextTick(flush);
    waiting += text;
    return !stdout.writableNeedDrain;
  };
  return new Proxy(stdout, {
    get(target, key) {
      if (key === "write") return writeSoon;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}
