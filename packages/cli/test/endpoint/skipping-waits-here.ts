import { AsyncLocalStorage } from "node:async_hooks";
import { type Skipped, skipWaits } from "./skip-waits.ts";

const commands = new AsyncLocalStorage<Skipped>();
skipWaits(() => commands.getStore());

/** Runs a command in this process, which skips waits of seconds. Nothing else in the process does. */
export function skippingWaits<Result>(command: () => Result): Result {
  return commands.run({ ms: 0 }, command);
}
