import type { FaultCode, RawRecord } from "./record.ts";

/** The number of records in a dump, in all its entries. */
export interface Tally {
  records: number;
}

/** Collects the records of one entry, with their positions. */
export interface Recorder {
  value(value: unknown, offset: number, line: number | undefined): void;
  fault(
    fault: FaultCode,
    reason: string,
    at: { offset: number; line?: number | undefined; text?: string },
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
