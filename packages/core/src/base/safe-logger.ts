import { type Log, type Logger, silentLogger, warnOnce } from "./logger.ts";
import { isLogTape, logTapeLogger } from "./logtape-logger.ts";
import { describeThrown } from "./thrown.ts";
import { isWinston, winstonLogger } from "./winston-logger.ts";

/** Each logger as `safeLogger` has wrapped it; a wrapped logger maps to itself. */
const safeLoggers = new WeakMap<Logger, Logger>([[silentLogger, silentLogger]]);

/**
 * Wraps a logger so that its exceptions do not fail a delivery, and adapts those of winston and LogTape, which would lose every text. If the
 * logger cannot write an `err`, since anything may be thrown, the line is written with the text of that value. The same logger always has the
 * same wrapper; the silent one stays itself, so that it can be recognised.
 */
export function safeLogger(given: Logger): Logger {
  const existing = safeLoggers.get(given);
  if (existing !== undefined) return existing;
  const logger = adapted(given);
  const attempt = <Result>(log: () => Result): Result | undefined => {
    try {
      return log();
    } catch {
      return undefined; // there is nowhere left to log this
    }
  };
  const write =
    (level: "debug" | "info" | "warn" | "error"): Log =>
    (fields, message) => {
      try {
        logger[level](fields, message);
      } catch {
        const { err } = fields;
        if (err !== undefined)
          attempt(() => logger[level]({ ...fields, err: describeThrown(err).text }, message));
      }
    };
  const safe: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (bindings) => safeLogger(attempt(() => logger.child?.(bindings)) ?? logger),
  };
  safeLoggers.set(given, safe).set(safe, safe);
  return safe;
}

function adapted(logger: Logger): Logger {
  if (isWinston(logger)) return winstonLogger(logger);
  return isLogTape(logger) ? logTapeLogger(logger) : logger;
}

/**
 * Logs a mistake in the set-up, with what was thrown, if anything. The silent default logger would not show it: without another logger, it is a
 * Node.js process warning, once per process and code.
 */
export function warnOfSetup(logger: Logger, code: string, message: string, err?: unknown): void {
  if (logger === silentLogger) warnOnce(code, message, err);
  else safeLogger(logger).error({ code, ...(err !== undefined && { err }) }, message);
}
