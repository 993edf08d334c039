import { WebhookError } from "@esim-webhooks/core";
import type { ByteSource } from "./byte-source.ts";
import type { ZipEntry } from "./zip.ts";

/**
 * Reads every entry that can be read. A `damaged_dump` or `unknown_dump` of one entry does not stop the others: the first
 * such error is thrown at the end. Any other error is thrown at once.
 */
export async function* eachEntry<T>(
  entries: AsyncIterable<ZipEntry>,
  open: (entry: ZipEntry) => ByteSource,
  read: (source: ByteSource, name: string) => AsyncIterable<T>,
): AsyncGenerator<T> {
  let first: WebhookError<string> | undefined;
  const note = (error: unknown) => {
    if (!isDamage(error)) throw error;
    first ??= error;
  };
  try {
    for await (const entry of entries) {
      const source = open(entry);
      try {
        try {
          yield* read(source, entry.name);
        } catch (error) {
          note(error);
        }
        // the rest of the entry must be read to verify its checksum and to find the next entry
        await source.skip(Number.POSITIVE_INFINITY).catch(note);
      } finally {
        await source.close();
      }
    }
  } catch (error) {
    note(error);
  }
  if (first) throw first;
}

function isDamage(error: unknown): error is WebhookError<string> {
  return WebhookError.is(error) && (error.code === "damaged_dump" || error.code === "unknown_dump");
}
