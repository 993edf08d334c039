import type { Transacted } from "./dedupe-store.ts";
import type { DispatchOutcome } from "./dispatcher.ts";

/** What became of the handler, and of its transaction. */
export interface Ran {
  readonly outcome: DispatchOutcome;
  readonly transaction: Transacted;
}

/** Runs `work` with a transaction, and commits it with the mark if `work` says so. */
export type Transact = (work: (tx: unknown) => Promise<boolean>) => Promise<Transacted>;

/** Runs the handler, in a transaction where the store has them: committed if the event is done. */
export async function transacted(
  transact: Transact | undefined,
  run: (tx: unknown) => Promise<DispatchOutcome>,
): Promise<Ran> {
  if (transact === undefined) return { outcome: await run(undefined), transaction: "unused" };
  const { promise, resolve } = Promise.withResolvers<DispatchOutcome>();
  const transaction = await transact(async (tx) => {
    const outcome = await run(tx);
    resolve(outcome);
    return isDone(outcome);
  });
  return { outcome: await promise, transaction };
}

export function isDone({ code }: DispatchOutcome): boolean {
  return code === "processed" || code === "discarded";
}
