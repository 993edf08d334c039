import type { RawRecord } from "../dump/record.ts";
import { createEntries, type Entries, entryReader, type Keyed } from "./sorted-entries.ts";
import { openSortedRuns, type RunReader, type SortedRuns } from "./sorted-runs.ts";

type Batches = AsyncGenerator<readonly RawRecord[]>;

export interface OldestFirstOptions {
  /** When the record's event occurred; -Infinity for records without a time, which come first. */
  readonly occurredMs: (raw: RawRecord) => number;
  /** How much is sorted in memory at a time, in bytes. Default 31 MiB: with one record more, that fits a buffer of 32 MiB. */
  readonly runBytes?: number;
}

const batchLength = 256 * 1024;

/**
 * Sorts records by the time of their events; records of the same time keep their order. An external merge sort: it writes
 * sorted runs to a temporary file when they do not fit in memory, and merges them.
 */
export async function* oldestFirst(
  batches: AsyncIterable<readonly RawRecord[]>,
  { occurredMs, runBytes = 31 * 1024 * 1024 }: OldestFirstOptions,
): Batches {
  const run = createEntries();
  let runs: SortedRuns | undefined;
  try {
    for await (const batch of batches) {
      for (const raw of batch) {
        run.add(occurredMs(raw), JSON.stringify(raw));
        if (run.bytes() < runBytes) continue;
        runs ??= await openSortedRuns();
        await runs.write(run);
        run.clear();
      }
    }
    // the last run stays in memory
    yield* inBatches([...(runs?.readers() ?? []), readerOf(run)]);
  } finally {
    await runs?.close();
  }
}

function readerOf(run: Entries): RunReader {
  const sorted = run.sorted();
  return {
    next() {
      const { done, value } = sorted.next();
      return done
        ? undefined
        : entryReader(Buffer.from(value.buffer, value.byteOffset, value.byteLength)).next();
    },
    fill: async () => false,
  };
}

interface Head extends Keyed {
  readonly reader: RunReader;
  /** The number of its run: of two records of the same time, the one of the earlier run comes first. */
  readonly order: number;
}

async function* inBatches(readers: readonly RunReader[]): Batches {
  const heads: Head[] = [];
  for (const [order, reader] of readers.entries()) {
    const head = await headOf(reader, order);
    if (head !== undefined) insert(heads, head);
  }
  let batch: RawRecord[] = [];
  let length = 0;
  for (let head = heads.shift(); head !== undefined; head = heads.shift()) {
    batch.push(JSON.parse(head.text) as RawRecord);
    length += head.text.length;
    if (length >= batchLength) {
      yield batch;
      batch = [];
      length = 0;
    }
    const { reader, order } = head;
    const next = reader.next();
    const following = next === undefined ? await headOf(reader, order) : { ...next, reader, order };
    if (following !== undefined) insert(heads, following);
  }
  yield batch;
}

async function headOf(reader: RunReader, order: number): Promise<Head | undefined> {
  for (;;) {
    const next = reader.next();
    if (next !== undefined) return { ...next, reader, order };
    if (!(await reader.fill())) return undefined;
  }
}

/** Inserts a head, and keeps the heads sorted. */
function insert(heads: Head[], head: Head): void {
  let low = 0;
  let high = heads.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = heads[middle] as Head;
    if (other.key < head.key || (other.key === head.key && other.order < head.order)) low = middle + 1;
    else high = middle;
  }
  heads.splice(low, 0, head);
}
