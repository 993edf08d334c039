import type { Position, RawRecord } from "../dump/record.ts";

/** A line of the rejects file. */
export interface RejectedRecord {
  readonly position: Position;
  /** The webhook-id of its event, if it can be read. Not proven unless the record was verified. */
  readonly id?: string;
  readonly code: string;
  /** Does not quote the record. */
  readonly reason: string;
  /** The record, or its text when it is not JSON. Neither when it is too large. */
  readonly record?: unknown;
  readonly text?: string | undefined;
}

/** The record as a line of the rejects file. `id` is empty if none can be read. */
export function rejectLine(raw: RawRecord, id: string, code: string, reason: string): string {
  const { position } = raw;
  const what = "value" in raw ? { record: raw.value } : { text: raw.text };
  const line: RejectedRecord = { position, ...(id !== "" && { id }), code, reason, ...what };
  return `${JSON.stringify(line)}\n`;
}
