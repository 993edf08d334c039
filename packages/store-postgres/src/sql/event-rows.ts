import type { InboxRow, InboxState, Replay } from "@esim-webhooks/core";
import { readErrorText } from "@esim-webhooks/core/kit";
import { type RawBuilder, sql } from "kysely";

/** An event without its body, as it is read. */
export interface EventRow {
  readonly source: string;
  readonly id: string;
  readonly state: InboxState;
  readonly type: string | null;
  readonly lane: string | null;
  readonly received_at: Date | null;
  readonly attempts: number;
  readonly tries: number;
  readonly due_at: Date | null;
  readonly leased_until: Date | null;
  readonly kept_until: Date | null;
  readonly error: string | null;
  readonly conflicts: number;
  readonly replay: string | null;
  readonly subject: string | null;
  readonly settled_at: Date | null;
}

/** The columns of an `EventRow`. `replay` is text, since a user's type parsers may change how jsonb is read. */
export const eventColumns: RawBuilder<EventRow> = sql<EventRow>`source, id, state, type, lane, received_at, attempts, tries,
  case state when 'ready' then due_at end as due_at, leased_until, kept_until, error, conflicts, replay::text as replay, subject, settled_at`;

export function inboxRow({
  received_at,
  due_at,
  leased_until,
  kept_until,
  settled_at,
  error,
  replay,
  ...row
}: EventRow): InboxRow {
  const { source, id, state, type, lane, subject, attempts, tries, conflicts } = row;
  return {
    ...{ source, id, state, type, lane, subject, attempts, tries, conflicts },
    receivedAt: received_at,
    dueAt: due_at,
    leasedUntil: leased_until,
    keptUntil: kept_until,
    settledAt: settled_at,
    error: readErrorText(error).error,
    replay: replay === null ? null : (JSON.parse(replay) as Replay),
  };
}
