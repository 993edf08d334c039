import type { Log, Logger } from "./logger.ts";

/** The part of a logger of winston that is used. The module itself has this part, too. */
export interface WinstonLogger {
  /** Writes an entry with `level`, `message` and any other fields. */
  log(entry: { level: string; message: string }): unknown;
  /** Where its lines go. A list, by which loggers of winston are recognised. */
  readonly transports: object;
  /** Its levels, by name. winston's npm levels have `warn`, its syslog levels `warning`. */
  readonly levels?: object | undefined;
  /** Returns a logger that adds `bindings` to every line. */
  child?(bindings: object): WinstonLogger;
}

/**
 * Adapts a logger of winston: its functions take the text first, so they would print `[object Object]` for every line. An error in `err`
 * becomes a plain object with the error's own fields, `message`, `stack` and `cause`, since winston's formats print errors as `{}`.
 */
export function winstonLogger(logger: WinstonLogger): Logger {
  const at = (level: string): Log => {
    const levels = logger.levels ?? {};
    const name = level === "warn" && !(level in levels) && "warning" in levels ? "warning" : level;
    return ({ err, ...fields }, message) =>
      void logger.log({
        ...fields,
        ...(err !== undefined && { err: plainError(err, mostCauses) }),
        level: name,
        message,
      });
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (bindings) => winstonLogger(logger.child?.(bindings) ?? logger),
  };
}

/** More causes than this are left out; a chain may even be a circle. */
const mostCauses = 5;

function plainError(error: unknown, causesLeft: number): unknown {
  if (!(error instanceof Error)) return error;
  const { message, stack, cause } = error;
  return {
    ...error,
    ...{ message, stack },
    ...(cause !== undefined && causesLeft > 0 && { cause: plainError(cause, causesLeft - 1) }),
  };
}

/** Whether a value is a logger of winston, its child, or winston itself, by its structure, since it may be of any version. */
export function isWinston(logger: unknown): logger is WinstonLogger {
  const { log, transports, createLogger } = (logger ?? {}) as Record<string, unknown>;
  return typeof log === "function" && (Array.isArray(transports) || typeof createLogger === "function");
}
