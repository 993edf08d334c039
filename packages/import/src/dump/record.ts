/** Where a record stands: in a dump, or among the records that are replayed. */
export interface Position {
  /** Which record it is, from 1. */
  readonly record: number;
  /** Its line, from 1, where records are lines. */
  readonly line?: number;
  /** The byte at which it begins, once unpacked, from 0, where the records are those of a dump. */
  readonly offset?: number;
  /** The entry of the archive that it is in. */
  readonly entry?: string;
}

/** Why something in a dump is no record. */
export type FaultCode = "not_json" | "not_a_record" | "too_large" | "too_deep";

/** A record as it was read: its JSON, or why it has none. */
export type RawRecord =
  | { readonly position: Position; readonly value: unknown }
  | {
      readonly position: Position;
      readonly fault: FaultCode;
      /** Says what is wrong, without quoting the record. */
      readonly reason: string;
      /** The record's text, where it is not too large. */
      readonly text?: string;
    };

/** What a dump may cost. */
export interface DumpLimits {
  /** The longest record, in bytes. */
  readonly maxRecordBytes: number;
  /** How deeply a record's JSON may be nested. */
  readonly maxDepth: number;
  /** How many bytes a dump may unpack to. */
  readonly maxUnpackedBytes: number;
  /** How many times its own size a dump may unpack to, looked at from 16 MiB on. */
  readonly maxRatio: number;
}
