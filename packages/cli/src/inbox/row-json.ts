import { isUtf8 } from "node:buffer";
import type { InboxRow, Replay, StoredEvent } from "@esim-webhooks/core";
import { maskEvent } from "../masking/mask-event.ts";
import { maskText } from "../masking/mask-text.ts";
import { shortened } from "../terminal/text.ts";

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

/** Masks a lane unless it is a reference of the event: the option `lane` may put personal data there. */
export function maskLane({ lane, body }: StoredEvent): string | null {
  const { data } = ((body && readBody(body).json) ?? {}) as { data?: Record<string, unknown> | null };
  const isReference = lane === data?.["esimReference"] || lane === data?.["profileReference"];
  if (lane === null) return null;
  return isReference ? shortened(lane) : maskText(lane);
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

/** A body as JSON, as text, or neither. */
export interface ReadBody {
  /** Left out when the body is not JSON. */
  readonly json?: unknown;
  /** Null when the body is not UTF-8. */
  readonly text: string | null;
}

export function readBody(body: Uint8Array): ReadBody {
  if (!isUtf8(body)) return { text: null };
  const text = Buffer.from(body).toString();
  try {
    const json: unknown = JSON.parse(text);
    JSON.stringify(json); // throws for JSON that is nested so deeply that it can be parsed but not printed
    return { json, text };
  } catch {
    return { text };
  }
}

/** Indents JSON text. Its numbers keep all their digits. */
export function indented(text: string): string {
  const exact = JSON as unknown as { rawJSON(text: string): unknown };
  const keepDigits = (_key: string, value: unknown, context?: { source: string }) =>
    typeof value === "number" && context !== undefined && String(value) !== context.source
      ? exact.rawJSON(context.source)
      : value;
  return JSON.stringify(JSON.parse(text, keepDigits), null, 2);
}
