import { WebhookError } from "@esim-webhooks/core";
import { readDump } from "../../src/dump/read-dump.ts";
import type { DumpLimits, RawRecord } from "../../src/dump/record.ts";

export const limits: DumpLimits = {
  maxRecordBytes: 1024 * 1024,
  maxDepth: 64,
  maxUnpackedBytes: 2 ** 36,
  maxRatio: 250,
};

/** The records of a dump, up to its end or its damage. */
export interface Reading {
  readonly records: readonly RawRecord[];
  readonly forms: readonly string[];
  readonly damage: WebhookError<string> | undefined;
}

/** Reads a dump to its end. Fails with anything that is not one of the three codes. */
export async function readAll(
  input: AsyncIterable<Uint8Array>,
  over: Partial<DumpLimits> = {},
): Promise<Reading> {
  const dump = readDump(input, { ...limits, ...over });
  const records: RawRecord[] = [];
  try {
    for await (const batch of dump.batches) records.push(...batch);
  } catch (error) {
    if (!WebhookError.is(error) || !/^(damaged|unknown)_dump$|^dump_too_large$/.test(error.code)) throw error;
    return { records, forms: [...dump.forms], damage: error };
  }
  return { records, forms: [...dump.forms], damage: undefined };
}

export async function readBytes(
  bytes: Uint8Array | string,
  chunkBytes: number = 64 * 1024,
  over: Partial<DumpLimits> = {},
): Promise<Reading> {
  return readAll(inChunks(Buffer.from(bytes as string), chunkBytes), over);
}

export async function* inChunks(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.byteLength; i += chunkBytes) yield bytes.subarray(i, i + chunkBytes);
}

/** The JSON of each record, or the code of its fault. */
export function contents(records: readonly RawRecord[]): unknown[] {
  return records.map((record) => ("value" in record ? record.value : record.fault));
}
