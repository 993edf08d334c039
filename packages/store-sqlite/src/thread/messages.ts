// The messages between the main thread and a thread that uses the file.
import { type Fault, FaultError } from "../database/faults.ts";
import type { Journal } from "../database/journal.ts";
import type { OpenOptions } from "../database/open.ts";
import type { PutRow } from "../sql/put.ts";
import type * as reads from "../sql/reads.ts";
import type * as writes from "../sql/writes.ts";

export type Writes = typeof writes;
export type Reads = typeof reads;

/** The input and output of an operation, by its name. */
export type InputOf<Name extends keyof (Writes & Reads)> = Parameters<(Writes & Reads)[Name]>[1];
export type OutputOf<Name extends keyof (Writes & Reads)> = ReturnType<(Writes & Reads)[Name]>;

/** The data that a thread is started with. */
export interface ThreadData extends OpenOptions {
  readonly role: "writer" | "reader" | "source" | "backup";
}

/** A function to call in the thread. */
export interface Call {
  /** The function's name in `sql/writes.ts` or, for a thread that reads, in `sql/reads.ts`. */
  readonly name: string;
  readonly input: unknown;
  /** When its caller gives up, by `uptimeMs()`: from then on, the call is not started. */
  readonly untilMs: number;
}

/** Calls as they cross to the thread: rows as lists of values, and the bodies of all rows, in their order, in one buffer. */
export interface PackedCalls {
  readonly calls: readonly Call[];
  readonly bodies: ArrayBuffer;
}

/** The result of a call. */
export type Answer = { readonly output: unknown } | { readonly fault: Fault };

/** The output of a call. Throws its fault as a `FaultError`. */
export function outputOf<Output>(answer: Answer): Output {
  if ("fault" in answer) throw new FaultError(answer.fault);
  return answer.output as Output;
}

/** The answer to a call whose caller no longer waits. */
export const notAsked: Answer = {
  fault: { code: "store_unavailable", problem: "The database was not asked.", remedy: "Ask again." },
};

/** The fault of a call that cannot cross to the thread. */
export const notCloned: Fault = {
  code: "store_unavailable",
  problem: "The call cannot be passed to the thread of the database.",
  remedy: "Its cause names the value.",
};

/** Messages to the thread. The writer runs the calls of one message in one transaction. */
export type Request =
  | { readonly kind: "calls"; readonly id: number; readonly packed: PackedCalls }
  /** Report from now on when another process has written. */
  | { readonly kind: "watch" }
  | { readonly kind: "unwatch" }
  | { readonly kind: "close" };

/** Messages from the thread. The first one is `opened`, or it is `fault` and the thread ends. */
export type Reply =
  | { readonly kind: "opened"; readonly journal: Journal | undefined }
  | { readonly kind: "fault"; readonly fault: Fault }
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly Answer[] }
  | { readonly kind: "changed" };

/** Milliseconds of the machine's monotonic clock. It is the same in all threads; `performance.now()` is not. */
export function uptimeMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** How long to wait for another process's lock, in ms: less than the caller waits, so that the caller gets the reason and not just a timeout. */
export function busyMsOf(timeoutMs: number): number {
  return Math.ceil(timeoutMs * 0.8);
}

export function rowCountOf(call: Pick<Call, "input">): number {
  return rowsOf(call).length;
}

/** How many bytes the bodies of a call have together. */
export function sizeOf(call: Pick<Call, "input">): number {
  return rowsOf<PutRow>(call).reduce((size, { body }) => size + body.byteLength, 0);
}

/** Puts the bodies into one buffer, to be transferred: a body itself may be a slice of a larger buffer, all of which would be transferred. */
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

/** Returns the rows of a call. Once packed, each is a list of values: an object would be sent with the names of its fields. */
function rowsOf<Row>({ input }: Pick<Call, "input">): readonly Row[] {
  return (input as { rows?: readonly Row[] } | undefined)?.rows ?? [];
}
