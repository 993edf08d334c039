import { type Observer, observe, type StageMessage } from "@esim-webhooks/core/observe";
import type { Attributes, Histogram, Meter } from "@opentelemetry/api";
import { errorTypes, typeLabels } from "./labels.ts";
import { onRuns } from "./run-spans.ts";

export interface MetricOptions {
  readonly destination: string;
  readonly catalog?: { readonly types: readonly string[] };
}

/** Each one multiplies the series of a histogram. */
const mostErrorTypes = 10;
/** In seconds, as the messaging conventions advise. */
const operationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** In seconds, up to a week: how long events wait and live. */
const ageBuckets = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400, 604_800];

/** Records what `observe` shows. Returns a function that stops it. */
export function recordMetrics(meter: Meter, { destination, catalog }: MetricOptions): () => void {
  const typeOf = typeLabels(catalog);
  const errorType = errorTypes(mostErrorTypes);
  const seconds = (name: string, description: string, buckets = operationBuckets): Histogram =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: buckets } });
  const counter = (name: string, description: string) => meter.createCounter(name, { description });

  const processDuration = seconds("messaging.process.duration", "How long a handler ran");
  const operationDuration = seconds(
    "messaging.client.operation.duration",
    "How long a put, a take or a settle took",
  );
  const storeDuration = seconds(
    "esim_webhooks.store.duration",
    "How long a call of a store or an inbox took",
  );
  const deliveries = counter("esim_webhooks.deliveries", "Deliveries by outcome");
  const duplicates = counter("esim_webhooks.duplicates", "Deliveries of events that were known");
  const conflicts = counter("esim_webhooks.conflicts", "Deliveries with a known id and another body");
  const lag = seconds(
    "esim_webhooks.delivery.lag",
    "From when an event occurred to its delivery",
    ageBuckets,
  );
  const verified = counter("esim_webhooks.verify", "Signatures that were compared, by outcome and key");
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
  const settled = counter("esim_webhooks.settlements", "Finished attempts, by outcome and reason");
  const recovered = counter(
    "esim_webhooks.reconcile.recovered",
    "Events that a pass of reconcile has recovered",
  );
  const lastPass = meter.createGauge("esim_webhooks.reconcile.last_pass.time", {
    unit: "s",
    description: "When a pass of reconcile last completed, in seconds since the Unix epoch",
  });

  const messaging = (operation: string): Attributes => ({
    "messaging.system": "esim_webhooks",
    "messaging.destination.name": destination,
    "messaging.operation.name": operation,
  });

  /** The duration of an operation of a store: also as the conventions name it, if it is one of a queue. */
  function recordCall(operation: string, { durationMs, error }: StageMessage, conventional?: string): void {
    const failed = error !== undefined && { "error.type": errorType(error) };
    storeDuration.record(durationMs / 1000, { operation, ...failed });
    if (conventional !== undefined)
      operationDuration.record(durationMs / 1000, {
        ...messaging(conventional),
        "messaging.operation.type": conventional, // the conventions have a type of the same name for each of these
        ...failed,
      });
  }

  const observer: Observer = {
    receive({ outcome, key, type, lagMs, conflict }) {
      const label = key === undefined ? "other" : typeOf(type); // only an authentic type is worth a label
      deliveries.add(1, { outcome, type: label });
      if (outcome === "duplicate" || outcome === "already_stored") duplicates.add(1, { type: label });
      if (outcome === "conflict" || conflict) conflicts.add(1, { type: label });
      if (lagMs !== undefined) lag.record(Math.max(0, lagMs) / 1000, { type: label });
    },
    verify: ({ outcome, key = "none" }) => verified.add(1, { outcome, key }),
    put: (message) => recordCall("put", message, "send"),
    take(message) {
      if (message.taken !== 0) recordCall("take", message, "receive");
    },
    settlements: (message) => recordCall("settle", message, "settle"),
    claim: (message) => recordCall("claim", message),
    extend: (message) => recordCall("extend", message),
    complete: (message) => recordCall("complete", message),
    handle({ type, durationMs, outcome, error, waitMs }) {
      const failed = outcome === "failed" && { "error.type": errorType(error) };
      const attributes = {
        ...messaging("process"),
        "esim_webhooks.event.type": typeOf(type),
        ...failed,
      };
      processDuration.record(durationMs / 1000, attributes);
      if (waitMs !== undefined) wait.record(waitMs / 1000, { type: typeOf(type) });
    },
    settle({ outcome, reason, type, ageMs }) {
      settled.add(1, { outcome, type: typeOf(type), ...(reason && { reason }) });
      if (outcome === "done") age.record(ageMs / 1000, { type: typeOf(type) });
    },
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
      if (message.outcome === "complete") lastPass.record(Date.now() / 1000, { source: message.source });
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
