import { createLocalSignal } from "../../src/store/local-signal.ts";
import { signalContract } from "./signal-contract.ts";

signalContract("within one process", async () => [createLocalSignal()], { nodes: 1 });
