import type { ImportMessage, Logger } from "@esim-webhooks/core";
import { importNotice } from "@esim-webhooks/core/kit";
import type { ImportProgress } from "./import-report.ts";
import type { Ledger } from "./replay/ledger.ts";

const everyMs = 100;

type Ending = Exclude<ImportMessage["outcome"], "running" | "failed">;

/** Tells the listener, and those who watch by the channel. */
export interface Progress {
  tell(): void;
  tellTheEnd(outcome: Ending): void;
  /** An import that rejects: the listener learns it by that. */
  tellFailure(error: unknown): void;
}

/** Tells how far an import is, 10 times a second at most. A listener that throws is not called again. */
export function createProgress(
  listener: ((progress: ImportProgress) => void) | undefined,
  bytesRead: () => number,
  total: () => Ledger,
  logger: Logger,
): Progress {
  const startedAt = performance.now();
  let nextAt = 0;
  let isHeard = listener !== undefined;

  function progressNow(): ImportProgress {
    const ledger = total();
    return { bytesRead: bytesRead(), records: ledger.read, ledger };
  }

  function publish(ending: Pick<ImportMessage, "outcome" | "error">): void {
    if (!importNotice.hasSubscribers) return;
    importNotice.publish({ ...ending, durationMs: performance.now() - startedAt, ...progressNow() });
  }

  function tell(outcome: "running" | Ending): void {
    publish({ outcome });
    try {
      if (isHeard) listener?.(progressNow());
    } catch (err) {
      isHeard = false;
      logger.warn({ err }, "onProgress threw: it is not called any more.");
    }
  }

  return {
    tell() {
      if (!(isHeard || importNotice.hasSubscribers) || performance.now() < nextAt) return;
      nextAt = performance.now() + everyMs;
      tell("running");
    },
    tellTheEnd: tell,
    tellFailure: (error) => publish({ outcome: "failed", error }),
  };
}
