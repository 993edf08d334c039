import type { InboxRow, InboxState, Replay } from "@esim-webhooks/core";

/** An event as it is in the table, without its body. */
export interface EventRow {
  readonly source: string;
  readonly id: string;
  readonly state: InboxState;
  readonly type: string | null;
  readonly lane: string | null;
  readonly received_at: number | null;
  readonly attempts: number;
  readonly ends_at: number | null;
  readonly error: string | null;
  readonly conflicts: number;
  readonly replay: string | null;
}

/** The columns of an `EventRow`: SQL. */
export const eventColumns =
  "source, id, state, type, lane, received_at, attempts, ends_at, error, conflicts, replay";

/** As operators see it, except that `error` is the kept text, with the frames of its stack. */
export function inboxRow({ received_at, ends_at, replay, ...row }: EventRow): InboxRow {
  return {
    ...row,
    receivedAt: received_at === null ? null : new Date(received_at),
    endsAt: ends_at === null ? null : new Date(ends_at),
    replay: replay === null ? null : (JSON.parse(replay) as Replay),
  };
}
