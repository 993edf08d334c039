import { WebhookError } from "../base/errors.ts";
import type { InboxEntry, InboxWriter, PutResult } from "./inbox.ts";
import { putStage } from "./put-stage.ts";

/** The entry of a delivery, from what the catalog says of it. Unknown and invalid events are stored too. */
export function inboxEntry(
  { type, event }: Pick<InboxEntry, "type" | "event">,
  { source, id, body, receivedAt, replay }: Omit<InboxEntry, "type" | "event">,
): InboxEntry {
  return { source, id, type, event, body, receivedAt, ...(replay && { replay }) };
}

const results: ReadonlySet<unknown> = new Set<PutResult>(["stored", "duplicate", "conflict"]);

/** Stores entries. Rejects as `put` does, and with `invalid_option` when its answer is not one result for each entry. */
export function putEntries(
  inbox: InboxWriter,
  entries: readonly InboxEntry[],
): Promise<readonly PutResult[]> {
  return putStage.trace(
    () => ({ events: entries.map(({ source, id, type }) => ({ source, id, type })) }),
    () => putAndCheck(inbox, entries),
    (results) => ({ outcome: "put", results }),
  );
}

async function putAndCheck(
  inbox: InboxWriter,
  entries: readonly InboxEntry[],
): Promise<readonly PutResult[]> {
  const answer: unknown = await inbox.put(entries);
  if (Array.isArray(answer) && answer.length === entries.length && answer.every((one) => results.has(one))) {
    return answer;
  }
  throw new WebhookError(
    "invalid_option",
    'The inbox\'s put() did not answer "stored", "duplicate" or "conflict" for each entry.',
    "Let it answer with a list, one to one and in order.",
  );
}
