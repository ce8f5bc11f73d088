/** What the terminal around this process can do, as far as its environment says. */

export interface TerminalFeatures {
  /** It can move the cursor; one that calls itself dumb is for plain lines. */
  readonly draws: boolean;
  /** It shows more than ASCII. */
  readonly unicode: boolean;
  /** It shows progress in its tab or in the task bar (OSC 9;4). Others may show the sequence as text, or as a notification. */
  readonly progress: boolean;
}

export function terminalFeatures(env: NodeJS.ProcessEnv = process.env): TerminalFeatures {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return {
    draws: env["TERM"] !== "dumb",
    unicode: /utf-?8/i.test(locale) || (locale === "" && process.platform !== "linux"),
    progress: showsProgress(env),
  };
}

function showsProgress(env: NodeJS.ProcessEnv): boolean {
  // Multiplexers do not pass it on.
  if (env["TMUX"] || env["STY"]) return false;
  if (env["WT_SESSION"] || env["ConEmuANSI"] === "ON") return true;
  if (Number(env["VTE_VERSION"]) >= 7900) return true;
  const [major = 0, minor = 0, patch = 0] = (env["TERM_PROGRAM_VERSION"] ?? "").split(/[.-]/).map(Number);
  const version = major * 1e6 + minor * 1e3 + patch;
  switch (env["TERM_PROGRAM"]) {
    case "ghostty":
      return version >= 1_002_000;
    case "iTerm.app":
      return version >= 3_006_006;
    case "WezTerm":
      return major >= 20_250_209;
    default:
      return false;
  }
}
