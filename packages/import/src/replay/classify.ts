import type { Position, RawRecord } from "../dump/record.ts";
import type { Checks } from "../record/checks.ts";
import type { RecordedEvent, RecordFault } from "../record/recorded-event.ts";
import type { rejectLine } from "./journal.ts";
import type { AcceptedEvent, Sink, Verdict } from "./sink.ts";

/** A record whose fate is known, or one whose verdict is still to come, with its item for the sink. */
export type Classified<Item> = Judged | Undecided<Item>;

interface Facts {
  readonly position: Position;
  /** The webhook-id of its event; empty if none can be read. */
  readonly id: string;
  readonly type: string | null;
  readonly occurredMs: number;
  /** The status of the delivery. Null unless the record is a delivery record. */
  readonly status: string | null;
  /** About how much memory it holds. */
  readonly bytes: number;
}

interface Judged extends Facts {
  readonly verdict: Verdict;
  /** Its line for the rejects file, if it is refused. */
  readonly line?: string | undefined;
}

interface Undecided<Item> extends Facts {
  readonly item: Item;
  /** The record itself, if the sink may still refuse it and refused records are kept. */
  readonly raw?: RawRecord | undefined;
}

const filteredOut = { verdict: { fate: "filtered" }, bytes: 0 } as const;

const noEvent = { type: null, occurredMs: Number.NaN } as const;

/**
 * Recognises a record, filters it, verifies it, and prepares its event for the sink. Throws only errors that end the
 * replay: `unsigned_dump` and mistakes in the set-up.
 * @param toLine makes the line of a refused record; undefined when no refused record is kept
 */
export function createClassifier<Item>(
  { readRecord, passes, verifyOrTrust }: Checks,
  sink: Sink<Item>,
  toLine: typeof rejectLine | undefined,
): (raw: RawRecord) => Classified<Item> {
  const keepsRaw = toLine !== undefined && sink.mayRefuse;

  function refused(raw: RawRecord, event: RecordedEvent | RecordFault, verdict: Verdict): Judged {
    const { id = "" } = event;
    const { type, occurredMs } = "fault" in event ? noEvent : event;
    const { code = verdict.fate, reason = "" } = verdict;
    const line = toLine?.(raw, id, code, reason);
    const { position } = raw;
    const status = statusOf(event);
    const bytes = line?.length ?? 0;
    return { position, id, type, occurredMs, status, bytes, verdict, line };
  }

  return (raw) => {
    const { position } = raw;
    if ("fault" in raw) return refused(raw, raw, invalidRecord(raw));
    const read = readRecord(raw.value);
    if ("fault" in read) return refused(raw, read, invalidRecord(read));
    const { type, occurredMs } = read;
    const status = statusOf(read);
    if (!passes(read)) return { ...filteredOut, position, id: read.id, type, occurredMs, status };
    const checked = verifyOrTrust(read);
    if (checked !== null && "code" in checked) {
      return refused(raw, read, { fate: "rejected", code: checked.code, reason: checked.reason });
    }
    const id = checked?.id ?? read.id;
    const event = { ...read, id };
    const prepared = sink.prepare(acceptedEvent(event, checked?.body ?? null));
    if ("fate" in prepared) return refused(raw, event, prepared);
    return { position, id, type, occurredMs, status, ...prepared, raw: keepsRaw ? raw : undefined };
  };
}

function statusOf(event: RecordedEvent | RecordFault): string | null {
  const status = "fault" in event ? null : event.delivery?.["status"];
  return typeof status === "string" ? status : null;
}

function invalidRecord({ fault: code, reason }: RecordFault): Verdict {
  return { fate: "invalid", code, reason };
}

function acceptedEvent(event: RecordedEvent, body: Uint8Array | null): AcceptedEvent {
  const { id, occurredMs, delivery, request } = event;
  // the payload was read from the likeliest bytes; if other bytes were signed, those are not an envelope
  const isOfBody = body === null || body === request?.bodies[0];
  const { type, payload } = isOfBody ? event : { type: null, payload: {} };
  return { id, type, occurredMs, payload, delivery, request, body };
}

/**
 * Reads when a record's event occurred; -Infinity without an event or a valid timestamp. Throws `unsigned_dump` as the
 * classifier does, so that the error comes before the dump is sorted.
 */
export function createTimeReader({ readRecord, passes, verifyOrTrust }: Checks): (raw: RawRecord) => number {
  return (raw) => {
    if ("fault" in raw) return Number.NEGATIVE_INFINITY;
    const event = readRecord(raw.value);
    if ("fault" in event) return Number.NEGATIVE_INFINITY;
    if (!event.request?.isSigned && passes(event)) verifyOrTrust(event);
    return Number.isNaN(event.occurredMs) ? Number.NEGATIVE_INFINITY : event.occurredMs;
  };
}
