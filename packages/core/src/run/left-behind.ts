import { AsyncLocalStorage } from "node:async_hooks";
import { type Logger, silentLogger } from "../base/logger.ts";
import { handleStage } from "../handle/stages.ts";

/** The message of the handler that has begun what runs now. */
const handled = new AsyncLocalStorage<unknown>();

/** The loggers of all watches: a logger is listed once for each. */
const loggers: Logger[] = [];

/**
 * Logs an error that no code catches, such as the rejection of a promise that was not awaited, with the event whose handler left it
 * behind: once for each logger, also if it has several watches. It only watches: Node.js still ends the process, unless the application has a
 * listener of its own. Returns a function that ends the watch.
 */
export function watchLeftBehind(logger: Logger): () => void {
  if (logger === silentLogger) return () => {};
  if (loggers.length === 0) {
    handleStage.started.bindStore(handled);
    // a listener of unhandledRejection would keep the process alive
    process.on("uncaughtExceptionMonitor", logLeftBehind);
  }
  loggers.push(logger);
  return () => {
    const index = loggers.indexOf(logger);
    if (index !== -1) loggers.splice(index, 1);
    if (loggers.length > 0) return;
    handleStage.started.unbindStore(handled);
    process.off("uncaughtExceptionMonitor", logLeftBehind);
  };
}

function logLeftBehind(err: unknown): void {
  const message = handled.getStore() as Readonly<Record<"source" | "id" | "type", string>> | undefined;
  if (message === undefined) return; // no handler began it
  const { source, id, type } = message;
  for (const logger of new Set(loggers)) {
    logger.error(
      { source, id, type, err },
      "A handler of this type left behind an error that nothing catches, which ends the process. Await every promise in it.",
    );
  }
}
