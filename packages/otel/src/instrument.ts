import { type InboxAdmin, type Lifecycle, WebhookError, type Worker } from "@esim-webhooks/core";
import { setTracer, setTraceSource } from "@esim-webhooks/core/observe";
import {
  isSpanContextValid,
  type MeterProvider,
  metrics,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { type OwnTimes, recordGauges } from "./gauges.ts";
import { recordMetrics } from "./metrics.ts";
import { traceRuns } from "./run-spans.ts";
import { createTracer, tracedStages } from "./stage-spans.ts";

/** Options of `instrument`. */
export interface InstrumentOptions {
  /** The inbox whose `gauges()`, `paused()`, `runs()` and `ready()` become metrics. Default: none, so there are no metrics of what waits. */
  inbox?: Pick<InboxAdmin, "gauges" | "paused" | "runs"> & Pick<Lifecycle, "ready">;
  /** The worker of this process, for the metrics of its slots. Default: none. */
  worker?: Pick<Worker, "slots" | "sinceLastTakeMs">;
  /** Only its first 17 event types are labels; all others are `other`. Default: the eSIM catalog. */
  catalog?: {
    /** All event types that it has a schema for. */
    readonly types: readonly string[];
  };
  /** `messaging.destination.name`. Default `"esim-webhooks"`. */
  destination?: string;
  /** Where spans go. Default: the global provider of `@opentelemetry/api`. */
  tracerProvider?: TracerProvider;
  /** Where metrics go. Default: the global provider of `@opentelemetry/api`. */
  meterProvider?: MeterProvider;
}

const scope = "@esim-webhooks/otel";
const schemaUrl = "https://opentelemetry.io/schemas/1.45.0";

let isInstrumented = false;

/**
 * Makes OpenTelemetry spans and metrics of all that receivers, workers, processors, imports, reconciles and clients of this process do. Call it
 * once, after your SDK was started. It also sets the trace source of core, so that a worker links its span to that of the delivery. Spans and
 * metrics hold no payload, header or error message; ids are on spans only. Names and attributes follow the messaging conventions of
 * OpenTelemetry, version 1.45 (Development).
 *
 * Returns a function that stops it: call that after your SDK has shut down, since it ends the collection of counters. Throws
 * `invalid_option` until an earlier call was stopped: everything would be counted twice.
 */
export function instrument(options: InstrumentOptions = {}): () => void {
  if (isInstrumented)
    throw new WebhookError(
      "invalid_option",
      "this process is instrumented already, so spans and metrics would be recorded twice.",
      "Call instrument once per process, with both { inbox, worker }, or first call what the earlier call has returned.",
      { where: "instrument" },
    );
  const { destination = "esim-webhooks", tracerProvider = trace, meterProvider = metrics } = options;
  const tracer = tracerProvider.getTracer(scope, undefined, { schemaUrl });
  const stops = [
    recordAllMetrics(meterProvider, options),
    traceRuns(tracer),
    setTracer(createTracer(tracer, destination), tracedStages),
    setTraceSource(currentTraceparent),
    () => {
      isInstrumented = false;
    },
  ];
  isInstrumented = true;
  return () => {
    for (const stop of stops.splice(0)) stop();
  };
}

/** Records the metrics, and makes no spans. Returns a function that stops the recording. */
export function recordAllMetrics(
  meterProvider: MeterProvider,
  options: Omit<InstrumentOptions, "tracerProvider" | "meterProvider">,
): () => void {
  const { destination = "esim-webhooks", catalog } = options;
  const meter = meterProvider.getMeter(scope, undefined, { schemaUrl });
  const own: OwnTimes = { passes: new Map(), refusals: new Map() };
  const stops = [
    recordMetrics(meter, { destination, ...(catalog && { catalog }) }, own),
    recordGauges(meter, options, own),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** The `traceparent` of the current span (W3C Trace Context, version 00). */
function currentTraceparent(): string | undefined {
  const context = trace.getActiveSpan()?.spanContext();
  if (context === undefined || !isSpanContextValid(context)) return undefined;
  const flags = context.traceFlags.toString(16).padStart(2, "0");
  return `00-${context.traceId}-${context.spanId}-${flags}`;
}
