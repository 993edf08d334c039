import { esimCatalog, type OutcomeCode } from "@esim-webhooks/core";
import type { DriftMessage, FailureReason, SettleMessage } from "@esim-webhooks/core/observe";
import type { Counter } from "./counts.ts";
import { mostTypes, type TypeLabel } from "./labels.ts";

/** Whether deliveries with this outcome can be authentic and of a known event type, which then is a label. */
const hasType: Readonly<Record<OutcomeCode, boolean>> = {
  processed: true,
  duplicate: true,
  discarded: true,
  unhandled_type: true,
  stored: true,
  already_stored: true,
  conflict: true,
  busy: true,
  retry_later: true,
  deadline_reached: true,
  lease_lost: true,
  store_unavailable: true,
  failed: true,
  invalid: true,
  unknown_type: false, // its type is in no catalog
  shutting_down: false,
  rotating: false,
  keys_unavailable: false,
  missing_secret: false,
  key_not_yet_valid: false,
  timestamp_out_of_tolerance: false,
  unusable_header: false,
  body_consumed: false,
  internal_error: false,
  missing_header: false,
  malformed_header: false,
  no_matching_key: false,
  method_not_allowed: false,
  unknown_endpoint: false,
  endpoint_unconfirmed: false,
  body_incomplete: false,
  too_large: false,
  overloaded: false,
  unsupported_encoding: false,
};

/** The usual reasons of each outcome; none if it has no reason. */
const reasonsOf: Readonly<Record<SettleMessage["outcome"], readonly FailureReason[]>> = {
  done: [],
  unhandled: [],
  waiting: [],
  given_back: [],
  lost: [],
  store_unavailable: [],
  retry: ["failed", "timed_out"],
  dead: ["failed", "timed_out", "invalid", "attempts"],
};

const findings: Readonly<Record<DriftMessage["kind"], true>> = {
  new_type: true,
  new_field: true,
  missing_field: true,
  other_json_type: true,
  new_value: true,
};

/** The counters whose label values are known before anything happens. */
type Bounded = Readonly<
  Record<"deliveries" | "duplicates" | "conflicts" | "settled" | "recovered" | "drift", Counter>
>;

/** Starts the counters at 0: if a series appeared only with its first event, a rate would miss that event. */
export function startAtZero(
  counters: Bounded,
  typeOf: TypeLabel,
  { types }: { readonly types: readonly string[] } = esimCatalog,
): void {
  const labels = [...types.slice(0, mostTypes), "other"];
  for (const [outcome, isTyped] of Object.entries(hasType))
    for (const type of isTyped ? labels : [typeOf(null)]) counters.deliveries.add(0, { outcome, type });
  for (const type of labels) {
    counters.duplicates.add(0, { type });
    counters.conflicts.add(0, { type });
    for (const [outcome, reasons] of Object.entries(reasonsOf)) {
      if (reasons.length === 0) counters.settled.add(0, { outcome, type });
      for (const reason of reasons) counters.settled.add(0, { outcome, type, reason });
    }
  }
  for (const kind of ["missed", "acknowledgedAndLost"]) counters.recovered.add(0, { kind });
  for (const kind of Object.keys(findings)) counters.drift.add(0, { kind });
}
