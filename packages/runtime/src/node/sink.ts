/** The sink of the person at this machine. */
import { Sink, sinkFolder } from "@nylorun/progress";

/** Where it is: `AGENT_PROGRESS_EVENTS_DIR`, else `~/.agent-progress`. */
export function localSinkFolder(): string {
  return sinkFolder(process.env);
}

/** @param warn See `SinkOptions`. */
export function openLocalSink(warn: (text: string) => void): Sink {
  return new Sink({ folder: localSinkFolder(), warn });
}
