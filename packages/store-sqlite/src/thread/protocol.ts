import type { Fault } from "../database/errors.ts";
import type { Journal } from "../database/journal.ts";
import type { OpenOptions } from "../database/open.ts";

/** What a thread is started with. */
export interface ThreadData extends OpenOptions {
  readonly role: "writer" | "reader" | "source";
}

/** One operation to be done. */
export interface Call {
  readonly name: string;
  readonly input: unknown;
}

/** What became of a call. */
export type Answer = { readonly output: unknown } | { readonly fault: Fault };

/** To the thread. Calls of one message go in one transaction. */
export type Request =
  | { readonly kind: "calls"; readonly id: number; readonly calls: readonly Call[] }
  /** Tell from now on when another process has written. */
  | { readonly kind: "watch"; readonly isOn: boolean }
  | { readonly kind: "close" };

/** From the thread. `opened` is the first message, or `fault`, after which it ends. */
export type Reply =
  | { readonly kind: "opened"; readonly journal: Journal | undefined }
  | { readonly kind: "fault"; readonly fault: Fault }
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly Answer[] }
  | { readonly kind: "changed" };
