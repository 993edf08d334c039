import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "../base/errors.ts";
import type { DumpLimits } from "./record.ts";

/** Limits the size of the unpacked dump, and its ratio to the packed size. */
export interface Bounds {
  /** Counts bytes of the dump itself. */
  packed(bytes: number): void;
  /** Returns a counter of unpacked bytes, for all entries at this depth. The counter throws `dump_too_large`. */
  unpacked(depth: number): (bytes: number) => void;
}

// a small dump may honestly have a high ratio, such as one record repeated many times
const ratioFromBytes = 16 * 1024 * 1024;

export function createBounds({ maxUnpackedBytes, maxRatio }: DumpLimits): Bounds {
  let packedBytes = 0;
  const unpackedBytes: number[] = [];
  return {
    packed(bytes) {
      packedBytes += bytes;
    },
    unpacked: (depth) => (bytes) => {
      const total = (unpackedBytes[depth] ?? 0) + bytes;
      unpackedBytes[depth] = total;
      if (total > maxUnpackedBytes) {
        throw tooLarge(`The dump unpacks to more than ${maxUnpackedBytes} bytes.`, "maxUnpackedBytes");
      }
      if (total >= ratioFromBytes && total > maxRatio * packedBytes) {
        throw tooLarge(`The dump unpacks to more than ${maxRatio} times its size.`, "maxRatio");
      }
    },
  };
}

function tooLarge(problem: string, option: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "dump_too_large",
    `${problem} Everything before was read.`,
    `If you trust its sender, raise ${option}; otherwise treat it as an attack.`,
  );
}
