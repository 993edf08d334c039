import type { Logger } from "@esim-webhooks/core";

/** The logger of a pass whose report the command prints itself. */
export function withoutReports(logger: Logger): Logger {
  return {
    ...logger,
    info: (fields, message) => {
      if (typeof fields !== "object" || !("ledger" in fields)) logger.info(fields, message);
    },
  };
}
