import { runOnManyNodes } from "./suite.ts";
import { suites } from "./suites.ts";

runOnManyNodes(suites.processes);
