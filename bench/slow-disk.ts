/** A disk that takes its time to confirm: a shim between a process and its `fsync`, where the system can make one. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const SHIM = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static void nap(void) { usleep(DELAY_US); }
int fsync(int fd) { static int (*real)(int); if (!real) real = dlsym(RTLD_NEXT, "fsync"); nap(); return real(fd); }
int fdatasync(int fd) { static int (*real)(int); if (!real) real = dlsym(RTLD_NEXT, "fdatasync"); nap(); return real(fd); }
`;

/**
 * What to add to the environment of a process for each of its commits to take so much longer.
 *
 * @param folder Where the shim is put.
 * @returns Undefined where there is no compiler, or no such way.
 */
export function slowDisk(folder: string, milliseconds: number): Readonly<Record<string, string>> | undefined {
  if (process.platform !== "linux") return undefined;
  const source = join(folder, "slow-disk.c");
  const library = join(folder, "slow-disk.so");
  writeFileSync(source, SHIM);
  try {
    const delay = `-DDELAY_US=${milliseconds * 1000}`;
    execFileSync("cc", ["-shared", "-fPIC", "-O1", delay, "-o", library, source, "-ldl"], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  return { LD_PRELOAD: library };
}
