import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "./errors.ts";
import type { DumpLimits } from "./record.ts";

/** Limits the size of the unpacked dump, and its ratio to the packed size. */
export interface Bounds {
  /** Counts bytes of the dump itself. */
  packed(bytes: number): void;
  /** Counts what is unpacked at this depth, in all entries together. */
  unpacked(depth: number): Unpacking;
}

/** Its counters throw `dump_too_large`. */
export interface Unpacking {
  bytes(count: number): void;
  /** Counts a part that takes time even if nothing is in it: a member, a frame, a block, an entry. */
  part(): void;
}

// a small dump may honestly have a high ratio, such as one record repeated many times
const ratioFromBytes = 16 * 1024 * 1024;

// in the ratio, for each part: an empty gzip member of 20 bytes then counts 400 times its size, and one with a record
// seldom 100 times
const partBytes = 8 * 1024;

export function createBounds({ maxUnpackedBytes, maxRatio }: DumpLimits): Bounds {
  let packedBytes = 0;
  const unpackedBytes: number[] = [];
  const weights: number[] = [];

  function weigh(depth: number, bytes: number): void {
    const weight = (weights[depth] ?? 0) + bytes;
    weights[depth] = weight;
    if (weight >= ratioFromBytes && weight > maxRatio * packedBytes) {
      const problem = `The dump unpacks to more than ${maxRatio} times its size, with 8 KiB for each part.`;
      throw tooLarge(problem, "maxRatio");
    }
  }

  return {
    packed(bytes) {
      packedBytes += bytes;
    },
    unpacked: (depth) => ({
      bytes(count) {
        const total = (unpackedBytes[depth] ?? 0) + count;
        unpackedBytes[depth] = total;
        if (total > maxUnpackedBytes) {
          throw tooLarge(`The dump unpacks to more than ${maxUnpackedBytes} bytes.`, "maxUnpackedBytes");
        }
        weigh(depth, count);
      },
      part: () => weigh(depth, partBytes),
    }),
  };
}

function tooLarge(problem: string, option: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "dump_too_large",
    `${problem} Everything before was read.`,
    `If you trust its sender, raise the option ${option}; otherwise treat it as an attack.`,
    { option },
  );
}
