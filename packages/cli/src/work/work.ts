import type { SetUpFlags } from "../flags/set-up-flags.ts";
import { commandLogger, dataLines } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { stopSignal } from "../program/stopping.ts";
import { openQueue } from "../set-up/open-target.ts";
import { readSetUp } from "../set-up/set-up.ts";
import { startWorker, withHandlers } from "./start-worker.ts";

export interface WorkFlags extends SetUpFlags {
  readonly concurrency?: number;
  readonly json?: boolean;
}

/** Works the inbox until it is told to stop. */
export async function work(this: CliContext, flags: WorkFlags): Promise<void> {
  const setUp = withHandlers(await readSetUp(this, flags));
  const logger = commandLogger(dataLines(this.output, flags));
  const open = await openQueue(setUp);
  try {
    const worker = startWorker(open.inbox, setUp, logger, flags.concurrency);
    const stop = stopSignal(this.output);
    this.output.note(`Working ${open.where}. Ctrl-C to stop.`);
    await worker.run(stop.signal);
    stop.release();
  } finally {
    await open.close();
  }
}
