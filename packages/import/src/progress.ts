import type { Logger } from "@esim-webhooks/core";
import type { ImportProgress } from "./import-report.ts";
import type { Ledger } from "./replay/ledger.ts";

const everyMs = 100;

/** Tells how far an import is, some 10 times a second at most. A listener that throws is not asked again. */
export function createProgress(
  listener: ((progress: ImportProgress) => void) | undefined,
  bytesRead: () => number,
  total: () => Ledger,
  logger: Logger,
): { tell(): void; tellTheEnd(): void } {
  let nextAt = 0;
  let isHeard = listener !== undefined;

  function tell(): void {
    try {
      const ledger = total();
      listener?.({ bytesRead: bytesRead(), records: ledger.read, ledger });
    } catch (err) {
      isHeard = false;
      logger.warn({ err }, "onProgress threw: it is not called any more.");
    }
  }

  return {
    tell() {
      if (!isHeard || performance.now() < nextAt) return;
      nextAt = performance.now() + everyMs;
      tell();
    },
    tellTheEnd() {
      if (isHeard) tell();
    },
  };
}
