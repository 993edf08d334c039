import type { CliContext } from "../context.ts";
import { openInbox } from "../open-target.ts";
import { outcomeLogger } from "../outcome-logger.ts";
import { readSetUp } from "../set-up.ts";
import type { SetUpFlags } from "../set-up-flags.ts";
import { stopSignal } from "../stopping.ts";
import { startWorker, withHandlers } from "./start-worker.ts";

export interface WorkFlags extends SetUpFlags {
  readonly concurrency?: number;
  readonly json?: boolean;
}

/** Works the inbox until it is told to stop. */
export async function work(this: CliContext, flags: WorkFlags): Promise<void> {
  const setUp = withHandlers(await readSetUp(this, flags));
  const logger = outcomeLogger(this.output, flags);
  const open = await openInbox(setUp);
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
