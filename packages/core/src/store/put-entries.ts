import { WebhookError } from "../base/errors.ts";
import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxWriter, PutResult } from "./inbox-writer.ts";

/** Makes the entry of a delivery that the catalog has parsed. Unknown and invalid events are stored too. */
export function inboxEntry(
  { type, event }: Pick<InboxEntry, "type" | "event">,
  { source, id, body, receivedAt, replay }: Omit<InboxEntry, "type" | "event">,
): InboxEntry {
  return { source, id, type, event, body, receivedAt, ...(replay && { replay }) };
}

/** One call of an inbox's `put` by a receiver or an import, on `tracing:esim-webhooks:put:*`. */
export interface PutMessage extends StageMessage {
  /** The events to store. The type is null if the body is not an envelope. */
  readonly events: readonly (EventKey & { readonly type: string | null })[];
  /** The inbox's results, in the order of `events`. Absent if it could not store them. */
  readonly results?: readonly PutResult[];
  readonly outcome: "put" | "store_unavailable";
}

export const putStage: Stage<PutMessage, "results"> = createStage("put", "store_unavailable");

const results: ReadonlySet<unknown> = new Set<PutResult>(["stored", "duplicate", "conflict"]);

/** Calls the inbox's `put` and checks its answer. Rejects with `invalid_option` unless it is one result per entry. */
export function putEntries(
  inbox: Pick<InboxWriter, "put">,
  entries: readonly InboxEntry[],
): Promise<readonly PutResult[]> {
  return putStage.trace(
    () => ({ events: entries.map(({ source, id, type }) => ({ source, id, type })) }),
    () => putAndCheck(inbox, entries),
    (results) => ({ outcome: "put", results }),
  );
}

async function putAndCheck(
  inbox: Pick<InboxWriter, "put">,
  entries: readonly InboxEntry[],
): Promise<readonly PutResult[]> {
  const answer: unknown = await inbox.put(entries);
  if (Array.isArray(answer) && answer.length === entries.length && answer.every((one) => results.has(one))) {
    return answer;
  }
  throw new WebhookError(
    "invalid_option",
    'The inbox\'s put() did not answer "stored", "duplicate" or "conflict" for each entry.',
    "Return an array with one result per entry, in order.",
  );
}
