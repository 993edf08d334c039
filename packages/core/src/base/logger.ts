import type { Clock } from "./clock.ts";
import { describeThrown } from "./thrown.ts";

/** Writes one log line. Takes its fields first, then its fixed text, as pino does. */
export type Log = (fields: Record<string, unknown>, message: string) => void;

/** Where log lines go. `consoleLogger()`, pino and `console` have this shape. The default logger is silent. */
export interface Logger {
  /** For detail that is seen only when it is asked for. */
  debug: Log;
  /** For what happens in normal operation. */
  info: Log;
  /** For what still works, but needs attention. */
  warn: Log;
  /** For what has failed. A thrown error is the field `err`. */
  error: Log;
  /** Returns a logger that adds `bindings` to every line. Without this method, lines have fewer fields. */
  child?(bindings: Record<string, unknown>): Logger;
  /**
   * Never called. It makes a logger of winston a compile error, since its `transports` are a list and its functions take the text first. Pass
   * `winstonLogger(logger)` instead.
   */
  readonly transports?: Log; // not `never`: where a Logger is expected, TypeScript infers a function for each of its names in the type of pino()
}

const nothing: Log = () => {};

/** The default logger, which drops all lines. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Returns a child of a logger, which is made only when it is first used: most handlers log nothing. */
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
 * Returns a function that logs at most one line a second. If lines were left out, the next one has their number as `alike`, and as `sinceMs`
 * the time since the last logged line, which may be days.
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

/** Emits a Node.js process warning, such as about a callback of the user that threw, with the stack of the error if there is one. */
export function warnOfCallback(code: string, message: string, error: unknown): void {
  const { stack: detail } = describeThrown(error);
  process.emitWarning(message, {
    type: "EsimWebhooksWarning",
    code,
    ...(detail !== "" && { detail }),
  });
}

const warned = new Set<string>();
