import type { Position, RawRecord } from "../dump/record.ts";

/** A line of the rejects file. */
export interface RejectedRecord {
  readonly position: Position;
  readonly code: string;
  /** Does not quote the record. */
  readonly reason: string;
  /** The record, or its text when it is not JSON. Neither when it is too large. */
  readonly record?: unknown;
  readonly text?: string | undefined;
}

/** The record as a line of the rejects file. */
export function rejectLine(raw: RawRecord, code: string, reason: string): string {
  const { position } = raw;
  const what = "value" in raw ? { record: raw.value } : { text: raw.text };
  const line: RejectedRecord = { position, code, reason, ...what };
  return `${JSON.stringify(line)}\n`;
}
