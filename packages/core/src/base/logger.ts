import type { Clock } from "./clock.ts";
import { describeThrown } from "./thrown.ts";

/** Writes one line of a level: first its fields, then a fixed text, as pino takes them. */
export type Log = (fields: Record<string, unknown>, message: string) => void;

/** Where log lines go. `consoleLogger()`, pino and `console` have this shape. The default logger is silent. */
export interface Logger {
  /** For detail that is seen only when it is asked for. */
  debug: Log;
  /** For what happens in normal operation. */
  info: Log;
  /** For what works, and needs attention. */
  warn: Log;
  /** For what has failed, with the error as the field `err`. */
  error: Log;
  /** A logger that adds `bindings` to every line. Without it, lines carry fewer fields. */
  child?(bindings: Record<string, unknown>): Logger;
  /**
   * Never called. Only winston's loggers have `transports`, a list: so they do not compile here, since they take the text first. Pass
   * `winstonLogger(logger)`.
   */
  readonly transports?: Log; // not `never`: where a Logger is expected, the type of pino() has a function under each name of Logger
}

const nothing: Log = () => {};

/** The default logger, which drops all lines. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The child of a logger, which is made only when it logs its first line: most handlers log nothing. */
export function childOf(logger: Logger, bindings: Record<string, unknown>): Logger {
  let made: Logger | undefined;
  const child = () => {
    made ??= logger.child?.(bindings) ?? logger;
    return made;
  };
  return {
    debug: (fields, message) => child().debug(fields, message),
    info: (fields, message) => child().info(fields, message),
    warn: (fields, message) => child().warn(fields, message),
    error: (fields, message) => child().error(fields, message),
    child: (more) => childOf(child(), more),
  };
}

/**
 * Logs at most one line a second. `alike` counts the lines that were left out since the last one, which was `sinceMs` ago: that may be days
 * after a flood.
 */
export function throttledLog(log: Log, clock: Clock): Log {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let alike = 0;
  return (fields, message) => {
    const now = clock.now();
    const sinceMs = now - loggedAt;
    if (sinceMs < 1000) {
      alike += 1;
      return;
    }
    log(alike > 0 ? { ...fields, alike, sinceMs: Math.round(sinceMs) } : fields, message);
    loggedAt = now;
    alike = 0;
  };
}

/** Emits a Node.js process warning, once per process and code; with the stack of an error, if there is one. */
export function warnOnce(code: string, message: string, error?: unknown): void {
  if (warned.has(code)) return;
  warned.add(code);
  warnOfCallback(code, message, error);
}

/** Emits a Node.js process warning about a callback of the user that threw, with the stack of its error. */
export function warnOfCallback(code: string, message: string, error: unknown): void {
  const { stack: detail } = describeThrown(error);
  process.emitWarning(message, {
    type: "EsimWebhooksWarning",
    code,
    ...(detail !== "" && { detail }),
  });
}

const warned = new Set<string>();
