import { AsyncLocalStorage } from "node:async_hooks";
import { type Logger, silentLogger } from "../base/logger.ts";
import { handleStage } from "../handle/stages.ts";

/** The message of the handler that has begun the current asynchronous work. */
const handled = new AsyncLocalStorage<unknown>();

/** The loggers of all watches. A logger is listed once for each of its watches. */
const loggers: Logger[] = [];

/**
 * Logs an error that a handler has left behind and no code catches, such as the rejection of a promise that was not awaited, with the handler's
 * event: once for each logger, even if it has several watches. It only watches: Node.js still ends the process, unless the application has a
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
  if (message === undefined) return; // no handler has left it behind
  const { source, id, type } = message;
  for (const logger of new Set(loggers)) {
    logger.error(
      { source, id, type, err },
      "A handler of this type left behind an error that nothing catches, which ends the process. Await every promise in it.",
    );
  }
}
