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
  const packed = calls.map((call) =>
    withRows(call, (row: PutRow) => {
      bodies.set(row.body, begin);
      begin += row.body.byteLength;
      return valuesOf(row);
    }),
  );
  return { calls: packed, bodies: bodies.buffer };
}

export function unpackCalls({ calls, bodies }: PackedCalls): readonly Call[] {
  let begin = 0;
  return calls.map((call) =>
    withRows(call, (values: RowValues) => {
      const row = rowOf(values, bodies, begin);
      begin += row.body.byteLength;
      return row;
    }),
  );
}

type RowValues = ReturnType<typeof valuesOf>;

/** As a list: each object would be sent with the names of its fields. */
function valuesOf({ source, id, type, receivedAt, occurredAt, lane, body, ...more }: PutRow) {
  const { replay, rebuilt, subject, key, trace } = more;
  const times = [receivedAt, occurredAt] as const;
  return [source, id, type, ...times, lane, body.byteLength, replay, rebuilt, subject, key, trace] as const;
}

function rowOf(values: RowValues, bodies: ArrayBuffer, begin: number): PutRow {
  const [source, id, type, receivedAt, occurredAt, lane, bytes, replay, rebuilt, subject, key, trace] =
    values;
  const body = new Uint8Array(bodies, begin, bytes);
  return { source, id, type, receivedAt, occurredAt, lane, body, replay, rebuilt, subject, key, trace };
}

function rowsOf<Row>({ input }: Pick<Call, "input">): readonly Row[] {
  return (input as { rows?: readonly Row[] } | undefined)?.rows ?? [];
}

/** The call with its rows in another form, if it has any. */
function withRows<Row>(call: Call, change: (row: Row) => unknown): Call {
  const rows = rowsOf<Row>(call);
  return rows.length === 0 ? call : { ...call, input: { ...(call.input as object), rows: rows.map(change) } };
}
