// A process of a run: `process.ts <role> <settings as JSON>`. It answers each message of the parent with a sample, and ends with the parent.
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Worker } from "node:worker_threads";
import type { Figures } from "./place.ts";
import { type Role, roles, type Settings, type Started } from "./roles.ts";

/** A message of the process: the first one has settings, each later one a sample. */
export type Answer =
  | { readonly settings: Partial<Settings> }
  | { readonly figures: Figures; readonly counts: Readonly<Record<string, number>> };

const [role = "", settings = ""] = process.argv.slice(2);
const threads = new Set<Worker>(); // those of SQLite files, which have heaps of their own
process.on("worker", (thread) => {
  threads.add(thread);
  thread.once("exit", () => threads.delete(thread));
});
const started: Started = await roles[role as Role](JSON.parse(settings) as Settings);
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
process.on("disconnect", () => process.exit());
process.on("message", async () => answer({ figures: await sample(), counts: started.counts?.() ?? {} }));
answer({ settings: started.settings ?? {} });

function answer(message: Answer): void {
  process.send?.(message);
}

async function sample(): Promise<Figures> {
  const delayMs = delay.percentile(99) / 1e6;
  globalThis.gc?.();
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  delay.reset(); // the collection counts for neither sample
  const heaps = await Promise.all([...threads].map((thread) => thread.getHeapStatistics()));
  const inThreads = (figure: "total_heap_size" | "used_heap_size") =>
    heaps.reduce((sum, heap) => sum + heap[figure], 0);
  return {
    "memory, kB": (rss - heapTotal - inThreads("total_heap_size")) / 1000, // without the heaps: V8 keeps more and more of their free pages
    "heap, kB": (heapUsed + external) / 1000,
    ...(threads.size > 0 && { "threads' heaps, kB": inThreads("used_heap_size") / 1000 }), // nothing collects them for a sample
    "file descriptors": readdirSync("/proc/self/fd").length,
    "open handles": process.getActiveResourcesInfo().length,
    "event-loop delay, ms": delayMs,
    ...started.figures?.(),
  };
}
