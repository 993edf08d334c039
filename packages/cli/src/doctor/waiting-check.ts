import type { InboxAdmin, InboxStats } from "@esim-webhooks/core";
import { counted, span } from "../terminal/quantities.ts";
import { type Check, failed, passed } from "./check.ts";

/** A due event that waits longer than this is not waiting for its turn: no worker runs, or the workers are too slow. */
const longestWaitMs = 15 * 60_000;

/** Says what waits in the inbox. Fails when the oldest due event has waited too long. */
export async function checkWaiting(inbox: Pick<InboxAdmin, "stats">, hasHandlers: boolean): Promise<Check> {
  const stats = await inbox.stats();
  const found = summary(stats);
  if ((stats.oldestReadyMs ?? 0) <= longestWaitMs) return passed("waiting", found);
  const remedy = hasHandlers
    ? "Run esim-webhooks work, or serve, which processes them too unless the config has a store."
    : "Add handlers to a config file, and run esim-webhooks work.";
  return failed("waiting", `${found}. ${remedy}`);
}

function summary({ states, oldestReadyMs }: InboxStats): string {
  const waiting = states.ready + states.leased;
  return [
    waiting === 0 ? "no event waits" : counted(waiting, "event waits", "events wait"),
    ...(oldestReadyMs === null ? [] : [`the oldest has been due for ${span(oldestReadyMs)}`]),
    ...(states.unhandled > 0
      ? [
          `${states.unhandled} unhandled: once there are handlers, esim-webhooks inbox retry --status unhandled`,
        ]
      : []),
  ].join("; ");
}
