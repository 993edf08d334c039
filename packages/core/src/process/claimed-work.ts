import type { Awaitable } from "../base/awaitable.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { andThen, createDeadline, isPromise } from "../base/waiting.ts";
import type { EventKey, WebhookEvent } from "../event/event.ts";
import { decide } from "../handle/decide.ts";
import type { Dispatcher } from "../handle/dispatcher.ts";
import type { EventOutcome, UndoneOutcome } from "../handle/event-outcome.ts";
import { createRunHandler, isDone, runInTransaction, watchLoop } from "../handle/run-handler.ts";
import { isSettlementSeen, reportEnding } from "../handle/settled.ts";
import type { Claim, DedupeStore, Transacted } from "../store/dedupe-store.ts";
import type { Ending } from "../store/ending.ts";
import { callStore, type HeldClaim, keepLease, type StoreUnavailable, unavailable } from "./claim.ts";
import { createPendingMarks } from "./pending-marks.ts";
import type { OwnProvenance } from "./provenance.ts";
import { tracedStore } from "./traced-store.ts";

interface ClaimedWorkSettings {
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gets a line for each settlement. */
  readonly eventLog: Logger;
}

/** Creates the function that claims an event, runs its handler, and completes or releases the claim. It never rejects. */
export function createClaimedWork(
  store: DedupeStore,
  dispatcher: Dispatcher,
  { leaseMs, clock, logger, eventLog }: ClaimedWorkSettings,
): (event: WebhookEvent, provenance: OwnProvenance) => Awaitable<EventOutcome> {
  const watch = watchLoop(logger, leaseMs);
  const runHandler = createRunHandler(dispatcher, watch, logger);
  const traced = tracedStore(store);
  const pendingMarks = createPendingMarks(traced, logger, leaseMs);

  function claimAndHandle(event: WebhookEvent, provenance: OwnProvenance): Awaitable<EventOutcome> {
    const { fingerprint } = provenance;
    const key = { source: provenance.source ?? "default", id: event.id };
    const doneHere = pendingMarks.find(key, fingerprint);
    if (doneHere !== undefined) return doneHere;
    const askedAt = performance.now();
    let claimed: Awaitable<Claim>;
    try {
      claimed = traced.claim(key, leaseMs, fingerprint);
    } catch (error) {
      return unavailable(error);
    }
    return isPromise(claimed)
      ? Promise.resolve(claimed).then((claim) => {
          return handleClaimed(event, provenance, key, claim, askedAt, performance.now());
        }, unavailable)
      : handleClaimed(event, provenance, key, claimed, askedAt, askedAt); // the lease of a synchronous answer has not ended yet
  }

  /** `now`: the time at which the claim has been granted; `askedAt` for a synchronous store. */
  function handleClaimed(
    event: WebhookEvent,
    provenance: OwnProvenance,
    key: EventKey,
    claim: Claim,
    askedAt: number,
    now: number,
  ): Awaitable<EventOutcome> {
    if (claim?.status !== "claimed") return outcomeOf(claim);
    const held = heldClaim(event, key, claim.token, askedAt, provenance);
    // the caller no longer waits: a receiver has answered 503, and the sender tries again
    if ((provenance.signal ?? held.controller.signal).aborted)
      return release(held, { code: "deadline_reached" });
    if (store.transact !== undefined) return handleInTransaction(store.transact, event, provenance, held);
    const outcome = runHandler(event, held.facts, held, undefined, now);
    if (!isPromise(outcome)) return settle(held, outcome, "unused");
    const stopRenewing = keepLease(traced, held, provenance.signal, watch);
    return outcome.then((known) => {
      stopRenewing();
      return settle(held, known, "unused");
    });
  }

  async function handleInTransaction(
    transact: NonNullable<DedupeStore["transact"]>,
    event: WebhookEvent,
    { signal }: OwnProvenance,
    held: HeldClaim,
  ): Promise<EventOutcome> {
    const running = runInTransaction(
      (inside) => transact.call(store, held.key, held.token, inside),
      (tx) => runHandler(event, held.facts, held, tx, performance.now()),
    );
    const stopRenewing = keepLease(traced, held, signal, watch);
    const ran = await running.catch(unavailable);
    stopRenewing();
    return "error" in ran ? release(held, ran) : settle(held, ran.outcome, ran.transaction);
  }

  function heldClaim(
    { type }: WebhookEvent,
    key: EventKey,
    token: string,
    askedAt: number,
    provenance: OwnProvenance,
  ): HeldClaim {
    const { attempt = 1, receivedAt = new Date(clock.now()), replayed = false, waitMs, trace } = provenance;
    const { fingerprint, isLastAttempt, controller = new AbortController() } = provenance;
    const facts = { source: key.source, attempt, receivedAt, replayed, waitMs, trace };
    const heldUntil = askedAt + leaseMs;
    return {
      key,
      type,
      facts,
      token,
      leaseMs,
      askedAt,
      state: "held",
      heldUntil,
      fingerprint,
      isLastAttempt,
      controller,
    };
  }

  function settle(held: HeldClaim, outcome: EventOutcome, transaction: Transacted): Awaitable<EventOutcome> {
    if (transaction === "committed") return reportDone(held, outcome);
    if (!isDone(outcome)) return release(held, outcome);
    // rolled back although done: the lease was lost
    return transaction === "rolled_back" ? reportLost(held) : complete(held, outcome);
  }

  /** Marks a done event. If the store fails, the mark is retried; waits for it until the lease would end, and leaves it pending after that. */
  function complete(held: HeldClaim, outcome: EventOutcome): Awaitable<EventOutcome> {
    const { state, heldUntil } = held; // a renewal that is still under way can change them
    const called = callStore(() => traced.complete(held.key, held.token));
    return andThen(called, (completed) =>
      "answer" in completed && completed.answer
        ? reportDone(held, outcome)
        : awaitMark(held, outcome, state, heldUntil, completed),
    );
  }

  async function awaitMark(
    held: HeldClaim,
    outcome: EventOutcome,
    state: HeldClaim["state"],
    heldUntil: number,
    completed: { readonly answer: boolean } | StoreUnavailable,
  ): Promise<EventOutcome> {
    // a handler that has seen its claim lost may have stopped half-way; any other is done, even if its claim has ended meanwhile
    const marked = state === "lost" ? Promise.resolve(false) : pendingMarks.add(held);
    if ("answer" in completed) return reportLost(held);
    const leftMs = heldUntil - performance.now();
    if (leftMs > 0 && (await createDeadline(leftMs).before(marked))) return reportDone(held, outcome);
    // the sender gets 503. The mark of a done event is retried, so that the sender's retry is a duplicate
    report(held, { state: "store_unavailable", error: completed.error });
    return completed;
  }

  /** Ends the claim of an event that is not done. If the store is unreachable, the claim ends with its lease. */
  function release(held: HeldClaim, outcome: EventOutcome): Awaitable<EventOutcome> {
    const called = callStore(() => traced.release(held.key, held.token));
    return andThen(called, (released) => {
      if ("error" in released)
        logger.debug({ id: held.key.id }, "A claim could not be released; it ends with its lease.");
      if (isSettlementSeen(eventLog)) report(held, endOfUndone(held, outcome, released));
      return outcome;
    });
  }

  function reportDone(held: HeldClaim, outcome: EventOutcome): EventOutcome {
    report(held, { state: "done" });
    return outcome;
  }

  function reportLost(held: HeldClaim): EventOutcome {
    report(held, { state: "lost" });
    return { code: "lease_lost" };
  }

  function report(held: HeldClaim, ending: Ending): void {
    if (!isSettlementSeen(eventLog)) return;
    const { key, type, facts: taken, askedAt, spanIds } = held;
    const { attempt, receivedAt, waitMs } = taken;
    const durationMs = performance.now() - askedAt;
    const facts = { ...key, type, by: "processor", attempt, durationMs, receivedAt } as const;
    reportEnding(eventLog, ending, { ...facts, ...(waitMs !== undefined && { waitMs }) }, spanIds);
  }

  return claimAndHandle;
}

