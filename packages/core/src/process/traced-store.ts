import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";
import type { Claim, DedupeStore } from "../store/dedupe-store.ts";

/** A call of a dedupe store by a processor. Published on `tracing:esim-webhooks:claim:*`, `extend` and `complete`. */
export interface StoreCallMessage<Outcome extends string = string> extends EventKey, StageMessage {
  /** The store's answer. `store_unavailable`: it threw or rejected. */
  readonly outcome: Outcome | "store_unavailable";
}

/** `claimed`: the handler can run. `busy` or `done`: it does not. */
export type ClaimMessage = StoreCallMessage<Claim["status"]>;

/** `lost`: the claim had ended, or another owner has it. */
export type ExtendMessage = StoreCallMessage<"extended" | "lost">;

/** `lost`: the claim had ended, or another owner has it. */
export type CompleteMessage = StoreCallMessage<"completed" | "lost">;

export const claimStage: Stage<ClaimMessage> = createStage("claim", "store_unavailable");
export const extendStage: Stage<ExtendMessage> = createStage("extend", "store_unavailable");
export const completeStage: Stage<CompleteMessage> = createStage("complete", "store_unavailable");

/** The operations on one claim, without `transact`. */
export type ClaimStore = Pick<DedupeStore, "claim" | "extend" | "complete" | "release">;

const keyOf = ({ source, id }: EventKey) => ({ source, id });

/** Wraps a store so that `observe` shows its calls, except those of `release`. */
export function tracedStore(store: ClaimStore): ClaimStore {
  return {
    claim: claimStage.around(
      (key: EventKey, leaseMs: number, fingerprint?: number) => store.claim(key, leaseMs, fingerprint),
      keyOf,
      (claim) => ({ outcome: claim.status }),
    ),
    extend: extendStage.around(
      (key: EventKey, token: string, leaseMs: number) => store.extend(key, token, leaseMs),
      keyOf,
      (isHeld) => ({ outcome: isHeld ? "extended" : "lost" }),
    ),
    complete: completeStage.around(
      (key: EventKey, token: string) => store.complete(key, token),
      keyOf,
      (isHeld) => ({ outcome: isHeld ? "completed" : "lost" }),
    ),
    release: (key, token) => store.release(key, token),
  };
}
