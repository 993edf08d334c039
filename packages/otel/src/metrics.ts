import { type Observer, observe, type StageMessage } from "@esim-webhooks/core/observe";
import type { Attributes, Histogram, Meter } from "@opentelemetry/api";
import { createCounters } from "./counts.ts";
import type { OwnTimes } from "./gauges.ts";
import { errorTypes, firstValues, typeLabels } from "./labels.ts";
import { onRuns } from "./run-spans.ts";

export interface MetricOptions {
  readonly destination: string;
  readonly catalog?: { readonly types: readonly string[] };
}

/** Each one is a histogram of its own. */
const mostErrorTypes = 10;
const mostOperationErrorTypes = 3; // for each of three operations; a store that does not answer has one
/** Old keys are among them: a process may live through many rotations. */
const mostKeys = 20;
/** In seconds, as the messaging conventions advise. */
const operationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** In seconds, up to a week: how long events wait and live. */
const ageBuckets = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400, 604_800];

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
  const counter = counters.create;
  const seconds = (name: string, description: string, buckets = operationBuckets): Histogram =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: buckets } });

  const processDuration = seconds("messaging.process.duration", "How long a handler ran");
  const operationDuration = seconds(
    "messaging.client.operation.duration",
    "How long a put, a take or a settle took",
  );
  const sent = counter("messaging.client.sent.messages", "{message}", "Events that were put into an inbox");
  const consumed = counter(
    "messaging.client.consumed.messages",
    "{message}",
    "Events that a worker took, or that a processor passed to a handler",
  );
  const storeDuration = seconds(
    "esim_webhooks.store.duration",
    "How long a call of a store or an inbox took",
  );
  const deliveries = counter("esim_webhooks.deliveries", "{delivery}", "Deliveries by outcome");
  const duplicates = counter(
    "esim_webhooks.duplicates",
    "{delivery}",
    "Deliveries whose id was known, with the same body",
  );
  const conflicts = counter(
    "esim_webhooks.conflicts",
    "{delivery}",
    "Deliveries whose id was known, with another body",
  );
  const lag = seconds(
    "esim_webhooks.delivery.lag",
    "From when an event occurred to its delivery",
    ageBuckets,
  );
  const verified = counter(
    "esim_webhooks.verify",
    "{signature}",
    "Signatures that were compared, by outcome and key",
  );
  const skew = meter.createGauge("esim_webhooks.clock.skew", {
    unit: "s",
    description: "How far the timestamp of the last authentic delivery was ahead of this machine's clock",
  });
  const wait = seconds(
    "esim_webhooks.inbox.wait",
    "For how long an event was due before a worker took it",
    ageBuckets,
  );
  const age = seconds(
    "esim_webhooks.event.age",
    "From when an event was accepted until it was done",
    ageBuckets,
  );
  const settled = counter(
    "esim_webhooks.settlements",
    "{attempt}",
    "Attempts that have ended, by outcome and reason",
  );
  const recovered = counter(
    "esim_webhooks.reconcile.recovered",
    "{event}",
    "Events that a pass of reconcile has recovered",
  );
  const drift = counter(
    "esim_webhooks.drift",
    "{finding}",
    "Ways in which events have begun to differ from the catalog",
  );

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

  /** The duration of a call of an inbox: also as the conventions name it. */
  function recordOperation(
    operation: string,
    conventional: string,
    { durationMs, error }: StageMessage,
  ): void {
    storeDuration.record(durationMs / 1000, { operation });
    const attributes = operationOf(conventional);
    operationDuration.record(
      durationMs / 1000,
      error === undefined ? attributes : { ...attributes, "error.type": operationError(error) },
    );
  }

  const observer: Observer = {
    receive({ outcome, key, type, lagMs, skewSeconds, conflict }) {
      const label = key === undefined ? "other" : typeOf(type); // only an authentic type is worth a label
      deliveries.add(1, { outcome, type: label });
      if (outcome === "duplicate" || outcome === "already_stored") duplicates.add(1, { type: label });
      if (outcome === "conflict" || conflict) conflicts.add(1, { type: label });
      if (lagMs !== undefined) lag.record(Math.max(0, lagMs) / 1000);
      if (skewSeconds !== undefined) skew.record(skewSeconds);
      if (key !== undefined && outcome !== "timestamp_out_of_tolerance") own.lastDelivery = Date.now(); // that may be a replay
    },
    verify({ outcome, key, endedKey }) {
      const known = key ?? endedKey;
      verified.add(1, {
        outcome: endedKey === undefined ? outcome : "ended_key",
        key: known === undefined ? "none" : keyOf(known),
      });
    },
    put(message) {
      const { events, error } = message;
      recordOperation("put", "send", message);
      sent.add(events.length, error === undefined ? send : { ...send, "error.type": operationError(error) });
    },
    take(message) {
      const { taken = 0, error } = message;
      if (taken === 0 && error === undefined) return; // a poll that found nothing
      recordOperation("take", "receive", message);
      if (taken > 0) consumed.add(taken, receive);
    },
    settlements: (message) => recordOperation("settle", "settle", message),
    claim: ({ durationMs }) => storeDuration.record(durationMs / 1000, ofClaim),
    extend: ({ durationMs }) => storeDuration.record(durationMs / 1000, ofExtend),
    complete: ({ durationMs }) => storeDuration.record(durationMs / 1000, ofComplete),
    handle({ type, by, durationMs, outcome, error, waitMs }) {
      // not both labels: event types × error types would be thousands of series
      const attributes = outcome === "failed" ? failedOf(handlerError(error)) : processOf(typeOf(type));
      processDuration.record(durationMs / 1000, attributes);
      if (by === "processor") consumed.add(1, process); // what a worker has was counted when it was taken
      if (waitMs !== undefined) wait.record(waitMs / 1000);
    },
    settle({ outcome, reason, type, ageMs }) {
      settled.add(1, { outcome, type: typeOf(type), ...(reason && { reason }) });
      if (outcome === "done") age.record(ageMs / 1000);
    },
    drift: ({ kind }) => drift.add(1, { kind }),
  };

  const stops = [
    observe(observer),
    onRuns("reconcile", (message) => {
      if (message.outcome === "running" || message.dryRun) return;
      const { recovered: counts = {} } = message as {
        readonly recovered?: Readonly<Record<string, unknown>>;
      };
      for (const [kind, count] of Object.entries(counts))
        if (typeof count === "number") recovered.add(count, { kind });
      if (message.outcome === "complete") own.passes.set(message.source, Date.now());
    }),
    counters.stop,
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Calls `make` once for each key: the attributes of a delivery are made before it comes. */
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
