import type { Logger } from "@esim-webhooks/core";
import { type ImportMessage, importNotice } from "./import-notice.ts";
import type { Ledger } from "./ledger.ts";

const everyMs = 100;

type Ending = Exclude<ImportMessage["outcome"], "running" | "failed">;

/** Reports to the listener and to the channel. */
export interface Progress {
  /** Call it often: it reports at most 10 times a second. */
  report(): void;
  end(outcome: Ending): void;
  /** Reports to the channel only: the caller of a failed import gets its error. */
  fail(error: unknown): void;
}

export interface ProgressOptions {
  readonly source: string;
  readonly logger: Logger;
  run(): string;
  total(): Ledger;
  /** Left out when the records are not from a dump. */
  bytesRead?(): number;
  /** The listener. If it throws, it is not called again. */
  onProgress?: (() => void) | undefined;
}

/** Reports the progress of an import or a replay. */
export function createProgress({ source, logger, onProgress, ...now }: ProgressOptions): Progress {
  const startedAt = performance.now();
  let nextAt = 0;
  let isListening = onProgress !== undefined;

  function publish(ending: Pick<ImportMessage, "outcome" | "error">): void {
    if (!importNotice.hasSubscribers) return;
    const ledger = now.total();
    importNotice.publish({
      run: now.run(),
      source,
      ...ending,
      durationMs: performance.now() - startedAt,
      ...(now.bytesRead && { bytesRead: now.bytesRead() }),
      records: ledger.read,
      ledger,
    });
  }

  function reportNow(outcome: "running" | Ending): void {
    publish({ outcome });
    try {
      if (isListening) onProgress?.();
    } catch (err) {
      isListening = false;
      logger.warn({ err }, "onProgress threw and will not be called again.");
    }
  }

  return {
    report() {
      if (!(isListening || importNotice.hasSubscribers) || performance.now() < nextAt) return;
      nextAt = performance.now() + everyMs;
      reportNow("running");
    },
    end: reportNow,
    fail: (error) => publish({ outcome: "failed", error }),
  };
}
