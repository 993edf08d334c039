import { startDeadline } from "../base/deadline.ts";
import type { Logger } from "../base/logger.ts";
import { outcomeFields } from "../base/trace.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import { type SettleMessage, settleNotice } from "../handle/stages.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import { callStore } from "./call-store.ts";
import type { HeldClaim, Lease } from "./claim-lease.ts";
import type { Unmarked } from "./unmarked.ts";

/** Ends a claim in the store, according to the outcome of its event. */
export interface Settler {
  /**
   * For a done event. While the store fails, waits for the mark until the lease would end. An event that is still not marked
   * then is kept in `unmarked`.
   */
  complete(held: HeldClaim, outcome: EventOutcome, lease: Lease): Promise<EventOutcome>;
  /** For an event that is not done. If the store is unreachable, the claim ends with its lease. */
  release(held: HeldClaim, outcome: EventOutcome): Promise<EventOutcome>;
  /** For an event that was committed together with its done mark. */
  committed(held: HeldClaim, outcome: EventOutcome): EventOutcome;
  /** For an event whose claim was lost. */
  lost(held: HeldClaim): EventOutcome;
}

export function createSettler(store: DedupeStore, logger: Logger, unmarked: Unmarked): Settler {
  function committed(held: HeldClaim, outcome: EventOutcome): EventOutcome {
    publish(held, { outcome: "done" });
    return outcome;
  }

  function lost(held: HeldClaim): EventOutcome {
    publish(held, { outcome: "lost" });
    return { code: "lease_lost" };
  }

  return {
    committed,
    lost,
    async complete(held, outcome, lease) {
      const leftMs = lease.remainingMs();
      const completed = await callStore(() => store.complete(held.key, held.token));
      const hasFailed = "error" in completed;
      if (!hasFailed && completed.answer) return committed(held, outcome);
      // a handler that has seen its claim lost may have stopped half-way
      const marked = leftMs > 0 ? unmarked.keep(held) : Promise.resolve(false);
      if (!hasFailed) return lost(held);
      if (await startDeadline(leftMs).before(marked)) return committed(held, outcome);
      publish(held, outcomeFields(completed));
      return completed;
    },
    async release(held, outcome) {
      const released = await callStore(() => store.release(held.key, held.token));
      if ("error" in released) {
        logger.debug({ id: held.key.id }, "A claim could not be released; it ends with its lease.");
        publish(held, outcomeFields(released));
      } else publish(held, { outcome: released.answer ? "retry" : "lost" });
      return outcome;
    },
  };
}

function publish(
  { key, type, attempt, askedAt }: HeldClaim,
  ending: Pick<SettleMessage, "outcome" | "error">,
): void {
  if (!settleNotice.hasSubscribers) return;
  const { source, id } = key;
  settleNotice.publish({ source, id, type, attempt, ...ending, durationMs: performance.now() - askedAt });
}
