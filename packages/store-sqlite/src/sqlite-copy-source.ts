import { decodeRunNote, parseOptions } from "@esim-webhooks/core/engine";
import type { CopySource } from "@esim-webhooks/core/internal";
import { copied } from "./columns.ts";
import { openSource } from "./open-source.ts";
import { type SqliteFileOptions, sqliteFileShape } from "./sqlite-options.ts";

/**
 * The contents of the stores and inboxes in an SQLite file, to be copied into another inbox. Stop every process that writes to the
 * file first. Your own tables are not copied.
 *
 * Throws `invalid_option` or `thread_missing`; operations reject with `invalid_option` if the file does not exist or does not have the tables of this version, `store_unavailable`, or a code of `SqliteErrorCode`.
 */
export function sqliteCopySource(options: SqliteFileOptions): CopySource {
  const settings = parseOptions("sqliteCopySource", sqliteFileShape, options);
  const { ready, inReader, inOwnThread, close } = openSource("sqliteCopySource", "source", settings);
  return {
    ready,
    async look() {
      const version = await inReader("dataVersion", undefined);
      return { ...(await inOwnThread("copyCounts", undefined)), version };
    },
    paused: async () => (await inReader("operatorNotes", undefined)).pauses,
    async notes() {
      const { runs, minutes, lastReceivedAt } = await inReader("operatorNotes", undefined);
      return {
        ...{ runs: runs.map(decodeRunNote), minutes },
        lastReceivedAt: lastReceivedAt === null ? null : new Date(lastReceivedAt),
      };
    },
    events: () =>
      pages((last) =>
        inReader("eventRecords", { columns: copied, after: last && { source: last.source, id: last.id } }),
      ),
    latest: () => pages((last) => inReader("latestRecords", { after: last })),
    states: () => pages((last) => inReader("stateRecords", { after: last })),
    close,
  };
}

/** Reads pages until one is empty; each begins after the last row of the previous page. */
async function* pages<Row>(
  readAfter: (last: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let last: Row | undefined; ; ) {
    const page = await readAfter(last);
    last = page.at(-1);
    if (last === undefined) return;
    yield page;
  }
}
