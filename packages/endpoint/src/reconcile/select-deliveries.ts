import type { WebhookDelivery } from "@esim-webhooks/client";
import { newestMs, occurredAtMs, servicePlanOf } from "../base/deliveries.ts";
import type { PassPlan } from "./claim-pass.ts";
import { shortHash } from "./pass-state.ts";

export interface SelectionOptions extends PassPlan {
  /** Whether to recover what is still coming, too. */
  readonly includeComing: boolean;
  /** The time of the service, approximately, in ms. */
  readonly nowMs: number;
  /** The short hashes of events whose handlers failed in earlier passes, without those that have succeeded since. */
  readonly stillFailing: ReadonlySet<string>;
}

/**
 * Why a pass leaves a delivery out, as the ledger counts it:
 *
 * - `outOfRange`: all times that it shows are older than `since`
 * - `coming`: the service will send it
 * - `filtered`: it was acknowledged when its type had no handler
 * - `rejected`: its handler failed before, and this pass does not try it
 */
export type LeftOut = "outOfRange" | "coming" | "filtered" | "rejected";

/**
 * How long after it occurred an event can be coming, and hold the watermark (`PassState.mark`), in ms. The service's last attempt is
 * within 16 hours, though its documentation also says 24. An older event that is still coming is recovered: its endpoint is inactive, for
 * instance. An older event whose handler fails is left to full passes.
 */
const longestHoldMs = 24 * 60 * 60_000;

/** Whether an event that is coming or failing is young enough to hold the watermark back. */
export function mayHold(occurredMs: number, nowMs: number): boolean {
  return occurredMs >= nowMs - longestHoldMs;
}

/** Creates the function that decides about a listed delivery: why it is left out, or undefined if the target gets it. */
export function createSelection({
  initialState: { since, ignored },
  depth,
  includeComing,
  nowMs,
  stillFailing,
}: SelectionOptions): (delivery: WebhookDelivery) => LeftOut | undefined {
  // an event without a valid timestamp is invalid whenever it arrives, and nothing shows for how long it has been coming
  function isComing(delivery: WebhookDelivery): boolean {
    return servicePlanOf(delivery) === "coming" && mayHold(occurredAtMs(delivery), nowMs);
  }

  /** Whether it was acknowledged when its type had no handler. An event that did not arrive was not ignored. */
  function wasIgnored(delivery: WebhookDelivery): boolean {
    const { eventType } = delivery;
    if (eventType === null || servicePlanOf(delivery) !== "delivered") return false;
    const untilMs = ignored[shortHash(eventType)] ?? Number.NaN;
    return occurredAtMs(delivery) <= untilMs;
  }

  /** Whether the event's handler has failed, and this pass does not run it again. A full pass does, as does a pass to the watermark while the event holds the watermark back. */
  function isNotTriedNow(delivery: WebhookDelivery): boolean {
    const isTried = depth === "full" || (depth === "watermark" && mayHold(occurredAtMs(delivery), nowMs));
    return !isTried && stillFailing.has(shortHash(delivery.eventId ?? ""));
  }

  return (delivery) => {
    if (newestMs(delivery) < since) return "outOfRange";
    if (!includeComing && isComing(delivery)) return "coming";
    if (wasIgnored(delivery)) return "filtered";
    return isNotTriedNow(delivery) ? "rejected" : undefined;
  };
}

/**
 * A delivery with the fields that the documentation of the listing names, and no others: with `headers` and `body`, it would be read
 * as a captured request. The answer of the endpoint is left out.
 */
export function listedFields(delivery: WebhookDelivery): Omit<WebhookDelivery, "responseBody"> {
  const { eventId, eventType, payload, status, attemptNumber, httpStatus, nextRetryAt, sentAt, deliveredAt } =
    delivery;
  return {
    eventId,
    eventType,
    payload,
    status,
    attemptNumber,
    httpStatus,
    nextRetryAt,
    sentAt,
    deliveredAt,
  };
}
