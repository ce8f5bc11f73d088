// A bar for each task, without a framework: an element is made when the first event of a task comes, and set each one after that.
import "@nylorun/widget/define";

const bars = new Map(); // By task id: a Map, since "constructor" is a legal one.

new EventSource("/events").addEventListener("message", ({ data }) => {
  const event = JSON.parse(data);
  let bar = bars.get(event.task_id);
  if (bar === undefined) {
    bar = document.createElement("agent-progress");
    bars.set(event.task_id, bar);
    document.querySelector("#bars").append(bar);
  }
  bar.event = event;
});

// The bars have no clock of their own. With this one the countdown runs, and an agent that fell silent is seen to be.
setInterval(() => {
  for (const bar of bars.values()) bar.now = Date.now();
}, 1000);
