import type { InboxAdmin, Lifecycle, RunNote, Worker } from "@esim-webhooks/core";
import { askInTime } from "@esim-webhooks/core/internal";
import type { BatchObservableCallback, Meter, ObservableCallback } from "@opentelemetry/api";
import { firstValues, typeLabels } from "./labels.ts";

export interface GaugeSources {
  inbox?: Pick<InboxAdmin, "gauges" | "paused" | "runs"> & Pick<Lifecycle, "ready">;
  catalog?: { readonly types: readonly string[] };
  worker?: Pick<Worker, "slots" | "sinceLastTakeMs">;
}

/** The times that this process has seen, in ms since the Unix epoch. */
export interface OwnTimes {
  /** When this process last completed a pass of reconcile, by source. */
  readonly passes: Map<string, number>;
  /** When the service last got a 401, as its listing shows it, by source. */
  readonly refusals: Map<string, number>;
  /** When this process last received an authentic delivery. */
  lastDelivery?: number;
}

const mostSources = 20;

/** How long the inbox may take. A scrape may take 10 s by default, and if it fails, the other metrics are missing too. */
const gaugesWithinMs = 2000;

/** Records gauges of the inbox, the worker and reconcile, read when metrics are collected. */
export function recordGauges(
  meter: Meter,
  { inbox, worker, catalog }: GaugeSources,
  own: OwnTimes,
): () => void {
  const stops: (() => void)[] = [];
  const ask =
    inbox &&
    askInTime(
      () =>
        Promise.all([
          inbox.gauges(),
          Promise.resolve(inbox.paused()).catch(() => []), // the age of the oldest due event matters more
          Promise.resolve(inbox.runs()).catch(() => []),
        ]),
      {
        withinMs: gaugesWithinMs,
        late: () => new Error("late"),
      },
    );

  const askReady =
    inbox && askInTime(() => inbox.ready?.(), { withinMs: gaugesWithinMs, late: () => new Error("late") });

  stops.push(recordPasses(meter, own, async () => (await ask?.().catch(() => undefined))?.[2] ?? []));

  const lastDelivery = meter.createObservableGauge("esim_webhooks.last_delivery.time", {
    unit: "s",
    description:
      "When the last delivery was received, in seconds since 1970: into the inbox, or without one, by this process.",
  });
  if (ask === undefined) {
    const observeOwn: ObservableCallback = (result) => {
      if (own.lastDelivery !== undefined) result.observe(own.lastDelivery / 1000);
    };
    lastDelivery.addCallback(observeOwn);
    stops.push(() => lastDelivery.removeCallback(observeOwn));
  } else {
    const typeOf = typeLabels(catalog);
    const events = meter.createObservableGauge("esim_webhooks.inbox.events", {
      unit: "{event}",
      description: "Events in the inbox by state, as `gauges()` counts them: a count may stop at 10,001.",
    });
    const oldestDue = meter.createObservableGauge("esim_webhooks.inbox.oldest_due.age", {
      unit: "s",
      description:
        "For how long a worker could have taken the oldest due event, or 0 if none is due. Alert on this one.",
    });
    const pausedSince = meter.createObservableGauge("esim_webhooks.inbox.paused.time", {
      unit: "s",
      description: "Since when a type is paused, in seconds since 1970; `all` for all types.",
    });
    const up = meter.createObservableGauge("esim_webhooks.inbox.up", {
      description:
        "1 if the inbox accepts a small write, as `readinessHandler` asks it. If it does not answer at all, its other gauges are not observed.",
    });
    const observables = [up, events, oldestDue, lastDelivery, pausedSince];
    const callback: BatchObservableCallback = async (result) => {
      try {
        const isReady = askReady?.().then(
          () => true,
          () => false,
        );
        const [{ counts, oldestReadyMs, lastReceivedAt }, pauses] = await ask();
        const lastMs = lastReceivedAt?.getTime();
        const pausedAt = pauses.map(({ type, since }) => ({ type, seconds: since.getTime() / 1000 }));
        for (const [state, count] of Object.entries(counts)) result.observe(events, count, { state });
        result.observe(oldestDue, (oldestReadyMs ?? 0) / 1000);
        if (lastMs !== undefined) result.observe(lastDelivery, lastMs / 1000);
        for (const { type, seconds } of pausedAt)
          result.observe(pausedSince, seconds, { type: type === null ? "all" : typeOf(type) });
        result.observe(up, (await isReady) ? 1 : 0);
      } catch {
        result.observe(up, 0); // an answer that cannot be read counts as none
      }
    };
    meter.addBatchObservableCallback(callback, observables);
    stops.push(() => meter.removeBatchObservableCallback(callback, observables));
  }

  if (worker !== undefined) {
    const slots = meter.createObservableGauge("esim_webhooks.worker.slots", {
      unit: "{slot}",
      description: "Places for handlers: `used`, `free`. None is free while as many abandoned handlers run.",
    });
    const abandonedHandlers = meter.createObservableGauge("esim_webhooks.worker.abandoned", {
      unit: "{handler}",
      description:
        "Handlers that were abandoned at their time limit and still run. They hold no slot. A worker takes nothing while there are as many as slots, so there are fewer than twice as many.",
    });
    const lastTake = meter.createObservableGauge("esim_webhooks.worker.last_take.time", {
      unit: "s",
      description:
        "When the inbox last answered a take, in seconds since 1970. On BullMQ: when the last job began. Before the first: since when the worker is measured.",
    });
    const measuredSince = Date.now();
    const callback: BatchObservableCallback = (result) => {
      const { concurrency, running, abandoned } = worker.slots();
      // an abandoned handler holds no slot, but a worker with as many of them as slots takes nothing
      const free = abandoned >= concurrency ? 0 : Math.max(0, concurrency - running);
      result.observe(slots, running, { state: "used" });
      result.observe(slots, free, { state: "free" });
      result.observe(abandonedHandlers, abandoned);
      const sinceMs = worker.sinceLastTakeMs();
      // a worker whose first take never ends has a time too, so that an alert sees how old it is
      result.observe(lastTake, (sinceMs === null ? measuredSince : Date.now() - sinceMs) / 1000);
    };
    const observables = [slots, abandonedHandlers, lastTake];
    meter.addBatchObservableCallback(callback, observables);
    stops.push(() => meter.removeBatchObservableCallback(callback, observables));
  }

  return () => {
    for (const stop of stops) stop();
  };
}

