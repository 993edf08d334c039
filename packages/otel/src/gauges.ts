import type { InboxAdmin, Worker } from "@esim-webhooks/core";
import type { BatchObservableCallback, Meter } from "@opentelemetry/api";

export interface GaugeSources {
  inbox?: Pick<InboxAdmin, "gauges">;
  worker?: Pick<Worker, "slots" | "sinceLastTakeMs">;
}

/** What waits in the inbox, and what the worker does, asked for when metrics are collected. */
export function recordGauges(meter: Meter, { inbox, worker }: GaugeSources): () => void {
  const stops: (() => void)[] = [];

  if (inbox !== undefined) {
    const events = meter.createObservableGauge("esim_webhooks.inbox.events", {
      description: "Events in the inbox by state; a count stops at 10,001",
    });
    const oldestDue = meter.createObservableGauge("esim_webhooks.inbox.oldest_due.age", {
      unit: "s",
      description: "For how long the oldest due event has waited; 0 if none is due",
    });
    const lastDelivery = meter.createObservableGauge("esim_webhooks.last_delivery.time", {
      unit: "s",
      description: "When the last delivery was received, in seconds since the Unix epoch",
    });
    const up = meter.createObservableGauge("esim_webhooks.inbox.up", {
      description: "1 if the inbox has answered; else 0, and its other gauges are those of its last answer",
    });
    const observables = [up, events, oldestDue, lastDelivery];
    const callback: BatchObservableCallback = async (result) => {
      const gauges = await inbox.gauges().catch(() => undefined);
      result.observe(up, gauges === undefined ? 0 : 1);
      if (gauges === undefined) return;
      const { counts, oldestReadyMs, lastReceivedAt } = gauges;
      for (const [state, count] of Object.entries(counts)) result.observe(events, count, { state });
      result.observe(oldestDue, (oldestReadyMs ?? 0) / 1000);
      if (lastReceivedAt !== null) result.observe(lastDelivery, lastReceivedAt.getTime() / 1000);
    };
    meter.addBatchObservableCallback(callback, observables);
    stops.push(() => meter.removeBatchObservableCallback(callback, observables));
  }

  if (worker !== undefined) {
    const slots = meter.createObservableGauge("esim_webhooks.worker.slots", {
      description: "Places for handlers: used, free, or taken by an abandoned handler",
    });
    const lastTake = meter.createObservableGauge("esim_webhooks.worker.last_take.time", {
      unit: "s",
      description: "When the inbox last answered a take, in seconds since the Unix epoch",
    });
    const callback: BatchObservableCallback = (result) => {
      const { concurrency, running, abandoned } = worker.slots();
      result.observe(slots, running, { state: "used" });
      result.observe(slots, Math.max(0, concurrency - running - abandoned), { state: "free" });
      result.observe(slots, abandoned, { state: "abandoned" });
      const sinceMs = worker.sinceLastTakeMs();
      if (sinceMs !== null) result.observe(lastTake, (Date.now() - sinceMs) / 1000);
    };
    meter.addBatchObservableCallback(callback, [slots, lastTake]);
    stops.push(() => meter.removeBatchObservableCallback(callback, [slots, lastTake]));
  }

  return () => {
    for (const stop of stops) stop();
  };
}
