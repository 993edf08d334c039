// Preloaded into a command in a process of its own: it skips waits of seconds.
import { skipWaits } from "./skip-waits.ts";

const skipped = { ms: 0 };
skipWaits(() => skipped);
