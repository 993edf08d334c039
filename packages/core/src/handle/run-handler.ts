import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { Transacted } from "../store/dedupe-store.ts";
import type { DispatchOutcome } from "./event-outcome.ts";
import type { HandlerContext } from "./handler.ts";

/** What is known about an event when its handler is called. */
export interface ContextFacts {
  readonly source: string;
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replayed: boolean;
  /** Its signal is made only when a handler asks for it; most never do. */
  readonly lease: { readonly signal: AbortSignal };
  readonly tx: unknown;
}

export function handlerContext(
  { id, type }: WebhookEvent,
  { source, attempt, receivedAt, replayed, lease, tx }: ContextFacts,
  logger: Logger,
): HandlerContext {
  return {
    get signal() {
      return lease.signal;
    },
    attempt,
    source,
    receivedAt,
    replayed,
    get logger() {
      return logger.child?.({ id, type, source }) ?? logger;
    },
    tx,
  };
}

/** The outcome of a handler, and what became of its transaction. */
export interface Ran {
  readonly outcome: DispatchOutcome;
  readonly transaction: Transacted;
}

/** Runs `work` with a transaction. Commits it together with the mark if `work` resolves to true. */
export type Transact = (work: (tx: unknown) => Promise<boolean>) => Promise<Transacted>;

/** Runs the handler, in a transaction if the store has them. Commits it if the event is done. */
export async function transacted(
  transact: Transact | undefined,
  run: (tx: unknown) => Promise<DispatchOutcome>,
): Promise<Ran> {
  if (transact === undefined) return { outcome: await run(undefined), transaction: "unused" };
  let outcome: DispatchOutcome | undefined;
  try {
    const transaction = await transact(async (tx) => {
      outcome = await run(tx);
      return isDone(outcome);
    });
    if (outcome === undefined) throw new TypeError("transact() did not call its work.");
    return { outcome, transaction };
  } catch (error) {
    if (WebhookError.is(error)) throw error;
    return { outcome: { code: "failed", error }, transaction: "rolled_back" }; // for example a constraint that is checked at commit
  }
}

export function isDone({ code }: DispatchOutcome): boolean {
  return code === "processed" || code === "discarded";
}
