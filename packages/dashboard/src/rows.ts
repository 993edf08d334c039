import type { InboxRow, Pause, RunNote } from "@esim-webhooks/core";
import type { HeldBack } from "@esim-webhooks/core/internal";
import { maskText } from "@esim-webhooks/core/masking";
import type { EventName, EventRow, PauseView, RunView } from "./views.ts";

export function timeOf(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}

/** An event in a list. Masks error and lane: without the body, nothing shows whether a lane is personal data. */
export function eventRow(row: InboxRow, heldBack: HeldBack | null = null): EventRow {
  const { source, id, state, type, lane, subject, attempts, error, conflicts, replay } = row;
  const { receivedAt, dueAt, leasedUntil, keptUntil, settledAt } = row;
  return {
    source,
    id,
    state,
    type,
    lane: lane && maskText(lane),
    subject,
    receivedAt: timeOf(receivedAt),
    attempts,
    dueAt: timeOf(dueAt),
    leasedUntil: timeOf(leasedUntil),
    keptUntil: timeOf(keptUntil),
    settledAt: timeOf(settledAt),
    error: error && maskText(error),
    conflicts,
    heldBack,
    run: replay?.run ?? null,
  };
}

export function nameOf({ source, id }: EventName): EventName {
  return { source, id };
}

export function isSame(a: EventName, b: EventName): boolean {
  return a.id === b.id && a.source === b.source;
}

export function pauseView({ type, reason, since, until, by }: Pause): PauseView {
  return { type, reason, since: since.toISOString(), until: timeOf(until), by };
}

export function runView({ kind, run, source, startedAt, endedAt, outcome, ledger }: RunNote): RunView {
  const times = { startedAt: startedAt.toISOString(), endedAt: endedAt.toISOString() };
  return { kind, run, source, ...times, outcome, ledger };
}
