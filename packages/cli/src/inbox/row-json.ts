import type { InboxRow, Replay, StoredEvent } from "@esim-webhooks/core";
import { maskEvent, maskLane, readBody } from "@esim-webhooks/core/kit";
import { maskText } from "@esim-webhooks/core/masking";

/** An event as `list --json` prints it. Masks every lane: without the body, nothing shows whether it is personal data. */
export function listedJson(row: InboxRow, reveal: boolean): Record<string, unknown> {
  const text = reveal ? (shown: string) => shown : maskText;
  const { source, id, state, type, receivedAt, attempts, endsAt, error, conflicts } = row;
  return {
    source,
    id,
    state,
    type,
    lane: row.lane && text(row.lane),
    receivedAt,
    attempts,
    endsAt,
    error: error && text(error),
    conflicts,
  };
}

/** An event as `show --json` prints it: with its body as JSON and, once revealed, as the text that was signed. */
export function shownJson(row: StoredEvent, reveal: boolean): Record<string, unknown> {
  const body = row.body && readBody(row.body);
  return {
    ...listedJson(row, reveal),
    stack: row.stack && (reveal ? row.stack : maskText(row.stack)),
    lane: reveal ? row.lane : maskLane(row),
    replay: reveal ? row.replay : maskReplay(row),
    subject: row.subject,
    key: row.key,
    trace: row.trace,
    heldBy: row.heldBy,
    takenAt: row.takenAt,
    settledAt: row.settledAt,
    erasedAt: row.erasedAt,
    history: row.history.map((attempt) => ({
      ...attempt,
      error: attempt.error && (reveal ? attempt.error : maskText(attempt.error)),
    })),
    bodyBytes: row.body?.byteLength ?? null,
    body: body && (reveal ? (body.json ?? null) : maskEvent(body.json ?? null)),
    ...(reveal && { bodyText: body?.text ?? null }),
  };
}

/** Masks what a dump says about a delivery: its fields may come from a mapping. */
export function maskReplay({ replay }: InboxRow): Replay | null {
  if (replay?.delivery === undefined) return replay;
  return { ...replay, delivery: maskEvent(replay.delivery) as NonNullable<Replay["delivery"]> };
}
