import type { EventKey, InboxState } from "@esim-webhooks/core";
import type { ReadRow } from "@esim-webhooks/core/engine";

/** An event as it is in the table: the columns that were asked for, among them these. */
export interface EventRow extends EventKey, ReadRow {
  readonly source: string;
  readonly id: string;
  readonly state: InboxState;
  readonly lane: string | null;
  readonly received_at: number | null;
}
