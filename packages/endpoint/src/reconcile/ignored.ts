import type { WebhookDelivery } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { RecordVerdict } from "@esim-webhooks/import";
import { fateOf, occurredAtMs } from "../base/deliveries.ts";
import { isoOf, type PassState, shortHash } from "./pass-state.ts";

/** The types that have no handler. A handler that is added later does not run for what was ignored before. */
export interface Ignored {
  /** Notes the verdicts of a batch. */
  note(verdicts: readonly RecordVerdict[]): void;
  /** Whether this event was acknowledged at a time when its type had no handler. What did not arrive is brought in all the same. */
  includes(delivery: WebhookDelivery): boolean;
  /** What the next pass has to know. */
  kept(): Pick<PassState, "ignored">;
}

/** How many types fit into the state. Those that were ignored last are kept. */
const mostTypes = 50;

/** @param nowMs no event is ignored beyond this time, whatever its timestamp says */
export function createIgnored(before: Pick<PassState, "ignored">, nowMs: number): Ignored {
  const knownMs = new Map(Object.entries(before.ignored).map(([key, until]) => [key, dateTimeMs(until)]));
  const untilMs = new Map(knownMs);
  const latest = (one: number, other = Number.NEGATIVE_INFINITY) => Math.max(one, other);
  return {
    note(verdicts) {
      for (const { fate, type, occurredMs } of verdicts) {
        if (fate !== "filtered" || type === null || Number.isNaN(occurredMs)) continue;
        const key = shortHash(type);
        untilMs.set(key, latest(Math.min(occurredMs, nowMs), untilMs.get(key)));
      }
    },
    includes(delivery) {
      if (knownMs.size === 0 || delivery.eventType === null || fateOf(delivery) !== "delivered") return false;
      const ignoredMs = knownMs.get(shortHash(delivery.eventType));
      return ignoredMs !== undefined && occurredAtMs(delivery) <= ignoredMs;
    },
    kept() {
      const kept = [...untilMs].sort(([, one], [, other]) => one - other).slice(-mostTypes);
      return { ignored: Object.fromEntries(kept.map(([key, ms]) => [key, isoOf(ms)])) };
    },
  };
}
