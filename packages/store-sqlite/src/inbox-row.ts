import type { InboxEntry } from "@esim-webhooks/core";
import { occurredAtMs } from "@esim-webhooks/core/kit";
import type { PutRow } from "./sql/put-row.ts";

/** An entry that was checked, as it crosses to the writer. */
export function putRow(entry: InboxEntry, lane: string | null): PutRow {
  const { source, id, type, body, receivedAt, replay } = entry;
  return {
    source,
    id,
    type,
    receivedAt: receivedAt.getTime(),
    occurredAt: occurredAtMs(entry),
    lane,
    body,
    replay: replay === undefined ? null : JSON.stringify(replay),
    rebuilt: replay?.rebuilt ?? false,
  };
}
