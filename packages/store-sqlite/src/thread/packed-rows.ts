import type { PutRow } from "../sql/put.ts";
import type { Call, PackedCalls } from "./protocol.ts";

export function rowCountOf(call: Pick<Call, "input">): number {
  return rowsOf(call).length;
}

/** How many bytes the bodies of a call have together. */
export function sizeOf(call: Pick<Call, "input">): number {
  return rowsOf<PutRow>(call).reduce((size, { body }) => size + body.byteLength, 0);
}

/** The buffer is transferred, not copied. A body may be a slice of a larger buffer, all of which would be transferred with it. */
export function packCalls(calls: readonly Call[]): PackedCalls {
  const bodies = new Uint8Array(calls.reduce((sum, call) => sum + sizeOf(call), 0));
  let begin = 0;
  const packed = calls.map((call) => {
    const [first] = rowsOf<PutRow>(call);
    if (first === undefined) return call;
    const fields = Object.keys(first);
    const rows = rowsOf<PutRow>(call).map((row) => {
      bodies.set(row.body, begin);
      begin += row.body.byteLength;
      return fields.map((field) => (field === "body" ? row.body.byteLength : row[field]));
    });
    return { ...call, input: { ...(call.input as object), fields, rows } };
  });
  return { calls: packed, bodies: bodies.buffer };
}

export function unpackCalls({ calls, bodies }: PackedCalls): readonly Call[] {
  let begin = 0;
  return calls.map((call) => {
    const packed = rowsOf<readonly unknown[]>(call);
    if (packed.length === 0) return call;
    const { fields, ...input } = call.input as { readonly fields: readonly string[] };
    const rows = packed.map((values) => {
      const row: Record<string, unknown> = {};
      for (let at = 0; at < fields.length; at += 1) row[fields[at] as string] = values[at];
      const bytes = row["body"] as number;
      row["body"] = new Uint8Array(bodies, begin, bytes);
      begin += bytes;
      return row;
    });
    return { ...call, input: { ...input, rows } };
  });
}

/** Rows cross as lists of values: each object would be sent with the names of its fields. */
function rowsOf<Row>({ input }: Pick<Call, "input">): readonly Row[] {
  return (input as { rows?: readonly Row[] } | undefined)?.rows ?? [];
}
