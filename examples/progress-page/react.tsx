/** The same with React 19, which sets properties of custom elements by itself. The last import registers the element, and types it. */

import type { ProgressEvent } from "@nylorun/protocol";
import { useEffect, useReducer, useState } from "react";
import { createRoot } from "react-dom/client";
import "@nylorun/widget/react";

type Tasks = ReadonlyMap<string, ProgressEvent>;

function withEvent(tasks: Tasks, event: ProgressEvent): Tasks {
  return new Map(tasks).set(event.task_id, event);
}

function App() {
  const [tasks, take] = useReducer(withEvent, new Map());
  const [now, setNow] = useState(() => Date.now());

  useEffect(() => {
    const source = new EventSource("/events");
    source.addEventListener("message", ({ data }: MessageEvent<string>) => take(JSON.parse(data) as ProgressEvent));
    const clock = setInterval(() => setNow(Date.now()), 1000);
    return () => {
      source.close();
      clearInterval(clock);
    };
  }, []);

  return [...tasks].map(([id, event]) => <agent-progress key={id} event={event} now={now} />);
}

createRoot(document.querySelector("#bars")!).render(<App />);
