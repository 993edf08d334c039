import type { InboxAdmin } from "@esim-webhooks/core";
import { ago, instant, span } from "../terminal/quantities.ts";
import { type Check, failed, passed } from "./check.ts";

/** Fails when the last delivery is longer ago than `silenceMs`. An inbox without one may be new, so that is no failure. */
export async function checkSilence(
  { stats, capabilities }: Pick<InboxAdmin, "stats" | "capabilities">,
  silenceMs: number,
  now: number = Date.now(),
): Promise<Check> {
  const { lastReceivedAt } = await stats();
  if (lastReceivedAt === null)
    return passed(
      "silence",
      `no delivery is stored; done events are kept for ${span(capabilities.retentionMs)}`,
    );
  if (now - lastReceivedAt.getTime() <= silenceMs)
    return passed("silence", `the last delivery was received ${ago(lastReceivedAt, now)}`);
  return failed(
    "silence",
    `The last delivery was received at ${instant(lastReceivedAt)}, more than ${span(silenceMs)} ago. Check that the endpoint is active and its URL reaches the receiver; if so few events are usual, raise --silence.`,
  );
}
