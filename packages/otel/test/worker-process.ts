// A worker with OpenTelemetry's SDK: `worker-process.ts <engine> <file or URL> <name>`. At SIGTERM it stops, and prints its spans and
// metrics as JSON. At its first attempt, its handler throws an error that quotes the event.
import { instrument } from "@esim-webhooks/otel";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { type Engine, openInbox } from "./open-inbox.ts";
import { plain } from "./plain-span.ts";

const [engine, where = "", name = ""] = process.argv.slice(2);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const exporter = new InMemorySpanExporter();
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
trace.setGlobalTracerProvider(tracerProvider);
const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({
  exporter: metricExporter,
  exportIntervalMillis: 3_600_000,
});

const { inbox, worker: createWorker } = await openInbox(engine as Engine, where, name);
const worker = createWorker({
  "*": async ({ data }, { attempt }) => {
    await trace.getTracer("app").startActiveSpan("own query", async (span) => {
      await null;
      span.end();
    });
    if (attempt === 1) throw new RangeError(`no luck with ${JSON.stringify(data)}`);
  },
});
instrument({ inbox, worker, tracerProvider, meterProvider: new MeterProvider({ readers: [reader] }) });

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
// a span that is current where a worker is started has nothing to do with the events
const running = trace
  .getTracer("app")
  .startActiveSpan("start", (span) => worker.run({ signal: stopping.signal }).finally(() => span.end()));
console.log("working");
await running;
await reader.forceFlush();
console.log(`spans ${JSON.stringify(exporter.getFinishedSpans().map(plain))}`);
console.log(`metrics ${JSON.stringify(metricExporter.getMetrics())}`);
await inbox.close();
process.exit(0);
