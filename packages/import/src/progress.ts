import type { Logger } from "@esim-webhooks/core";
import { importNotice } from "@esim-webhooks/core/kit";
import type { ImportProgress } from "./import-report.ts";
import type { Ledger } from "./replay/ledger.ts";

const everyMs = 100;

/** Tells how far an import is, 10 times a second at most. A listener that throws is not called again. */
export function createProgress(
  listener: ((progress: ImportProgress) => void) | undefined,
  bytesRead: () => number,
  total: () => Ledger,
  logger: Logger,
): { tell(): void; tellTheEnd(): void } {
  const startedAt = performance.now();
  let nextAt = 0;
  let isHeard = listener !== undefined;

  function tell(outcome: "running" | "ended"): void {
    const ledger = total();
    const progress = { bytesRead: bytesRead(), records: ledger.read, ledger };
    if (importNotice.hasSubscribers) {
      importNotice.publish({ outcome, durationMs: performance.now() - startedAt, ...progress });
    }
    try {
      if (isHeard) listener?.(progress);
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
    tellTheEnd: () => tell("ended"),
  };
}
