import { type Log, type Logger, silentLogger, warnOnce } from "./logger.ts";
import { isLogTape, logTapeLogger } from "./logtape-logger.ts";
import { describeThrown } from "./thrown.ts";
import { isWinston, winstonLogger } from "./winston-logger.ts";

/** The wrapper that `safeLogger` has made for each logger. A wrapper maps to itself. */
const safeLoggers = new WeakMap<Logger, Logger>([[silentLogger, silentLogger]]);

/**
 * Wraps a logger so that its exceptions do not fail a delivery, and adapts loggers of winston and LogTape, which would lose every text. If the
 * logger throws at a line with an `err`, which can be any thrown value, the line is written again with `err` as text. The same logger always has
 * the same wrapper. `silentLogger` is its own wrapper, so that it can be recognised.
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
 * Logs a mistake in the set-up as an error, with what was thrown, if anything. With the default logger, which is silent, the mistake is a
 * Node.js process warning instead, once per process and code.
 */
export function warnOfSetup(logger: Logger, code: string, message: string, err?: unknown): void {
  if (logger === silentLogger) warnOnce(code, message, err);
  else safeLogger(logger).error({ code, ...(err !== undefined && { err }) }, message);
}
