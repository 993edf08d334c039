import { WebhookError } from "../base/errors.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxWriter, PutResult } from "./inbox-writer.ts";
import { putStage } from "./put-stage.ts";

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
