import type { Fault } from "../database/faults.ts";
import type { Journal } from "../database/journal.ts";
import type { OpenOptions } from "../database/open.ts";
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

/** An operation to do. */
export interface Call {
  readonly name: string;
  readonly input: unknown;
  /** When its caller gives up, by `uptimeMs()`: from then on it is not started. */
  readonly untilMs: number;
}

/** Calls as they cross to the thread: rows as lists of values, and the bodies of all rows, in their order, in one buffer. */
export interface PackedCalls {
  readonly calls: readonly Call[];
  readonly bodies: ArrayBuffer;
}

/** The result of a call. */
export type Answer = { readonly output: unknown } | { readonly fault: Fault };

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

/** To the thread. Calls of one message go in one transaction. */
export type Request =
  | { readonly kind: "calls"; readonly id: number; readonly packed: PackedCalls }
  /** Report from now on when another process has written. */
  | { readonly kind: "watch" }
  | { readonly kind: "unwatch" }
  | { readonly kind: "close" };

/** From the thread. `opened` is the first message, or `fault`, after which it ends. */
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

/** How long to wait for another process's lock, in ms: less than the caller waits, so that it learns the reason and not just of a timeout. */
export function busyMsOf(timeoutMs: number): number {
  return Math.ceil(timeoutMs * 0.8);
}
