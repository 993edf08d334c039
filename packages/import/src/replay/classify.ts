import type { Position, RawRecord } from "../dump/record.ts";
import type { DumpedEvent } from "../record/dumped-event.ts";
import type { RecordFault } from "../record/fields.ts";
import type { Prover } from "../record/proof.ts";
import type { RecordReader } from "../record/record-reader.ts";
import { rejectLine } from "./rejected-record.ts";
import type { Destination, ProvenEvent, Verdict } from "./sink.ts";

/** A record, and what is to become of it: either the verdict is there, or an item to hand over. */
export interface Judged<Item> {
  readonly position: Position;
  readonly type: string | null;
  readonly occurredMs: number;
  readonly verdict: Verdict | null;
  readonly item: Item | null;
  readonly bytes: number;
  /** Its line of the rejects file, where the verdict is there. */
  readonly line: string | null;
  /** Where there may be such a line later. */
  readonly raw: RawRecord | null;
}

/** What there is to ask of a record, one after the other. */
export interface Questions {
  readonly readRecord: RecordReader;
  readonly passes: (event: DumpedEvent) => boolean;
  readonly prove: Prover;
}

export interface JudgeOptions<Item> extends Questions {
  readonly destination: Destination<Item>;
  readonly hasRejectsFile: boolean;
}

const leftOut = { verdict: { fate: "filtered" }, item: null, bytes: 0, line: null, raw: null } as const;

/** Recognise, filter, verify, and prepare what is left. Throws what ends the import (`unsigned_dump`, a mistake in the set-up). */
export function createJudge<Item>(options: JudgeOptions<Item>): (raw: RawRecord) => Judged<Item> {
  const { readRecord, passes, prove, destination, hasRejectsFile } = options;
  const keepsRaw = hasRejectsFile && destination.mayReject;

  function refused(raw: RawRecord, event: DumpedEvent | null, verdict: Verdict): Judged<Item> {
    const { type = null, occurredMs = Number.NaN } = event ?? {};
    const { code = verdict.fate, reason = "" } = verdict;
    const line = hasRejectsFile ? rejectLine(raw, code, reason) : null;
    const { position } = raw;
    return { position, type, occurredMs, verdict, item: null, bytes: line?.length ?? 0, line, raw: null };
  }

  return (raw) => {
    const { position } = raw;
    if ("fault" in raw) return refused(raw, null, invalid(raw));
    const event = readRecord(raw.value);
    if ("fault" in event) return refused(raw, null, invalid(event));
    const { type, occurredMs } = event;
    if (!passes(event)) return { ...leftOut, position, type, occurredMs };
    const proof = prove(event);
    if (proof !== null && "code" in proof) {
      return refused(raw, event, { fate: "rejected", code: proof.code, reason: proof.reason });
    }
    const prepared = destination.prepare(proven(event, proof?.body ?? null));
    if ("fate" in prepared) return refused(raw, event, prepared);
    const { item, bytes } = prepared;
    return { position, type, occurredMs, verdict: null, item, bytes, line: null, raw: keepsRaw ? raw : null };
  };
}

function invalid({ fault: code, reason }: RecordFault): Verdict {
  return { fate: "invalid", code, reason };
}

function proven(event: DumpedEvent, body: Uint8Array | null): ProvenEvent {
  const { id, occurredMs, delivery, request } = event;
  // the payload was read from the likeliest bytes: where others are those that were signed, they are no envelope
  const isOfBody = body === null || body === request?.bodies[0];
  const { type, payload } = isOfBody ? event : { type: null, payload: {} };
  return { id, type, occurredMs, payload, delivery, request, body };
}

/**
 * When a record's event occurred; -Infinity where there is none, or where that cannot be told. Throws as the judge does for
 * what nothing proves, so that this is known before the dump is sorted.
 */
export function createTimeReader({ readRecord, passes, prove }: Questions): (raw: RawRecord) => number {
  return (raw) => {
    if ("fault" in raw) return Number.NEGATIVE_INFINITY;
    const event = readRecord(raw.value);
    if ("fault" in event) return Number.NEGATIVE_INFINITY;
    if (!event.request?.isSigned && passes(event)) prove(event);
    return Number.isNaN(event.occurredMs) ? Number.NEGATIVE_INFINITY : event.occurredMs;
  };
}
