/** The TypeScript files of the repository, parsed by the compiler as tsconfig.json names them. */
import { relative, sep } from "node:path";

import type { SourceFile } from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

/** One of our own files. */
export interface Source {
  /** Below the root, with `/`. */
  readonly path: string;
  readonly file: SourceFile;
}

/** Parses the project of `root`, whose tsconfig.json says which files are part of it. The compiler ends when `use` has. */
export function withSources<T>(root: string, use: (sources: readonly Source[]) => T): T {
  const compiler = new API({ cwd: root });
  try {
    const [project] = compiler.updateSnapshot({ openProjects: [`${root}/tsconfig.json`] }).getProjects();
    if (project === undefined) throw new Error(`the compiler could not open ${root}/tsconfig.json`);
    const sources = project.rootFiles.flatMap((name) => {
      const file = project.program.getSourceFile(name);
      return file === undefined ? [] : [{ path: relative(root, name).replaceAll(sep, "/"), file }];
    });
    return use(sources);
  } finally {
    compiler.close();
  }
}
