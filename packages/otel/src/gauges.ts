import type { InboxAdmin, Worker } from "@esim-webhooks/core";
import type { BatchObservableCallback, Meter } from "@opentelemetry/api";

export interface GaugeSources {
  inbox?: Pick<InboxAdmin, "gauges">;
  worker?: Pick<Worker, "slots" | "sinceLastTakeMs">;
}

/** A scrape has 10 s by default, and one that fails shows nothing of the other metrics either. */
const gaugesWithinMs = 2000;

/** What waits in the inbox, and what the worker does, asked for when metrics are collected. */
export function recordGauges(meter: Meter, { inbox, worker }: GaugeSources): () => void {
  const stops: (() => void)[] = [];

  if (inbox !== undefined) {
    const ask = askWithin(gaugesWithinMs, () => inbox.gauges());
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
      const gauges = await ask();
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
      description: "Places for handlers: used or free; none is free while the worker takes nothing",
    });
    const abandonedHandlers = meter.createObservableGauge("esim_webhooks.worker.abandoned", {
      description: "Handlers that were abandoned at their time limit and still run",
    });
    const lastTake = meter.createObservableGauge("esim_webhooks.worker.last_take.time", {
      unit: "s",
      description:
        "When the inbox last answered a take, or on BullMQ when the last job began, in seconds since the Unix epoch",
    });
    const callback: BatchObservableCallback = (result) => {
      const { concurrency, running, abandoned } = worker.slots();
      // an abandoned handler holds no slot, but a worker with as many of them as slots takes nothing
      const free = abandoned >= concurrency ? 0 : Math.max(0, concurrency - running);
      result.observe(slots, running, { state: "used" });
      result.observe(slots, free, { state: "free" });
      result.observe(abandonedHandlers, abandoned);
      const sinceMs = worker.sinceLastTakeMs();
      if (sinceMs !== null) result.observe(lastTake, (Date.now() - sinceMs) / 1000);
    };
    const observables = [slots, abandonedHandlers, lastTake];
    meter.addBatchObservableCallback(callback, observables);
    stops.push(() => meter.removeBatchObservableCallback(callback, observables));
  }

  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * Returns a function that calls `ask`, and resolves to its answer, or to undefined if it fails or takes longer than `ms`. While a call is
 * pending, no other one is made.
 */
function askWithin<Answer>(ms: number, ask: () => Promise<Answer>): () => Promise<Answer | undefined> {
  let pending: Promise<Answer | undefined> | undefined;

  async function call(): Promise<Answer | undefined> {
    try {
      return await ask();
    } catch {
      return undefined;
    } finally {
      pending = undefined;
    }
  }

  return async () => {
    pending ??= call();
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, ms, undefined);
    const answer = await Promise.race([pending, late]);
    clearTimeout(timer);
    return answer;
  };
}
