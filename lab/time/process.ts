// A process of a run: `process.ts <role> <settings as JSON>`. It answers each message of the parent with a sample, and ends with the parent.
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Figures } from "./place.ts";
import { type Role, roles, type Settings, type Started } from "./roles.ts";

/** A message of the process: the first one has settings, each later one a sample. */
export type Answer =
  | { readonly settings: Partial<Settings> }
  | { readonly figures: Figures; readonly counts: Readonly<Record<string, number>> };

const [role = "", settings = ""] = process.argv.slice(2);
const started: Started = await roles[role as Role](JSON.parse(settings) as Settings);
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
process.on("disconnect", () => process.exit());
process.on("message", () => answer({ figures: sample(), counts: started.counts?.() ?? {} }));
answer({ settings: started.settings ?? {} });

function answer(message: Answer): void {
  process.send?.(message);
}

function sample(): Figures {
  const delayMs = delay.percentile(99) / 1e6;
  globalThis.gc?.();
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  delay.reset(); // the collection counts for neither sample
  return {
    "memory, kB": (rss - heapTotal + heapUsed) / 1000, // without pages that are free, of which V8 keeps more with time
    "heap, kB": (heapUsed + external) / 1000,
    "file descriptors": readdirSync("/proc/self/fd").length,
    "open handles": process.getActiveResourcesInfo().length,
    "event-loop delay, ms": delayMs,
    ...started.figures?.(),
  };
}
