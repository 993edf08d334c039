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

/** Returns a logger with these methods, which is silent on the other levels. With it, set-up mistakes are no warnings of the process. */
export function loggerWith(methods: Partial<Logger> = {}): Logger {
  return { ...loggerTo(() => {}), ...methods };
}
