import type { Transferable } from "node:worker_threads";
import type { PutRow } from "../sql/put-row.ts";
import type { Call } from "./protocol.ts";

function rowsOf({ input }: Pick<Call, "input">): readonly PutRow[] {
  return (input as { rows?: readonly PutRow[] } | undefined)?.rows ?? [];
}

/** How many bytes the bodies of a call have together. */
export function sizeOf(call: Pick<Call, "input">): number {
  return rowsOf(call).reduce((size, { body }) => size + body.byteLength, 0);
}

/**
 * The calls with all their bodies in one buffer, which is handed over and not copied. A body as it comes may be a slice
 * of a larger buffer, and would take all of that with it.
 */
export function withPackedBodies(calls: readonly Call[]): {
  readonly calls: readonly Call[];
  readonly transferred: readonly Transferable[];
} {
  const size = calls.reduce((sum, call) => sum + sizeOf(call), 0);
  if (size === 0) return { calls, transferred: [] };
  const buffer = new ArrayBuffer(size);
  let begin = 0;
  const packed = (row: PutRow): PutRow => {
    const body = new Uint8Array(buffer, begin, row.body.byteLength);
    body.set(row.body);
    begin += body.byteLength;
    return { ...row, body };
  };
  return {
    calls: calls.map((call) => {
      const rows = rowsOf(call);
      return rows.length === 0
        ? call
        : { ...call, input: { ...(call.input as object), rows: rows.map(packed) } };
    }),
    transferred: [buffer],
  };
}
