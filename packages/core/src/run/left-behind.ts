import { AsyncLocalStorage } from "node:async_hooks";
import { type Logger, silentLogger } from "../base/logger.ts";
import { type HandleMessage, handleStage } from "../handle/stages.ts";

/**
 * Logs an error that no code catches, such as the rejection of a promise that was not awaited, with the event whose handler left it
 * behind. It only watches: Node.js still ends the process, unless the application has a listener of its own. Returns a function that ends
 * the watch.
 */
export function watchLeftBehind(logger: Logger): () => void {
  if (logger === silentLogger) return () => {};
  const handled = new AsyncLocalStorage<HandleMessage>();
  const log = (err: unknown) => {
    const message = handled.getStore();
    if (message === undefined) return; // no handler began it
    const { source, id, type } = message;
    logger.error(
      { source, id, type, err },
      "A handler of this type left behind an error that nothing catches, which ends the process. Await every promise in it.",
    );
  };
  handleStage.started.bindStore(handled as AsyncLocalStorage<unknown>);
  // a listener of unhandledRejection would keep the process alive
  process.on("uncaughtExceptionMonitor", log);
  return () => {
    handleStage.started.unbindStore(handled as AsyncLocalStorage<unknown>);
    process.off("uncaughtExceptionMonitor", log);
  };
}
