import { channel } from "node:diagnostics_channel";
import { esimCatalog, type OutcomeCode } from "@esim-webhooks/core";
import type { DriftMessage, FailureReason, SettleMessage, VerifyMessage } from "@esim-webhooks/core/observe";

const outcomes: Readonly<Record<OutcomeCode, true>> = {
  processed: true,
  duplicate: true,
  discarded: true,
  unknown_type: true,
  unhandled_type: true,
  stored: true,
  already_stored: true,
  conflict: true,
  busy: true,
  retry_later: true,
  deadline_reached: true,
  lease_lost: true,
  store_unavailable: true,
  shutting_down: true,
  rotating: true,
  keys_unavailable: true,
  missing_secret: true,
  key_not_yet_valid: true,
  timestamp_out_of_tolerance: true,
  unusable_header: true,
  failed: true,
  invalid: true,
  body_consumed: true,
  internal_error: true,
  missing_header: true,
  malformed_header: true,
  no_matching_key: true,
  method_not_allowed: true,
  unknown_endpoint: true,
  endpoint_unconfirmed: true,
  body_incomplete: true,
  too_large: true,
  overloaded: true,
  unsupported_encoding: true,
};
const verifyOutcomes: Readonly<Record<VerifyMessage["outcome"], true>> = {
  verified: true,
  missing_header: true,
  malformed_header: true,
  no_matching_key: true,
  timestamp_out_of_tolerance: true,
  unusable_header: true,
  key_not_yet_valid: true,
  rotating: true,
  keys_unavailable: true,
  missing_secret: true,
  endpoint_unconfirmed: true,
  internal_error: true,
};
/** Whether an end has a reason. */
const settleOutcomes: Readonly<Record<SettleMessage["outcome"], boolean>> = {
  done: false,
  unhandled: false,
  retry: true,
  waiting: false,
  dead: true,
  given_back: false,
  lost: false,
  store_unavailable: false,
};
const reasons: Readonly<Record<FailureReason, true>> = {
  invalid: true,
  unhandled: true,
  failed: true,
  retry_later: true,
  timed_out: true,
  store_unavailable: true,
  attempts: true,
};
const findings: Readonly<Record<DriftMessage["kind"], true>> = {
  new_type: true,
  new_field: true,
  missing_field: true,
  other_json_type: true,
  new_value: true,
};
const names = <Name extends string>(record: Readonly<Record<Name, unknown>>) => Object.keys(record) as Name[];

/** As many values as a label could have without a limit. */
const many = Array.from({ length: 100 }, (_, n) => n);
const errors = many.map((n) => Object.assign(new Error("no"), { code: `E_${n}` }));

/**
 * Publishes every message that metrics are made of, with each event type, outcome and reason, and with a hundred keys, errors, sources and
 * types that no catalog has.
 */
export function publishEveryMessage(): void {
  const ended = (stage: string) => channel(`tracing:esim-webhooks:${stage}:asyncEnd`);
  const types = [...esimCatalog.types, ...many.map((n) => `made.up.${n}`)];
  const durationMs = 1;
  for (const type of types) {
    for (const kind of names(findings)) channel("esim-webhooks:drift").publish({ type, kind });
    for (const outcome of names(outcomes))
      for (const conflict of [true, undefined])
        ended("receive").publish({
          source: "default",
          id: "1",
          key: "key:1",
          type,
          outcome,
          conflict,
          lagMs: 1,
          skewSeconds: 1,
        });
    for (const by of ["worker", "processor"]) {
      for (const error of errors)
        ended("handle").publish({ type, by, durationMs, outcome: "failed", error, waitMs: 1 });
      for (const outcome of ["processed", "discarded", "retry_later"])
        ended("handle").publish({ type, by, durationMs, outcome, waitMs: 1 });
    }
    for (const outcome of names(settleOutcomes))
      for (const reason of settleOutcomes[outcome] ? [undefined, ...names(reasons)] : [undefined])
        channel("esim-webhooks:settle").publish({ type, outcome, reason, ageMs: 1 });
  }
  for (const key of [undefined, ...many.map((n) => `key:${n}`)])
    for (const outcome of names(verifyOutcomes))
      if ((outcome === "verified") === (key !== undefined)) ended("verify").publish({ outcome, key });
  for (const n of many) ended("verify").publish({ outcome: "no_matching_key", endedKey: `ended:${n}` });
  for (const error of [undefined, ...errors]) {
    const events = [{ source: "default", id: "1", type: "esim.enabled", trace: null }];
    ended("put").publish({ durationMs, events, error });
    ended("take").publish({ durationMs, events, taken: 1, error });
    for (const stage of ["settlements", "claim", "extend", "complete"])
      ended(stage).publish({ durationMs, settlements: 1, error });
  }
  for (const n of many)
    channel("esim-webhooks:reconcile").publish({
      run: `run ${n}`,
      source: `source ${n}`,
      outcome: "complete",
      durationMs,
      ledger: {},
      recovered: { missed: 1, acknowledgedAndLost: 1 },
      refusedAt: "2026-11-20T10:00:00Z",
    });
}