/** Records when passes of reconcile completed, and when the service got a 401, by source: as this process and the inbox have noted. */
function recordPasses(meter: Meter, own: OwnTimes, runs: () => Promise<readonly RunNote[]>): () => void {
  const sourceOf = firstValues(mostSources, "other");
  function newestBySource(times: readonly (readonly [string, number])[]): ReadonlyMap<string, number> {
    const newest = new Map<string, number>();
    for (const [source, atMs] of times) {
      const label = sourceOf(source);
      newest.set(label, Math.max(atMs, newest.get(label) ?? 0));
    }
    return newest;
  }
  const lastPass = meter.createObservableGauge("esim_webhooks.reconcile.last_pass.time", {
    unit: "s",
    description:
      "When a pass last completed, in seconds since 1970: in this process, or by the notes of the inbox.",
  });
  const lastRefused = meter.createObservableGauge("esim_webhooks.reconcile.last_refused.time", {
    unit: "s",
    description:
      "When the service last got a 401, by the listing that a pass has read, in seconds since 1970. Absent until then.",
  });
  const observePasses: BatchObservableCallback = async (result) => {
    const passes = (await runs()).filter(({ kind }) => kind === "reconcile");
    const completed = passes.filter(({ outcome }) => outcome === "complete");
    const endedAt = completed.map(({ source, endedAt }) => [source, endedAt.getTime()] as const);
    const refusedAt = passes.flatMap(({ source, refusedAt }) =>
      refusedAt === undefined ? [] : [[source, refusedAt.getTime()] as const],
    );
    for (const [gauge, times] of [
      [lastPass, [...own.passes, ...endedAt]],
      [lastRefused, [...own.refusals, ...refusedAt]],
    ] as const)
      for (const [source, atMs] of newestBySource(times)) result.observe(gauge, atMs / 1000, { source });
  };
  meter.addBatchObservableCallback(observePasses, [lastPass, lastRefused]);
  return () => meter.removeBatchObservableCallback(observePasses, [lastPass, lastRefused]);
}
