import type { FaultCode, RawRecord } from "./record.ts";

/** Counts the records of a dump, over all its entries. */
export interface Tally {
  records: number;
}

/** Gathers the records of one entry, each with its position. */
export interface Recorder {
  value(value: unknown, offset: number, line: number | undefined): void;
  fault(
    fault: FaultCode,
    reason: string,
    at: { offset: number; line?: number | undefined; text?: string },
  ): void;
  /** What was gathered since it was last taken. */
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
