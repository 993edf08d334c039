import type { Logger } from "../base/logger.ts";
import type { Dispatcher } from "../handle/dispatcher.ts";
import { hasRole } from "../store/inbox.ts";
import type { InboxQueue } from "../store/inbox-queue.ts";

/** Logs how many unhandled events have a handler now: an upgrade may have added it. */
export async function logRedrivable(
  inbox: Pick<InboxQueue, "capabilities">,
  dispatcher: Pick<Dispatcher, "handles">,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (!hasRole(inbox, "admin") || signal.aborted) return;
  try {
    if ((await inbox.gauges()).counts.unhandled === 0 || signal.aborted) return; // stats reads the whole inbox
    const { types } = await inbox.stats();
    const events = types
      .filter(({ state, type }) => state === "unhandled" && type !== null && dispatcher.handles(type))
      .reduce((sum, { count }) => sum + count, 0);
    if (events === 0) return;
    logger.info(
      { events },
      "Events that had no handler have one now. Redrive them to run it: esim-webhooks inbox retry --status unhandled.",
    );
  } catch {
    // the next start tries again
  }
}
