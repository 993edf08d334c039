import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { installed } from "../../../test/installed.ts";
import { bundleWorker } from "../../../test/servers/workerd.ts";

/** The part of miniflare's `Miniflare` that the tests use. */
interface Miniflare {
  readonly ready: Promise<URL>;
  dispose(): Promise<void>;
}

/** A Worker on miniflare, with Durable Objects and Queues. */
export interface RunningWorker {
  readonly url: string;
  /** Resolves with the first line on its console that matches, now or later, and removes it. */
  line(pattern: RegExp): Promise<string>;
  close(): Promise<void>;
}

/** Writes each message of the dead letter queue to the console. */
const deadLetters = `export default {
  queue: ({ messages }) => messages.forEach(({ body, attempts }) => console.log("dead letter: " + (body.id ?? body))),
};`;

/**
 * Runs a Worker whose wrangler.jsonc is that of the example, with `maxRetries`. A message on its queue `esim-events` becomes a dead letter
 * after its last retry.
 */
export async function runWorker(
  entry: string,
  bindings: Record<string, string>,
  { maxRetries = 20 }: { readonly maxRetries?: number } = {},
): Promise<RunningWorker> {
  const module = join(installed("test/workerd"), "miniflare/dist/src/index.js");
  const { Miniflare } = await import(pathToFileURL(module).href);
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const read = (stream: Readable) =>
    createInterface(stream).on("line", (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  const worker: Miniflare = new Miniflare({
    host: "127.0.0.1",
    handleRuntimeStdio: (...streams: Readable[]) => void streams.map(read),
    workers: [
      {
        name: "main",
        modules: true,
        script: await bundleWorker(entry),
        compatibilityDate: "2026-01-01",
        compatibilityFlags: ["nodejs_compat"],
        durableObjects: { DEDUPE: { className: "DedupeObject", useSQLite: true } },
        queueProducers: { EVENTS: "esim-events" },
        queueConsumers: {
          "esim-events": { maxBatchTimeout: 0, maxRetries, deadLetterQueue: "esim-events-dead" },
        },
        bindings,
      },
      {
        name: "dead-letters",
        modules: true,
        script: deadLetters,
        compatibilityDate: "2026-01-01",
        queueConsumers: { "esim-events-dead": { maxBatchTimeout: 0 } },
      },
    ],
  });
  return {
    url: String(await worker.ready),
    line: (pattern) =>
      new Promise((resolve) => {
        const look = () => {
          const index = lines.findIndex((line) => pattern.test(line));
          if (index < 0) return;
          waiting.delete(look);
          resolve(lines.splice(index, 1)[0] ?? "");
        };
        waiting.add(look);
        look();
      }),
    close: () => worker.dispose(),
  };
}
