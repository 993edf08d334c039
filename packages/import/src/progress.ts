import type { ImportMessage, Logger } from "@esim-webhooks/core";
import { importNotice } from "@esim-webhooks/core/kit";
import type { ImportProgress } from "./import-report.ts";
import type { Ledger } from "./replay/ledger.ts";

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

/** Reports the progress of an import. A listener that throws is not called again. */
export function createProgress(
  listener: ((progress: ImportProgress) => void) | undefined,
  bytesRead: () => number,
  total: () => Ledger,
  logger: Logger,
): Progress {
  const startedAt = performance.now();
  let nextAt = 0;
  let isListening = listener !== undefined;

  function progressNow(): ImportProgress {
    const ledger = total();
    return { bytesRead: bytesRead(), records: ledger.read, ledger };
  }

  function publish(ending: Pick<ImportMessage, "outcome" | "error">): void {
    if (!importNotice.hasSubscribers) return;
    importNotice.publish({ ...ending, durationMs: performance.now() - startedAt, ...progressNow() });
  }

  function reportNow(outcome: "running" | Ending): void {
    publish({ outcome });
    try {
      if (isListening) listener?.(progressNow());
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
