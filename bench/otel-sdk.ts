// The set-up of the bench of @esim-webhooks/otel: OpenTelemetry's SDK, whose exporters discard everything, and a bare peer.
import type { InstrumentOptions } from "@esim-webhooks/otel";
import { context, ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

class NoReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

const exporter = {
  export: (_: unknown, done: (result: { code: 0 }) => void) => done({ code: 0 }),
  shutdown: async () => {},
};

/** The SDK with the span processor of production. */
export function sdkOptions(
  spans: "sampled" | "unsampled",
): Required<Pick<InstrumentOptions, "tracerProvider" | "meterProvider">> {
  return {
    tracerProvider: new TracerProvider({
      sampler: spans === "sampled" ? new AlwaysOnSampler() : new AlwaysOffSampler(),
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    }),
    meterProvider: new MeterProvider({ readers: [new NoReader()] }),
  };
}

/** Returns a function that does what the SDK must do for one delivery, and nothing else: a span, in whose context something runs, and the histograms. */
export function barePeer(): () => void {
  const { tracerProvider, meterProvider } = sdkOptions("sampled");
  const tracer = tracerProvider.getTracer("bare");
  const meter = meterProvider.getMeter("bare");
  const [duration, lag, storeDuration] = ["duration", "lag", "store"].map((name) =>
    meter.createHistogram(name, { unit: "s" }),
  );
  const messaging = {
    "messaging.system": "esim_webhooks",
    "messaging.destination.name": "esim-webhooks",
    "messaging.operation.name": "process",
  };
  const ofDuration = { ...messaging, "esim_webhooks.event.type": "esim.enabled" };
  let id = 0;
  return () => {
    id += 1;
    const attributes = {
      ...messaging,
      "messaging.operation.type": "process",
      "messaging.message.id": `msg_${id}`,
      "esim_webhooks.source": "default",
      "esim_webhooks.event.type": "esim.enabled",
      "esim_webhooks.attempt": 1,
      "esim_webhooks.replayed": false,
    };
    const span = tracer.startSpan(
      "process esim-webhooks",
      { kind: SpanKind.CONSUMER, attributes },
      ROOT_CONTEXT,
    );
    context.with(trace.setSpan(ROOT_CONTEXT, span), () => {});
    span.setAttribute("esim_webhooks.outcome", "processed");
    span.end();
    duration?.record(0.001, ofDuration);
    lag?.record(0.001, { type: "esim.enabled" });
    storeDuration?.record(0.001, { operation: "claim" });
    storeDuration?.record(0.001, { operation: "complete" });
  };
}