/** Returns the outcome of an event that could not be claimed. */
function outcomeOf(claim: Exclude<Claim, { status: "claimed" }>): EventOutcome {
  if (claim?.status === "done") return { code: claim.conflict ? "conflict" : "duplicate" };
  if (claim?.status === "busy") {
    const { retryAfterMs, inInbox, conflict } = claim;
    return { code: "busy", retryAfterMs, ...(conflict && { conflict }), ...(inInbox && { inInbox }) };
  }
  return unavailable(new TypeError("claim() answered with none of the statuses claimed, busy and done."));
}

/** How the claim of an event that is not done ended. */
function endOfUndone(
  held: HeldClaim,
  outcome: EventOutcome,
  released: { readonly answer: boolean } | StoreUnavailable,
): Ending {
  const thrown = outcome.code === "failed" && { thrown: outcome.error };
  if ("answer" in released && !released.answer) return { state: "lost", ...thrown };
  const ending = decide(outcome, {
    isLast: (undone) => wasLastAttempt(held, undone),
    afterMs: () => 0, // the next delivery decides
  });
  if ("answer" in released || ending.state === "dead") return ending;
  return { state: "store_unavailable", error: released.error, ...thrown };
}

/** Returns the result of `isLastAttempt`; false when it throws. */
function wasLastAttempt({ isLastAttempt }: HeldClaim, outcome: UndoneOutcome): boolean {
  try {
    return isLastAttempt?.(outcome) ?? false;
  } catch {
    return false;
  }
}
