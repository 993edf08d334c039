import type { InboxRow, Replay, StoredEvent } from "@esim-webhooks/core";
import { maskEvent, maskLane, readBody } from "@esim-webhooks/core/internal";
import { maskText } from "@esim-webhooks/core/masking";

/** Returns an event as `list --json --reveal` prints it: not masked. */
export function listedJson(row: InboxRow): Record<string, unknown> {
  const { source, id, state, type, lane, receivedAt, attempts, error, conflicts } = row;
  const { dueAt, leasedUntil, keptUntil } = row;
  return {
    ...{ source, id, state, type, lane, receivedAt, attempts },
    ...{ dueAt, leasedUntil, keptUntil, error, conflicts },
  };
}

/** Returns an event as `list --json` prints it: without personal data. Masks every lane, since only the body shows whether a lane is personal data. */
export function maskedListedJson(row: InboxRow): Record<string, unknown> {
  return {
    ...listedJson(row),
    lane: row.lane && maskText(row.lane),
    error: row.error && maskText(row.error),
  };
}

/** Returns an event as `show --json` prints it: masked, and with its body as JSON. */
export function maskedJson(row: StoredEvent): Record<string, unknown> {
  const { bodyText, ...shown } = shownJson(row);
  return {
    ...shown,
    ...maskedListedJson(row),
    stack: row.stack && maskText(row.stack),
    lane: maskLane(row),
    replay: maskReplay(row),
    history: row.history.map((attempt) => ({ ...attempt, error: attempt.error && maskText(attempt.error) })),
    body: row.body && maskEvent(shown["body"]),
  };
}

/** Returns an event as `show --json --reveal` prints it: not masked, and with its body as the text that was signed. */
export function shownJson(row: StoredEvent): Record<string, unknown> {
  const body = row.body && readBody(row.body);
  return {
    ...listedJson(row),
    stack: row.stack,
    replay: row.replay,
    subject: row.subject,
    key: row.key,
    trace: row.trace,
    heldBy: row.heldBy,
    takenAt: row.takenAt,
    settledAt: row.settledAt,
    erasedAt: row.erasedAt,
    history: row.history,
    bodyBytes: row.body?.byteLength ?? null,
    body: body && (body.json ?? null),
    bodyText: body?.text ?? null,
  };
}

/** Masks what a dump says about a delivery: its fields may come from a mapping. */
export function maskReplay({ replay }: InboxRow): Replay | null {
  if (replay?.delivery === undefined) return replay;
  return { ...replay, delivery: maskEvent(replay.delivery) as NonNullable<Replay["delivery"]> };
}
