import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "../base/errors.ts";
import type { DumpLimits } from "./record.ts";

/** Keeps what is unpacked in bounds: its size, and its ratio to what was read for it. */
export interface Bounds {
  /** Bytes of the dump itself. */
  packed(bytes: number): void;
  /** A count of the bytes that come out of unpacking, over all entries at this depth. Throws `dump_too_large`. */
  unpacked(depth: number): (bytes: number) => void;
}

// a short dump may well be one record, many times over
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
    `${problem} What came before was read.`,
    `Where you trust its sender, raise ${option}; otherwise take it for an attack.`,
  );
}
