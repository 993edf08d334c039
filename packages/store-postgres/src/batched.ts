import { WebhookError } from "@esim-webhooks/core";
import { coalesce } from "@esim-webhooks/core/engine";
import type { PutRow } from "./sql/put-rows.ts";

const batching = {
  maxItems: 500,
  maxFlushes: 2,
  maxSize: 8 * 1024 * 1024,
  sizeOf: ({ entry, values }: PutRow) => entry.body.byteLength + String(values["replay"]).length,
};

/**
 * Batches concurrent calls. No call of `write` gets two rows with the same key. If the database refuses the data of a row, each row of its
 * batch is written again on its own, so that the others succeed.
 */
export function batched<Result>(
  write: (rows: readonly PutRow[]) => Promise<readonly Result[]>,
): (rows: readonly PutRow[]) => Promise<readonly Result[]> {
  const one = (row: PutRow) =>
    write([row]).then(
      ([result]) => result as Result,
      (error: WebhookError) => error,
    );
  async function writeEach(rows: readonly PutRow[]): Promise<readonly (Result | WebhookError)[]> {
    try {
      return await write(rows);
    } catch (error) {
      if (!WebhookError.is(error) || !isFaultOfData(error.cause)) throw error;
      return Promise.all(rows.map(one));
    }
  }
  const putOne = coalesce<PutRow, Result | WebhookError>(
    (rows) => withoutRepeatedKeys(rows, writeEach),
    batching,
  );
  return async (rows) => resultsOrThrow(await Promise.all(rows.map(putOne)));
}

function resultsOrThrow<Result>(results: readonly (Result | WebhookError)[]): readonly Result[] {
  for (const result of results) if (WebhookError.is(result)) throw result;
  return results as readonly Result[];
}

/** Splits a batch into parts in which no key repeats, and writes them one after the other, so that the second row of a key is compared with the first. */
async function withoutRepeatedKeys<Result>(
  rows: readonly PutRow[],
  work: (batch: readonly PutRow[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  if (new Set(rows.map(({ key }) => key)).size === rows.length) return work(rows);
  const results: Result[] = [];
  for (let left = [...rows.entries()]; left.length > 0; ) {
    const keys = new Set<string>();
    const batch = left.filter(([, { key }]) => keys.size < keys.add(key).size);
    for (const [at, result] of (await work(batch.map(([, row]) => row))).entries()) {
      const [index = 0] = batch[at] ?? [];
      results[index] = result;
    }
    const taken = new Set(batch.map(([index]) => index));
    left = left.filter(([index]) => !taken.has(index));
  }
  return results;
}

/** Whether the SQLSTATE says that the data is invalid or too large. */
function isFaultOfData(cause: unknown): boolean {
  return /^(?:22|54)/.test(String((cause as { code?: unknown } | undefined)?.code));
}
