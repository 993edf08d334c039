import type { DatabaseSync } from "node:sqlite";
import type { RawRecord } from "../dump/record.ts";

type Batches = AsyncGenerator<readonly RawRecord[]>;

const batchLength = 256 * 1024;

/**
 * Yields the records by the time of their events; records of the same time keep their order. What does not fit in 32 MiB of memory is
 * in a temporary file that only this user can read.
 * @param occurredMs when the record's event occurred; -Infinity for records without a time, which come first
 */
export async function* oldestFirst(
  batches: AsyncIterable<readonly RawRecord[]>,
  occurredMs: (raw: RawRecord) => number,
): Batches {
  const table = openTable();
  try {
    for await (const batch of batches) {
      for (const raw of batch) table.add(occurredMs(raw), JSON.stringify(raw));
    }
    let batch: RawRecord[] = [];
    let length = 0;
    for (const text of table.oldestFirst()) {
      batch.push(JSON.parse(text) as RawRecord);
      length += text.length;
      if (length < batchLength) continue;
      yield batch;
      batch = [];
      length = 0;
    }
    yield batch;
  } finally {
    table.close();
  }
}

interface Table {
  add(occurredMs: number, text: string): void;
  oldestFirst(): Generator<string>;
  close(): void;
}

// The index is built while the records arrive: without it, the query would sort them all before its first row, and block the
// event loop meanwhile.
const schema = `
  PRAGMA page_size = 8192;
  PRAGMA cache_size = -${32 * 1024}; -- KiB
  PRAGMA synchronous = OFF;
  CREATE TABLE records (number INTEGER PRIMARY KEY, occurredMs REAL NOT NULL, text TEXT NOT NULL);
  CREATE INDEX by_time ON records (occurredMs);
  BEGIN;
`;

function openTable(): Table {
  // SQLite makes the file of a database without a name when the cache is full, with mode 0600, and unlinks it immediately: it is
  // removed when the process ends, after a SIGKILL too
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)("");
  database.exec(schema);
  const insert = database.prepare("INSERT INTO records (occurredMs, text) VALUES (?, ?)");
  return {
    add(occurredMs, text) {
      orFullDisk(() => insert.run(occurredMs, text));
    },
    *oldestFirst() {
      const rows = database.prepare("SELECT text FROM records ORDER BY occurredMs, number").iterate();
      for (;;) {
        const { done, value } = orFullDisk(() => rows.next());
        if (done) return;
        yield value["text"] as string;
      }
    },
    close: () => database.close(),
  };
}

const sqliteFull = 13;

/** Runs a step. If the disk is full, throws `ENOSPC` as the file system does, with the folder, which SQLite's error does not name. */
function orFullDisk<T>(step: () => T): T {
  try {
    return step();
  } catch (cause) {
    if ((cause as { errcode?: unknown }).errcode !== sqliteFull) throw cause;
    const path = process.env["TMPDIR"] ?? "/var/tmp"; // where SQLite makes temporary files
    const error = new Error(`ENOSPC: no space left on device for a temporary file in ${path}`, { cause });
    throw Object.assign(error, { code: "ENOSPC", path });
  }
}
