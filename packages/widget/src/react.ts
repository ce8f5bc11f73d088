import type { ProgressEvent, ProgressStatus } from "@nylorun/protocol";
/** For React from 19 on: `import "@nylorun/widget/react"` registers the element and types it in JSX. */
import type { DetailedHTMLProps, HTMLAttributes } from "react";

import type { AgentProgress } from "./agent-progress.ts";
import type { Words } from "./words.ts";
import "./define.ts";

/** What `<agent-progress>` takes: its own attributes and properties. */
export interface AgentProgressProps {
  readonly event?: ProgressEvent | null;
  readonly now?: number | null;
  readonly words?: Partial<Words>;
  readonly label?: string;
  readonly size?: "full" | "compact";
  readonly quiet?: boolean;
  readonly "task-id"?: string;
  readonly percent?: number;
  readonly "eta-seconds"?: number;
  readonly stage?: string;
  readonly status?: ProgressStatus;
  readonly timestamp?: string;
  readonly agent?: string;
  readonly message?: string;
}

type Props = AgentProgressProps &
  Omit<DetailedHTMLProps<HTMLAttributes<AgentProgress>, AgentProgress>, keyof AgentProgressProps>;

declare module "react" {
  // oxlint-disable-next-line typescript/no-namespace -- how React's elements are declared
  namespace JSX {
    interface IntrinsicElements {
      "agent-progress": Props;
    }
  }
}
