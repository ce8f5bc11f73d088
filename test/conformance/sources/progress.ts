/** The progress protocol: protocol/PROTOCOL.md, and what the sink, the MCP server, HTTP and the bar keep of it. */
import { must, section, should } from "../requirement.ts";
import type { Document } from "../requirement.ts";

const PROTOCOL: Document = { prefix: "progress", name: "Agent progress v0", at: "protocol/PROTOCOL.md" };

export const PROGRESS = [
  section(PROTOCOL, ["event", "The event"], {
    schema: must("An event fits `protocol/schema.json`; so do the contract's two examples."),
    "task-id": must("`task_id` is 1 to 128 characters of its charset; another one is refused."),
    clamped: must("`percent` out of 0 to 100 is clamped; -0 is 0."),
    regression: must("`percent` may go down."),
    finite: must("A number that is not finite is refused."),
    eta: must("`eta_seconds` is null or 0 and more. An ETA is never made up."),
    stage: must(
      "`stage` has at most 120 characters, `message` 280: longer ones are cut, and none in the middle of a character.",
    ),
    status: must("`status` is started, running, paused, done or error; another one is refused."),
    timestamp: must("`timestamp` is the receiver's own, UTC, in the order of receipt."),
    cleaned: must("Terminal escapes, control characters and what turns the direction of text are taken out."),
    proto: must("A `proto` other than 1 is refused."),
    again: must("An event that is reported as it stands gives that event again, with a new time."),
    complete: must("`complete` is done, or 100 percent."),
  }),
  section(PROTOCOL, ["compatibility", "Compatibility"], {
    unknown: must("Consumers ignore fields that they do not know."),
    frozen: must("Fields are neither taken away nor renamed while `proto` is 1."),
  }),
  section(PROTOCOL, ["sink", "The sink"], {
    place: must(
      "`~/.agent-progress/events-YYYY-MM-DD.jsonl`, or the folder of `AGENT_PROGRESS_EVENTS_DIR`; a day is UTC's.",
    ),
    modes: must("The folder is 0700, the file 0600; wider ones are tightened."),
    retention: must(
      "What is older than 7 days by the date in its name is deleted, and nothing that is not the sink's.",
    ),
    labels: must(
      "A record has `agent` (`UAPB_AGENT`, else what the task's id begins with, else `unknown`) and `session_id` (else the task's id).",
    ),
    append: must(
      "Processes append at once and may be killed at any moment: no record that was acknowledged is lost or torn.",
    ),
    torn: must("A line that was torn costs that one record."),
    unwritable: must(
      "When it cannot be written the answer says so, the warning comes once, and the next report tries again.",
    ),
    readers: must(
      "Readers skip and count what is no record; take CRLF and a byte order mark; follow truncation, rotation and midnight.",
    ),
    links: must("No symbolic link is followed in the place of a file."),
  }),
  section(PROTOCOL, ["shown", "Showing a task"], {
    "first-end": must("The first done or error stays until a started opens the task again."),
    latest: must("The record is always the latest report."),
    floored: must("Percent is shown floored."),
    ids: must("`constructor` and `10` are ids like any other."),
  }),
  section(PROTOCOL, ["a2a", "A2A tasks"], {
    status: must(
      "A task's state gives its status: submitted started, working running, waiting paused, completed done, any other end error.",
    ),
    percent: must(
      "Percent is what the agent says, else finished steps over all, else 0; completed is 100, submitted 0.",
    ),
    "task-id": must("The id is `<agent>:<task id>`, made to fit the charset and cut to 128."),
    stage: must("The stage is what the agent says, else the active step, else the step text, else the state in words."),
    message: must('The message of an error is why it failed or was refused, or "Canceled".'),
    eta: must("There is an ETA only if the agent gave one."),
  }),
  section(PROTOCOL, ["mcp", "The MCP server"], {
    tools: must("It has `report_progress` and `get_status`, over stdio."),
    stored: must("A report is stored before it is answered, in the order of receipt."),
    status: must("`get_status` has the latest record of each task, `complete` and `updated_at`, the newest first."),
    loose: must("Output schemas let fields be that they do not know."),
    notifications: must("Progress is notified for the client's own token only, and never after the answer."),
    stdout: must("Standard output carries the protocol alone."),
    ends: must("It ends when its input ends, or its output breaks."),
  }),
  section(PROTOCOL, ["http", "Over HTTP"], {
    report: must(
      "`POST /v1/progress` takes a report by the same rules, and refuses what is none with which field is wrong.",
    ),
    scoped: must("A subject reports and reads its own tasks; an operator reads everybody's."),
    latest: must("`GET /v1/progress` has the latest record of each task, the newest first."),
    stream: must(
      "The stream begins with what is known; `Last-Event-ID` gets what was missed, an unknown one everything.",
    ),
    slow: must("A slow client misses what is outdated, and never the latest."),
    local: must("Tasks and reports are in the machine's sink only where nobody but the machine reaches the Runtime."),
  }),
  section(PROTOCOL, ["widget", "The bar"], {
    "timer-free": must("The element has no timer: the host sets what it shows."),
    text: must("Texts are set as text: nothing that an agent writes is markup."),
    origins: must("The frame hears exact origins that are listed; an empty list is nobody; `null` never is one."),
    height: must("The frame's height follows its content, and does not grow by itself."),
    paused: should('Paused: without colour, "Paused — " before the stage, "paused" for the ETA.'),
    error: should('Error: an assertive alert with the message, or "Something went wrong".'),
    "unknown-eta": should('An unknown ETA is "estimating…", never a number.'),
    done: should("Done: the bar is full."),
    "screen-readers": must("`aria-valuenow` is there only with a finite number; hundreds of updates are a few words."),
    "forced-colours": must(
      "It can be told apart in forced colours, with reduced motion, from right to left, and on 320 pixels.",
    ),
  }),
];
