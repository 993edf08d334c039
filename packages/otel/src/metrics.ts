import { type Observer, observe, type StageMessage } from "@esim-webhooks/core/observe";
import type { Attributes, Meter } from "@opentelemetry/api";
import { createCounters } from "./counts.ts";
import type { OwnTimes } from "./gauges.ts";
import { createInstruments } from "./instruments.ts";
import { errorTypes, firstValues, typeLabels } from "./labels.ts";
import { onRuns } from "./run-spans.ts";
import { startAtZero } from "./zeros.ts";

export interface MetricOptions {
  readonly destination: string;
  readonly catalog?: { readonly types: readonly string[] };
}

/** How many error types are labels: each is a histogram of its own. */
const mostErrorTypes = 10;
const mostOperationErrorTypes = 3; // each is a series for each of three operations; a store that does not answer causes only one
/** How many keys are labels, old ones included: a process may live through many rotations. */
const mostKeys = 20;

const ofClaim = { operation: "claim" };
const ofExtend = { operation: "extend" };
const ofComplete = { operation: "complete" };

/** Records what `observe` shows, and notes the times in `own`. Returns a function that stops it. */
export function recordMetrics(
  meter: Meter,
  { destination, catalog }: MetricOptions,
  own: OwnTimes,
): () => void {
  const typeOf = typeLabels(catalog);
  const handlerError = errorTypes(mostErrorTypes);
  const operationError = errorTypes(mostOperationErrorTypes);
  const keyOf = firstValues(mostKeys, "other");
  const counters = createCounters(meter);
  const instruments = createInstruments(meter, counters);
  startAtZero(instruments, typeOf, catalog);

  const messaging = (operation: string, more: Attributes = {}): Attributes => ({
    "messaging.system": "esim_webhooks",
    "messaging.destination.name": destination,
    "messaging.operation.name": operation,
    ...more,
  });
  // the conventions have a type of the same name for each of these operations
  const operationOf = onceEach((name) => messaging(name, { "messaging.operation.type": name }));
  const processOf = onceEach((type) => messaging("process", { "esim_webhooks.event.type": type }));
  const failedOf = onceEach((error) => messaging("process", { "error.type": error }));
  const send = messaging("send");
  const receive = messaging("receive");
  const process = messaging("process");

  /** Records the duration of a call of an inbox, under our name and under that of the conventions. */
  function recordOperation(
    operation: string,
    conventional: string,
    { durationMs, error }: StageMessage,
  ): void {
    instruments.storeDuration.record(durationMs / 1000, { operation });
    const attributes = operationOf(conventional);
    instruments.operationDuration.record(
      durationMs / 1000,
      error === undefined ? attributes : { ...attributes, "error.type": operationError(error) },
    );
  }

  const observer: Observer = {
    receive({ outcome, key, type, lagMs, skewSeconds, conflict }) {
      const label = key === undefined ? "other" : typeOf(type); // only an authentic type is worth a label
      instruments.deliveries.add(1, { outcome, type: label });
      if (outcome === "duplicate" || outcome === "already_stored")
        instruments.duplicates.add(1, { type: label });
      if (outcome === "conflict" || conflict) instruments.conflicts.add(1, { type: label });
      if (lagMs !== undefined) instruments.lag.record(Math.max(0, lagMs) / 1000);
      if (skewSeconds !== undefined) instruments.skew.record(skewSeconds);
      if (key !== undefined && outcome !== "timestamp_out_of_tolerance") own.lastDelivery = Date.now(); // such a delivery may be a replay
    },
    verify({ outcome, key, endedKey }) {
      const known = key ?? endedKey;
      instruments.verified.add(1, {
        outcome: endedKey === undefined ? outcome : "ended_key",
        key: known === undefined ? "none" : keyOf(known),
      });
    },
    put(message) {
      const { events, error } = message;
      recordOperation("put", "send", message);
      instruments.sent.add(
        events.length,
        error === undefined ? send : { ...send, "error.type": operationError(error) },
      );
    },
    take(message) {
      const { taken = 0, error } = message;
      if (taken === 0 && error === undefined) return; // a poll that found nothing
      recordOperation("take", "receive", message);
      if (taken > 0) instruments.consumed.add(taken, receive);
    },
    settlements: (message) => recordOperation("settle", "settle", message),
    claim: ({ durationMs }) => instruments.storeDuration.record(durationMs / 1000, ofClaim),
    extend: ({ durationMs }) => instruments.storeDuration.record(durationMs / 1000, ofExtend),
    complete: ({ durationMs }) => instruments.storeDuration.record(durationMs / 1000, ofComplete),
    handle({ type, by, durationMs, outcome, error, waitMs }) {
      // not both labels: event types × error types would be thousands of series
      const attributes = outcome === "failed" ? failedOf(handlerError(error)) : processOf(typeOf(type));
      instruments.processDuration.record(durationMs / 1000, attributes);
      if (by === "processor") instruments.consumed.add(1, process); // a worker's events were counted when it took them
      if (waitMs !== undefined) instruments.wait.record(waitMs / 1000);
    },
    settle({ outcome, reason, type, ageMs }) {
      instruments.settled.add(1, { outcome, type: typeOf(type), ...(reason && { reason }) });
      if (outcome === "done") instruments.age.record(ageMs / 1000);
    },
    drift: ({ kind }) => instruments.drift.add(1, { kind }),
  };

  const stops = [
    observe(observer),
    onRuns("reconcile", (message) => {
      if (message.outcome === "running" || message.dryRun) return;
      const { recovered: counts = {}, refusedAt } = message as {
        readonly recovered?: Readonly<Record<string, unknown>>;
        readonly refusedAt?: string | null;
      };
      for (const [kind, count] of Object.entries(counts))
        if (typeof count === "number") instruments.recovered.add(count, { kind });
      if (refusedAt) own.refusals.set(message.source, Date.parse(refusedAt));
      if (message.outcome === "complete") own.passes.set(message.source, Date.now());
    }),
    counters.stop,
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Returns a function that calls `make` only once for each key, so that few deliveries make attributes. */
function onceEach(make: (key: string) => Attributes): (key: string) => Attributes {
  const made = new Map<string, Attributes>();
  return (key) => {
    let attributes = made.get(key);
    if (attributes === undefined) {
      attributes = make(key);
      made.set(key, attributes);
    }
    return attributes;
  };
}
