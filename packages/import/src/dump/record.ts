import { isUtf8 } from "node:buffer";

/** The position of a record in a dump, or among the records that are replayed. */
export interface Position {
  /** Its number, from 1. */
  readonly record: number;
  /** The line on which it begins, from 1. Only in NDJSON and CSV. */
  readonly line?: number;
  /** Its first byte in the unpacked dump or archive entry, from 0. Absent for records that are not from a dump. */
  readonly offset?: number;
  /** The archive entry that contains it. */
  readonly entry?: string;
}

/** Why a part of a dump is not a record, or has an id that no store can hold. */
export type FaultCode = "not_json" | "not_a_record" | "too_large" | "too_deep" | "unstorable_id";

/** A record as it was read: its JSON, or a fault. */
export type RawRecord =
  /** The record was read: `value` is its JSON. */
  | { readonly position: Position; readonly value: unknown }
  /** The record is faulty, or the text is not a record. */
  | {
      readonly position: Position;
      readonly fault: FaultCode;
      /** Says what is wrong, without quoting the record. */
      readonly reason: string;
      /** The record's text. Absent if it is too large, or not from a dump. */
      readonly text?: string;
      /** The webhook-id, if it can be read despite the fault. */
      readonly id?: string;
    };

/** The limits of a dump. */
export interface DumpLimits {
  /** The longest record, in bytes. */
  readonly maxRecordBytes: number;
  /** How deeply a record's JSON may be nested. */
  readonly maxDepth: number;
  /** The largest size of the unpacked dump, in bytes. */
  readonly maxUnpackedBytes: number;
  /** The largest ratio of the unpacked size to the packed size. Each part of a packed file counts 8 KiB more. Not checked below 16 MiB, since a small dump may have a high ratio. */
  readonly maxRatio: number;
}

/** Splits bytes into records, chunk by chunk. All but `cut` throw `damaged_dump` when no more records can be found. */
export interface Splitter {
  write(bytes: Buffer): void;
  /** Call it at the end of the bytes. */
  end(): void;
  /** Call it instead of `end` when the input failed: it adds the whole records among the held bytes. */
  cut?(): void;
  /** Call it where bytes are missing: the held part of a record is not joined with the bytes after the gap. */
  gap(): void;
}

/** The number of records read so far, in all entries of a dump. */
export interface Tally {
  records: number;
}

/** Collects the records of one entry, with their positions. */
export interface Recorder {
  value(value: unknown, offset: number, line: number | undefined): void;
  fault(
    fault: FaultCode,
    reason: string,
    at: { offset: number; line?: number | undefined; text?: string | undefined },
  ): void;
  /** The records collected since the last call. */
  take(): readonly RawRecord[];
}

export function createRecorder(tally: Tally, entry?: string): Recorder {
  const inEntry = entry === undefined ? {} : { entry };
  let batch: RawRecord[] = [];
  const positionOf = (offset: number, line?: number) => {
    const record = ++tally.records;
    return line === undefined ? { record, offset, ...inEntry } : { record, line, offset, ...inEntry };
  };
  return {
    value(value, offset, line) {
      batch.push({ position: positionOf(offset, line), value });
    },
    fault(fault, reason, { offset, line, text }) {
      const position = positionOf(offset, line);
      batch.push(text === undefined ? { position, fault, reason } : { position, fault, reason, text });
    },
    take() {
      const taken = batch;
      batch = [];
      return taken;
    },
  };
}

/** The JSON of a record, or the fault in it. */
export type JsonReading =
  | { readonly value: object }
  | { readonly fault: FaultCode; readonly reason: string; readonly text: string };

/** Whether a value is a page of the deliveries listing: it has an array `data`, and is neither kind of record. */
export function isPage(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "eventId" in value || "headers" in value) return false;
  return Array.isArray((value as { data?: unknown }).data);
}

/** Reads the JSON of one record. */
export function readJsonText(text: string): JsonReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: "not_json", reason: jsonProblem(error), text };
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value };
  const got = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  return { fault: "not_a_record", reason: `${got} where a record should be`, text };
}

export function readJsonBytes(bytes: Buffer): JsonReading {
  const text = bytes.toString("utf8");
  return isUtf8(bytes) ? readJsonText(text) : { fault: "not_json", reason: "not UTF-8", text };
}

/** Returns the mistake in the JSON, and its place. V8's own message would quote the text, which may contain personal data. */
function jsonProblem(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return `not JSON from character ${Number(position) + 1} on`;
  return /end of JSON input/.test(message) ? "not JSON: it is incomplete" : "not JSON";
}
