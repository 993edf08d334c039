import type { RawRecord } from "../dump/record.ts";
import { createEntries, type Entries, entryReader, type Keyed } from "./sorted-entries.ts";
import { openSortedRuns, type RunReader, type SortedRuns } from "./sorted-runs.ts";

type Batches = AsyncGenerator<readonly RawRecord[]>;

export interface OldestFirstOptions {
  /** When the record's event occurred; -Infinity for what has no time, which comes first. */
  readonly occurredMs: (raw: RawRecord) => number;
  /** How much is sorted in memory at a time, in bytes. Default 31 MiB, which with one record more are in a buffer of 32. */
  readonly runBytes?: number;
}

const batchLength = 256 * 1024;

/**
 * The same records in the order in which their events occurred; as in the dump where that is the same. An external merge sort:
 * what does not fit in memory is sorted piece by piece into a temporary file, and the pieces are merged.
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
    // the last one need not go to disk
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
  /** Of two that are of the same time, the one of the earlier run is first. */
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

/** Keeps the heads in order. */
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
