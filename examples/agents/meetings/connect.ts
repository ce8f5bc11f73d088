/**
 * `node examples/agents/meetings/connect.ts [OWNER]`: connects somebody's calendar, as they would on a provider's web page. The owner
 * is the subject of their key; that of `npm start` is `local`.
 */
import { Calendars } from "./calendars.ts";

const [owner = "local"] = process.argv.slice(2);
new Calendars().connect(owner);
process.stdout.write(`The calendar of ${owner} is connected.\n`);
