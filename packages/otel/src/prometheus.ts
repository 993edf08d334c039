import { WebhookError } from "@esim-webhooks/core";
import { type TextAnswer, type TextHandler, textHandler } from "@esim-webhooks/core/internal";
import type { MetricData, ResourceMetrics } from "@opentelemetry/sdk-metrics";
import { type InstrumentOptions, recordAllMetrics } from "./instrument.ts";
import { shared } from "./shared.ts";

/** Answers a scrape of Prometheus: with status 503 if the metrics could not be read. */
export interface MetricsHandler extends TextHandler {
  /** Stops recording. */
  close(): Promise<void>;
}

/** How long scrapes share an answer, since deliveries wait while the metrics are read and written down. */
const keptMs = 1000;
const contentType = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Records the metrics of this process, and serves them in the text format of Prometheus, with the names of the alert rules: times end in
 * `_seconds`. It makes no spans: for those, call
 * `instrument` too. Anyone who can reach this route sees event types and counts, so expose it only to Prometheus. An inbox that does not
 * answer within 2 s has `esim_webhooks_inbox_up` 0 and no other gauges, and the other metrics are served. Scrapes share the metrics that are
 * being read, and for a second after.
 *
 * Rejects with `invalid_option` unless `@opentelemetry/sdk-metrics` and `@opentelemetry/exporter-prometheus` are installed.
 */
export async function metricsHandler(
  options: Omit<InstrumentOptions, "tracerProvider" | "meterProvider"> = {},
): Promise<MetricsHandler> {
  const { AggregationTemporality, InstrumentType, MeterProvider } = await optional(
    () => import("@opentelemetry/sdk-metrics"),
  );
  const { PrometheusExporter, PrometheusSerializer } = await optional(
    () => import("@opentelemetry/exporter-prometheus"),
  );
  const exporter = Object.assign(new PrometheusExporter({ preventServerStart: true }), {
    // a gauge that is not observed is left out, instead of the last value that it had
    selectAggregationTemporality: (instrument: unknown) =>
      instrument === InstrumentType.OBSERVABLE_GAUGE
        ? AggregationTemporality.DELTA
        : AggregationTemporality.CUMULATIVE,
  });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const stop = recordAllMetrics(meterProvider, options);
  const serializer = new PrometheusSerializer("", false, undefined, true, true);

  /** The text, and the status: 503 if nothing could be read. */
  async function scrape(): Promise<TextAnswer> {
    try {
      const { resourceMetrics, errors } = await exporter.collect();
      const text = serializer.serialize(withUnits(resourceMetrics));
      return {
        status: 200,
        text: errors.length === 0 ? text : `${text}# ${errors.length} metrics could not be read\n`,
      };
    } catch {
      return { status: 503, text: "# The metrics could not be read\n" };
    }
  }

  return Object.assign(textHandler(contentType, shared(scrape, keptMs)), {
    async close() {
      stop();
      await meterProvider.shutdown();
    },
  });
}

/** Appends the unit to the names of times, as a collector and an OTLP backend do: an exporter alone appends none. */
function withUnits(metrics: ResourceMetrics): ResourceMetrics {
  const named = ({ descriptor, ...data }: MetricData): MetricData =>
    ({
      ...data,
      descriptor:
        descriptor.unit === "s" ? { ...descriptor, name: `${descriptor.name}.seconds` } : descriptor,
    }) as MetricData;
  return {
    ...metrics,
    scopeMetrics: metrics.scopeMetrics.map((each) => ({ ...each, metrics: each.metrics.map(named) })),
  };
}

async function optional<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw new WebhookError(
      "invalid_option",
      "metricsHandler needs two packages that are not installed with @esim-webhooks/otel.",
      "Run: npm install @opentelemetry/sdk-metrics @opentelemetry/exporter-prometheus",
      { cause },
    );
  }
}
