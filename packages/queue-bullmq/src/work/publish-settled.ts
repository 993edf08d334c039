import type { InboxEntry } from "@esim-webhooks/core";
import { type SettleMessage, settleNotice } from "@esim-webhooks/core/kit";

/** Tells `observe` how an attempt ended for which no handler ran. The processor of core tells it of all others. */
export function publishSettled(
  { source, id, type }: InboxEntry,
  ended: Pick<SettleMessage, "attempt" | "outcome" | "reason" | "error" | "durationMs">,
): void {
  if (settleNotice.hasSubscribers)
    settleNotice.publish({ source, id, ...(type && { type }), by: "processor", ...ended });
}
