import { type InboxAdmin, WebhookError } from "@esim-webhooks/core";
import type { Calls, Changed, Filter, RetriedEvents } from "./contract.ts";
import { refused } from "./failure.ts";
import { selectAll } from "./selection.ts";

/** The most events of one action: the page counts no further. */
export const mostChanged = 10_000;
/** The most events that one statement of an inbox changes. */
const stepEvents = 500;
/**
 * Changes at most `most` events, step by step. They are chosen before the first step, and each is changed once: one that dies again meanwhile is not
 * chosen again. What was changed before a step failed is logged, and the failure says it.
 */
export async function change(
  inbox: InboxAdmin,
  { filter, most }: Calls["retry"]["in"],
  log: (done: number) => void,
  act: (step: RetriedEvents) => Promise<number>,
): Promise<Changed> {
  const steps = await chosen(inbox, filter, most);
  let done = 0;
  try {
    for (const step of steps) done += await act(step);
  } catch (error) {
    if (done === 0 || !WebhookError.is(error) || error.code !== "store_unavailable") throw error;
    throw refused(
      "inbox_unavailable",
      `The inbox stopped answering after ${done} of ${most} events.`,
      "Check its database, and do it again: it continues with the rest.",
      error,
    );
  } finally {
    log(done);
  }
  return { done };
}

/** The ids of the events that a filter selects, at most `most`, in steps of one source each. */
async function chosen(inbox: InboxAdmin, filter: Filter, most: number): Promise<readonly RetriedEvents[]> {
  const bySource = new Map<string, string[]>();
  let left = most;
  for await (const { rows } of selectAll(inbox, filter, stepEvents)) {
    for (const { source, id } of rows.slice(0, left)) {
      const ids = bySource.get(source) ?? [];
      bySource.set(source, ids);
      ids.push(id);
    }
    left -= Math.min(left, rows.length);
    if (left === 0) break;
  }
  return Array.from(bySource).flatMap(([source, ids]) =>
    Array.from({ length: Math.ceil(ids.length / stepEvents) }, (_, step) => ({
      source,
      ids: ids.slice(step * stepEvents, (step + 1) * stepEvents),
    })),
  );
}
