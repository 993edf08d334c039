import type { InboxAdmin } from "@esim-webhooks/core";
import { counted } from "../terminal/quantities.ts";
import { type Check, failed, passed } from "./check.ts";

/** Fails while the inbox has dead events: nobody tries them again until an operator redrives or discards them. */
export async function checkDead(inbox: Pick<InboxAdmin, "count">): Promise<Check> {
  const dead = await inbox.count({ state: "dead" });
  if (dead === 0) return passed("dead", "no event is dead");
  return failed(
    "dead",
    `${counted(dead, "event is", "events are")} dead and not tried again. See why: esim-webhooks inbox errors. Fix the cause and redrive them, esim-webhooks inbox retry; or delete them, esim-webhooks inbox discard.`,
  );
}
