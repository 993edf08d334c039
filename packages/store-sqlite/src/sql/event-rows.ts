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
  readonly tries: number;
  readonly due_at: number | null;
  readonly leased_until: number | null;
  readonly kept_until: number | null;
  readonly error: string | null;
  readonly conflicts: number;
  readonly replay: string | null;
  readonly subject: string | null;
  readonly settled_at: number | null;
}

/** The columns of an `EventRow`: SQL. */
export const eventColumns: string = `source, id, state, type, lane, received_at, attempts, tries, iif(state = 'ready', due_at, null) as due_at, leased_until, kept_until, error, conflicts, replay, subject, settled_at`;

/** As operators see it, except that `error` is the kept text, with the frames of its stack. */
export function inboxRow({
  received_at,
  due_at,
  leased_until,
  kept_until,
  settled_at,
  replay,
  ...row
}: EventRow): InboxRow {
  return {
    ...row,
    receivedAt: dateOf(received_at),
    dueAt: dateOf(due_at),
    leasedUntil: dateOf(leased_until),
    keptUntil: dateOf(kept_until),
    settledAt: dateOf(settled_at),
    replay: replay === null ? null : (JSON.parse(replay) as Replay),
  };
}

export function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
