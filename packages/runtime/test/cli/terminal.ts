/** A real terminal: tmux, with a server of its own, that runs one command. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** For whatever is waited for, in milliseconds. */
const PATIENCE = 10_000;

/** Whether there is a tmux here. */
export const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

export interface TerminalOptions {
  /** For the socket. */
  readonly folder: string;
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly width: number;
  readonly height: number;
}

export class Terminal implements Disposable {
  readonly #socket: string;

  constructor({ folder, command, environment, width, height }: TerminalOptions) {
    this.#socket = join(folder, "tmux");
    const words = ["new-session", "-d", "-x", String(width), "-y", String(height), ...command];
    const env = { ...environment, LC_ALL: "C.UTF-8", TERM: "xterm-256color" };
    execFileSync("tmux", ["-S", this.#socket, "-f", "/dev/null", ...words], { env });
    // What a command printed stays to be read after its end.
    this.#tmux("set-option", "-g", "remain-on-exit", "on");
  }

  resize(width: number, height: number): void {
    this.#tmux("resize-window", "-x", String(width), "-y", String(height));
  }

  /** @param keys By tmux's names: `q`, `C-c`. */
  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** The lines on the screen, without blanks at their ends. */
  screen(): string[] {
    return this.#tmux("capture-pane", "-p").replace(/\n+$/, "").split("\n");
  }

  /** The screen, as soon as it is as it should be. @throws When that takes too long; the screen is in the message. */
  async waitFor(isRight: (lines: readonly string[]) => boolean): Promise<string[]> {
    for (const deadline = Date.now() + PATIENCE; ; await delay(30)) {
      const lines = this.screen();
      if (isRight(lines)) return lines;
      if (Date.now() > deadline) throw new Error(`The screen stays:\n${lines.join("\n")}`);
    }
  }

  /** One of tmux's variables about the pane, such as `cursor_flag`. */
  value(name: string): string {
    return this.#tmux("display-message", "-p", `#{${name}}`).trim();
  }

  [Symbol.dispose](): void {
    spawnSync("tmux", ["-S", this.#socket, "kill-server"]);
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync("tmux", ["-S", this.#socket, ...words], { encoding: "utf8" });
  }
}
