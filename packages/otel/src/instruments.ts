import type { Gauge, Histogram, Meter } from "@opentelemetry/api";
import type { Counter, Counters } from "./counts.ts";

/** In seconds, as the messaging conventions advise. */
const operationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** In seconds, up to a week: how long events wait and live. */
const ageBuckets = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400, 604_800];

type Durations = "processDuration" | "operationDuration" | "storeDuration" | "lag" | "wait" | "age";
type Counts =
  | "sent"
  | "consumed"
  | "deliveries"
  | "duplicates"
  | "conflicts"
  | "verified"
  | "settled"
  | "recovered"
  | "drift";

/** The instruments that `recordMetrics` writes to. Durations are in seconds. */
type Instruments = Readonly<Record<Durations, Histogram> & Record<Counts, Counter>> & {
  readonly skew: Gauge;
};

/** Makes the instruments of what `observe` shows: their names, units and descriptions. */
export function createInstruments(meter: Meter, counters: Counters): Instruments {
  const counter = counters.create;
  const seconds = (name: string, description: string, buckets = operationBuckets): Histogram =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: buckets } });

  return {
    processDuration: seconds(
      "messaging.process.duration",
      "How long a handler ran. One that failed has the error's type in place of the event's.",
    ),
    operationDuration: seconds(
      "messaging.client.operation.duration",
      "How long a call of an inbox took: send, receive, settle. Not a take that finds nothing.",
    ),
    sent: counter(
      "messaging.client.sent.messages",
      "{message}",
      "Events that were put into an inbox, known ones included.",
    ),
    consumed: counter(
      "messaging.client.consumed.messages",
      "{message}",
      "Events that a worker took (`receive`), or that a processor passed to a handler (`process`).",
    ),
    storeDuration: seconds(
      "esim_webhooks.store.duration",
      "How long a call of an inbox took (put, take, settle), or of a dedupe store (claim, extend, complete).",
    ),
    deliveries: counter(
      "esim_webhooks.deliveries",
      "{delivery}",
      "Deliveries. The type of one that is not authentic is `other`.",
    ),
    duplicates: counter(
      "esim_webhooks.duplicates",
      "{delivery}",
      "Deliveries whose id was known, with the same body.",
    ),
    conflicts: counter(
      "esim_webhooks.conflicts",
      "{delivery}",
      "Deliveries whose id was known, with another body.",
    ),
    lag: seconds("esim_webhooks.delivery.lag", "From when an event occurred to its delivery.", ageBuckets),
    verified: counter(
      "esim_webhooks.verify",
      "{signature}",
      "Signatures that were compared, by the fingerprint of the key that matched, or `none`. `ended_key`: a key whose window has ended made it within `toleranceSeconds`, so the delivery was refused.",
    ),
    skew: meter.createGauge("esim_webhooks.clock.skew", {
      unit: "s",
      description:
        "How far the timestamp of the last authentic delivery was ahead of this machine's clock; below 0 if it was behind. Not of an old one that is replayed.",
    }),
    wait: seconds(
      "esim_webhooks.inbox.wait",
      "For how long an event was due before a worker took it.",
      ageBuckets,
    ),
    age: seconds("esim_webhooks.event.age", "From when an event was accepted until it was done.", ageBuckets),
    settled: counter(
      "esim_webhooks.settlements",
      "{attempt}",
      "Attempts that ended, by the outcomes of `settle`; with a reason if one failed.",
    ),
    recovered: counter("esim_webhooks.reconcile.recovered", "{event}", "Events that passes have recovered."),
    drift: counter(
      "esim_webhooks.drift",
      "{finding}",
      "Ways in which events have begun to differ from the catalog.",
    ),
  };
}
