import { type InstrumentOptions, instrument } from "@esim-webhooks/otel";
import { context, SpanKind } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { expect, onTestFinished } from "vitest";

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

/** Instruments this process until the test ends. Spans and metrics stay in memory. */
export function instrumented(options: InstrumentOptions = {}, { isSampled = true } = {}) {
  const spans = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({
    sampler: isSampled ? new AlwaysOnSampler() : new AlwaysOffSampler(),
    spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
  });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 3_600_000,
    exportTimeoutMillis: 3_000_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const stop = instrument({ ...options, tracerProvider, meterProvider });
  onTestFinished(async () => {
    stop();
    await meterProvider.shutdown();
  });
  const tracer = tracerProvider.getTracer("test");
  async function collect() {
    await reader.forceFlush();
    return (
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? []
    );
  }
  return {
    spans: () => spans.getFinishedSpans(),
    /** Runs `work` as an HTTP server's span would. */
    inServerSpan: <T>(work: () => Promise<T>): Promise<T> =>
      tracer.startActiveSpan("POST /webhooks", { kind: SpanKind.SERVER }, (span) =>
        work().finally(() => span.end()),
      ),
    inSpan: <T>(name: string, work: () => T): T =>
      tracer.startActiveSpan(name, (span) => {
        try {
          return work();
        } finally {
          span.end();
        }
      }),
    /** The values of a metric, without the zeros of a counter: attributes as text → value; of a histogram, how many values it has. */
    async metric(name: string): Promise<Record<string, number>> {
      const found = (await collect()).find(({ descriptor }) => descriptor.name === name);
      const isCounter = found?.dataPointType === DataPointType.SUM;
      const points = (found?.dataPoints ?? []).filter(({ value }) => !(isCounter && value === 0));
      return Object.fromEntries(
        points.map(({ attributes, value }) => [
          Object.entries(attributes)
            .map(([key, one]) => `${key}=${one}`)
            .sort()
            .join(" "),
          typeof value === "number" ? value : (value as { count: number }).count,
        ]),
      );
    },
    /** Each metric that has a value, as the documentation has it. */
    async instruments(): Promise<{ name: string; kind: string; unit: string; labels: string[] }[]> {
      return (await collect()).map(({ descriptor: { name, unit }, dataPointType, dataPoints }) => ({
        name,
        kind:
          { [DataPointType.HISTOGRAM]: "histogram", [DataPointType.SUM]: "counter" }[
            dataPointType as number
          ] ?? "gauge",
        unit,
        labels: [...new Set(dataPoints.flatMap(({ attributes }) => Object.keys(attributes)))].sort(),
      }));
    },
    async everything(): Promise<string> {
      await reader.forceFlush();
      return JSON.stringify([
        exporter.getMetrics(),
        spans.getFinishedSpans().map(({ name, attributes, events, status, links }) => ({
          name,
          attributes,
          events,
          status,
          links,
        })),
      ]);
    },
  };
}

export function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const found = spans.find((span) => span.name === name);
  expect(found, name).toBeDefined();
  return found as ReadableSpan;
}
