import type { Fault } from "../database/errors.ts";
import type { Journal } from "../database/journal.ts";
import type { OpenOptions } from "../database/open.ts";

/** What a thread is started with. */
export interface ThreadData extends OpenOptions {
  readonly role: "writer" | "reader" | "source" | "backup";
}

/** One operation to be done. */
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

/** What became of a call. */
export type Answer = { readonly output: unknown } | { readonly fault: Fault };

/** To a call whose caller does not wait any more. */
export const notAsked: Answer = {
  fault: { code: "store_unavailable", problem: "The database was not asked.", remedy: "Ask again." },
};

/** Of a call that cannot cross to the thread. */
export const notCloned: Fault = {
  code: "store_unavailable",
  problem: "What was asked cannot be handed to the thread of the database.",
  remedy: "Its cause names the value.",
};

/** To the thread. Calls of one message go in one transaction. */
export type Request =
  | { readonly kind: "calls"; readonly id: number; readonly packed: PackedCalls }
  /** Tell from now on when another process has written. */
  | { readonly kind: "watch"; readonly isOn: boolean }
  | { readonly kind: "close" };

/** From the thread. `opened` is the first message, or `fault`, after which it ends. */
export type Reply =
  | { readonly kind: "opened"; readonly journal: Journal | undefined }
  | { readonly kind: "fault"; readonly fault: Fault }
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly Answer[] }
  | { readonly kind: "changed" };
