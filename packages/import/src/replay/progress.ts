import type { Channel } from "node:diagnostics_channel";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import { createNotice, createProgressNotice, listenTo } from "@esim-webhooks/core/internal";
import type { Ledger } from "./ledger.ts";

/**
 * The progress of an import or a replay. On `esim-webhooks:import`, at most ten times a second while it runs, and once at
 * its end.
 */
export interface ImportMessage {
  /** The name of the run, as in its report. It distinguishes two imports at the same time. */
  readonly run: string;
  /** The name of the endpoint that received the events. */
  readonly source: string;
  /** Whether nothing is stored or handled: `stored` in the ledger counts the events that would be passed to the target. */
  readonly dryRun: boolean;
  /**
   * - `damaged`: the rest of the dump could not be read
   * - `interrupted`: its signal aborted
   * - `failed`: it rejects with `error`
   */
  readonly outcome: "running" | "complete" | "damaged" | "interrupted" | "failed";
  /** Since the import began, in ms. */
  readonly durationMs: number;
  /** How many bytes of the dump were read; compressed bytes if it is compressed. Absent without a dump. */
  readonly bytesRead?: number;
  /** How many records have a fate. Includes those of the interrupted run that this one continues. */
  readonly records: number;
  /** The fates so far. */
  readonly ledger: Ledger;
  /** The error that the import rejects with. Absent unless it failed. */
  readonly error?: unknown;
}

const importNotice: Channel<unknown, ImportMessage> = createNotice("import");

/**
 * Watches every import and replay in this process: its progress, at most ten times a second, and its end. `observe` of core
 * shows the events that they put into an inbox, and their handlers. A listener that throws or rejects changes nothing
 * else: the first such error becomes a Node.js process warning.
 *
 * Throws `invalid_option` if the listener is not a function. Returns a function that stops watching.
 */
export function observeImports(listener: (message: ImportMessage) => void): () => void {
  if (typeof listener === "function") return listenTo("import", importNotice, listener);
  throw new WebhookError(
    "invalid_option",
    `expected a function, not ${listener === null ? "null" : typeof listener}.`,
    "Pass a function that takes an ImportMessage.",
    { where: "observeImports" },
  );
}

/** The ending of a replay that did not fail. */
export type ReplayEnding = Exclude<ImportMessage["outcome"], "running" | "failed">;

/** Reports to the listener and to the channel. */
export interface Progress {
  /** Call it often: it reports at most 10 times a second. */
  report(): void;
  end(outcome: ReplayEnding): void;
  /** Reports to the channel only: the caller of a failed import gets its error. */
  fail(error: unknown): void;
}

export interface ProgressOptions {
  readonly source: string;
  readonly dryRun: boolean;
  readonly logger: Logger;
  run(): string;
  total(): Ledger;
  /** Left out when the records are not from a dump. */
  bytesRead?(): number;
  /** The listener. If it throws, it is not called again. */
  onProgress?: ((ledger: Ledger) => void) | undefined;
}

/** Reports the progress of an import or a replay. */
export function createProgress({ source, dryRun, logger, onProgress, ...now }: ProgressOptions): Progress {
  const notice = createProgressNotice<ImportMessage>(importNotice, () => {
    const ledger = now.total();
    return {
      run: now.run(),
      source,
      dryRun,
      ...(now.bytesRead && { bytesRead: now.bytesRead() }),
      records: ledger.read,
      ledger,
    };
  });
  let isListening = onProgress !== undefined;

  function reportNow(outcome: "running" | ReplayEnding): void {
    notice.publish({ outcome });
    try {
      if (isListening) onProgress?.(now.total());
    } catch (err) {
      isListening = false;
      logger.warn({ err }, "onProgress threw and will not be called again.");
    }
  }

  return {
    report() {
      if ((isListening || importNotice.hasSubscribers) && notice.isDue()) reportNow("running");
    },
    end: reportNow,
    fail: (error) => notice.publish({ outcome: "failed", error }),
  };
}
