import { crc32 } from "node:zlib";
import type { EventKey } from "@esim-webhooks/core";

/** An entry as it crosses to the database's thread, its lane decided. */
export interface PutRow extends EventKey {
  readonly type: string | null;
  /** In ms since the Unix epoch, as `occurredAt`. */
  readonly receivedAt: number;
  readonly occurredAt: number | null;
  readonly lane: string | null;
  readonly body: Uint8Array;
  /** JSON; null for a delivery. */
  readonly replay: string | null;
  readonly rebuilt: boolean;
}

/** What statements that write a row are given, by name. */
export function rowParameters({
  rebuilt: _,
  ...row
}: PutRow): Omit<PutRow, "rebuilt"> & { readonly fingerprint: number } {
  return { ...row, fingerprint: fingerprintOf(row) };
}

/** By it two bodies of one authentic id are told apart: the sender does not look for a collision. */
export function fingerprintOf({ body }: Pick<PutRow, "body">): number {
  return crc32(body);
}
