type Log = (fields: Record<string, unknown>, message: string) => void;

/** Where log lines go: pino's shape, which `console` has too. Silent unless one is given. */
export interface Logger {
  debug: Log;
  info: Log;
  warn: Log;
  error: Log;
  /** A logger that adds `bindings` to every line. Without it, lines carry fewer fields. */
  child?(bindings: Record<string, unknown>): Logger;
}

const nothing: Log = () => {};

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * Tells a mistake in the set-up to the logger and, once a process for each code, as a Node.js process
 * warning, since the default logger is silent and nobody would hear of it.
 */
export function warnOfSetup(logger: Logger, code: string, message: string): void {
  logger.error({ code }, message);
  if (warned.has(code)) return;
  warned.add(code);
  process.emitWarning(message, { type: "EsimWebhooksWarning", code });
}

const warned = new Set<string>();
