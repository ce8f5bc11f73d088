/** Has the compiler look at texts that are no files of the repository. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ROOT } from "./page.ts";

/**
 * What the compiler says about these files, by the rules of the repository; empty when nothing is wrong. What is wrong elsewhere,
 * `npm run check` says.
 *
 * @param files Name, without a folder, to text.
 */
export async function compile(files: ReadonlyMap<string, string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-docs-"));
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    symlinkSync(join(ROOT, "examples"), join(folder, "examples"));
    writeFileSync(join(folder, "package.json"), '{"type": "module"}');
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
    const config = {
      extends: join(ROOT, "tsconfig.json"),
      // What an example does not use or return, its reader will.
      compilerOptions: {
        noUnusedLocals: false,
        noUnusedParameters: false,
        noImplicitReturns: false,
        typeRoots: ["node_modules/@types"],
      },
      files: [...files.keys()],
      include: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    return await new Promise((resolve, reject) => {
      const args = [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder, "--pretty", "false"];
      execFile(process.execPath, args, { cwd: folder, timeout: 60_000 }, (error, stdout, stderr) => {
        if (error === null || stdout !== "") resolve(saidOf([...files.keys()], stdout));
        else reject(new Error(`The compiler did not run: ${stderr}`, { cause: error }));
      });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** An error begins with the file's name; what explains it is indented. */
function saidOf(names: readonly string[], output: string): string {
  const errors = output.split(/\n(?=\S)/);
  return errors.filter((error) => names.some((name) => error.startsWith(`${name}(`))).join("\n");
}
