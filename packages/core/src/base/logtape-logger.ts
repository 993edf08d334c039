import type { Log, Logger } from "./logger.ts";

/** The part of a logger of LogTape that is used. */
interface LogTapeLogger extends Record<"debug" | "info" | "warning" | "error", LogTapeLog> {
  /** Returns a logger that adds `properties` to every line. */
  with(properties: Record<string, unknown>): LogTapeLogger;
}

type LogTapeLog = (text: string, properties: Record<string, unknown>) => void;

/** Adapts a logger of LogTape, whose functions take the text first, and would lose the text of our lines. */
export function logTapeLogger(logger: LogTapeLogger): Logger {
  const at =
    (level: "debug" | "info" | "warning" | "error"): Log =>
    (fields, message) =>
      logger[level](message.replace(/[{}]/g, "$&$&"), fields); // in its texts, {name} stands for a property
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warning"),
    error: at("error"),
    child: (bindings) => logTapeLogger(logger.with(bindings)),
  };
}

/** Whether a value is a logger of LogTape, by its structure, since it may be of any version. */
export function isLogTape(logger: unknown): logger is LogTapeLogger {
  const { category, getChild, with: withProperties } = (logger ?? {}) as Record<string, unknown>;
  return Array.isArray(category) && typeof getChild === "function" && typeof withProperties === "function";
}
