import type { InboxAdmin } from "@esim-webhooks/core";
import { ago, instant, span } from "../terminal/quantities.ts";
import { type Check, passed, warned } from "./check.ts";

const remedy = "Check that the endpoint is active and that its URL reaches the receiver";

/** Warns when the last delivery is longer ago than `silenceMs`: no failure, since a small partner may have quiet days. */
export async function checkSilence(
  { stats, capabilities }: Pick<InboxAdmin, "stats" | "capabilities">,
  silenceMs: number,
  now: number = Date.now(),
): Promise<Check> {
  const { lastReceivedAt } = await stats();
  if (lastReceivedAt === null)
    return warned(
      "silence",
      `The inbox has no delivery: it is new, or received none in the ${span(capabilities.retentionMs)} that it keeps done events. ${remedy}.`,
    );
  if (now - lastReceivedAt.getTime() <= silenceMs)
    return passed("silence", `the last delivery was received ${ago(lastReceivedAt, now)}`);
  return warned(
    "silence",
    `The last delivery was received at ${instant(lastReceivedAt)}, more than ${span(silenceMs)} ago. ${remedy}; if so few events are usual, raise --silence.`,
  );
}
