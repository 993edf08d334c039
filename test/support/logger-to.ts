import type { Logger } from "@esim-webhooks/core";

type Level = "debug" | "info" | "warn" | "error";

/** Returns a logger that passes each line to `write`. */
export function loggerTo(
  write: (fields: Record<string, unknown>, message: string, level: Level) => unknown,
): Logger {
  const at = (level: Level) => (fields: Record<string, unknown>, message: string) =>
    void write(fields, message, level);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
