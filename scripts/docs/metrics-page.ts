import { memoryInbox } from "@esim-webhooks/core/testing";
import { instrument } from "@esim-webhooks/otel";
import type { MeterProvider } from "@opentelemetry/api";
import { between } from "./state-machine-page.ts";

/** A metric as its instrument is made. */
interface Metric {
  readonly name: string;
  readonly kind: string;
  /** Undefined: it has none. */
  readonly unit?: string;
  readonly description?: string;
}

/** The labels of each metric, in the order of the page. A test of otel compares them with those that are recorded. */
const labels: Readonly<Record<string, readonly string[]>> = {
  "esim_webhooks.deliveries": ["outcome", "type"],
  "esim_webhooks.duplicates": ["type"],
  "esim_webhooks.conflicts": ["type"],
  "esim_webhooks.delivery.lag": [],
  "esim_webhooks.verify": ["outcome", "key"],
  "esim_webhooks.clock.skew": [],
  "messaging.client.sent.messages": ["error.type"],
  "messaging.client.consumed.messages": [],
  "messaging.process.duration": ["esim_webhooks.event.type", "error.type"],
  "messaging.client.operation.duration": ["messaging.operation.type", "error.type"],
  "esim_webhooks.store.duration": ["operation"],
  "esim_webhooks.settlements": ["outcome", "reason", "type"],
  "esim_webhooks.inbox.wait": [],
  "esim_webhooks.event.age": [],
  "esim_webhooks.inbox.up": [],
  "esim_webhooks.inbox.events": ["state"],
  "esim_webhooks.inbox.oldest_due.age": [],
  "esim_webhooks.last_delivery.time": [],
  "esim_webhooks.inbox.paused.time": ["type"],
  "esim_webhooks.worker.slots": ["state"],
  "esim_webhooks.worker.abandoned": [],
  "esim_webhooks.worker.last_take.time": [],
  "esim_webhooks.reconcile.recovered": ["kind"],
  "esim_webhooks.drift": ["kind"],
  "esim_webhooks.reconcile.last_refused.time": ["source"],
  "esim_webhooks.reconcile.last_pass.time": ["source"],
};

/** The metrics of `instrument`, by a meter that only notes how instruments are made. */
export function readMetrics(): readonly Metric[] {
  const made: Metric[] = [];
  const record =
    (kind: string) =>
    (name: string, options: { unit?: string; description?: string } = {}) => {
      made.push({ name, kind, ...options });
      return { add() {}, record() {}, addCallback() {}, removeCallback() {} };
    };
  const meter = {
    createCounter: record("counter"),
    createHistogram: record("histogram"),
    createGauge: record("gauge"),
    createUpDownCounter: record("up-down counter"),
    createObservableGauge: record("gauge"),
    createObservableCounter: record("counter"),
    addBatchObservableCallback() {},
    removeBatchObservableCallback() {},
  };
  const meterProvider = { getMeter: () => meter } as unknown as MeterProvider;
  const worker = { slots: () => ({ concurrency: 1, running: 0, abandoned: 0 }), sinceLastTakeMs: () => null };
  instrument({ meterProvider, inbox: memoryInbox(), worker })();
  return made;
}

/** The page, with its table of metrics made from the instruments. */
export function metricsPage(page: string): string {
  const metrics = new Map(readMetrics().map((metric) => [metric.name, metric]));
  const names = new Set([...Object.keys(labels), ...metrics.keys()]);
  const rows = Array.from(names, (name) => {
    const { kind, unit, description } = metrics.get(name) ?? {};
    const shownLabels = labels[name]?.map((label) => `\`${label}\``).join(", ");
    const shownUnit = unit === undefined ? "—" : `\`${unit}\``;
    return `| \`${name}\` | ${kind}, ${shownUnit} | ${shownLabels} | ${description} |`;
  });
  return between(
    page,
    "metrics",
    ["| metric | kind, unit | labels | |", "|---|---|---|---|", ...rows].join("\n"),
  );
}
