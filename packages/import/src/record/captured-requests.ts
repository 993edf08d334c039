import { readDump } from "../dump/read-dump.ts";
import { type CapturedRequest, readCapturedRequest } from "./captured-request.ts";
import type { RecordFault } from "./fields.ts";

const mebibyte = 1024 * 1024;
const limits = {
  maxRecordBytes: 64 * mebibyte,
  maxDepth: 64,
  maxUnpackedBytes: 1024 * mebibyte,
  maxRatio: 250,
};

/**
 * Reads captured requests in every form that `importDeliveries` reads: one on its own, NDJSON, a JSON array, pages, CSV,
 * packed or not. A record is an object with `headers` (name → text or a list of texts, or a list of `[name, text]`, or either
 * as JSON text), `body` (text, base64, the bytes as a list of numbers or as `JSON.stringify` writes a Buffer, or parsed JSON),
 * `receivedAt` (a date-time with its offset, RFC 3339; here it may be missing) and `isBase64Encoded`, which may be missing.
 *
 * Yields a request, or a fault, whose reason does not quote it, for each record. Throws `unknown_dump`, `damaged_dump` or
 * `dump_too_large` after everything that can be read. A record may have 64 MiB.
 */
export async function* readCapturedRequests(
  input: AsyncIterable<Uint8Array>,
): AsyncGenerator<CapturedRequest | RecordFault> {
  for await (const batch of readDump(input, limits).batches) {
    for (const raw of batch) {
      yield "fault" in raw
        ? { fault: raw.fault, reason: raw.reason }
        : readCapturedRequest(raw.value, limits.maxDepth);
    }
  }
}
