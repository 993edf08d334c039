import type { EventKey, InboxState } from "@esim-webhooks/core";
import type { EventColumn, ReadRow } from "@esim-webhooks/core/engine";
import { type RawBuilder, sql } from "kysely";

/** An event as it is read: the columns that were asked for, among them these. */
export interface EventRow extends EventKey, ReadRow {
  readonly source: string;
  readonly id: string;
  readonly state: InboxState;
  readonly lane: string | null;
  readonly received_at: Date | null;
}

/** These columns as they are read, as SQL. JSON is read as text, since a driver other than `pg` may have its own way to read jsonb. */
export function readColumns(columns: readonly EventColumn[]): RawBuilder<EventRow> {
  const read = columns.map(({ name, kind }) => (kind === "json" ? `${name}::text as ${name}` : name));
  return sql.raw(read.join(", "));
}
