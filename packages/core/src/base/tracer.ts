import { warnOfCallback } from "./logger.ts";
import { isPromise } from "./waiting.ts";

/** The span of one stage. What its functions throw is ignored, apart from one process warning. */
export interface StageSpan {
  /** Calls `work` and returns its result, with the span as the current one in all that it does. */
  run<Result>(work: () => Result): Result;
  /** Called when the stage has ended: by then, the message has its outcome, its duration and its error. */
  end(): void;
}

/**
 * Begins the span of a stage, or returns undefined for none. `stage` is its name, as in `observe`. The message has what is known at its
 * start. A tracer that throws makes no span and changes nothing else: its first error becomes a process warning.
 */
export type Tracer = (stage: string, message: object) => StageSpan | undefined;

let tracer: Tracer | undefined;
let tracedStages: ReadonlySet<string> | undefined;

/**
 * Sets the function that makes a span of each stage, for a tracing library. Undefined removes it. Returns a function that removes
 * this tracer, unless another one was set since.
 * @param given called at the start of each stage
 * @param stages the only stages that it is called for. Default: all
 */
export function setTracer(given: Tracer | undefined, stages?: readonly string[]): () => void {
  tracer = given;
  tracedStages = stages && new Set(stages);
  return () => {
    if (tracer === given) tracer = undefined;
  };
}

let hasTracerFailed = false;

/** Warns of what a tracer has thrown, once per process: tracing never fails a delivery or a handler. */
function warnOfTracer(error: unknown): void {
  if (hasTracerFailed) return;
  hasTracerFailed = true;
  warnOfCallback("observer_failed", "The tracer threw. Catch errors inside the tracer.", error);
}

/** Calls a tracer, or returns undefined if it throws. */
function attempt<Result>(call: () => Result): Result | undefined {
  try {
    return call();
  } catch (error) {
    return void warnOfTracer(error);
  }
}

/** Whether there is a tracer for this stage. */
export function isTraced(stage: string): boolean {
  return tracer !== undefined && (tracedStages === undefined || tracedStages.has(stage));
}

export function beginSpan(stage: string, message: object): StageSpan | undefined {
  return attempt(() => tracer?.(stage, message));
}

export function endSpan(span: StageSpan): void {
  attempt(() => span.end());
}

/** Calls `work` exactly once, and returns or throws what it does, even if the tracing library throws before or after it. */
export function runInSpan<Result>(span: StageSpan, work: () => Result): Result {
  let hasRun = false;
  let hasThrown = false;
  let ended: unknown;
  const once = (): Result => {
    if (!hasRun) {
      hasRun = true;
      try {
        ended = work();
      } catch (cause) {
        hasThrown = true;
        ended = cause;
      }
    }
    if (hasThrown) throw ended;
    return ended as Result;
  };
  try {
    const returned: unknown = span.run(once);
    // a promise of the library's own would otherwise be an unhandled rejection
    if (returned !== ended && isPromise(returned)) returned.then(undefined, () => {});
  } catch (error) {
    if (!hasThrown || error !== ended) warnOfTracer(error);
  }
  return once();
}

/** Returns the `traceparent` of the current span (W3C Trace Context), if there is one. */
export type TraceSource = () => string | undefined;

const longestTrace = 55; // of a traceparent

let traceSource: TraceSource | undefined;

/**
 * Sets the function that gives what an inbox stores as the `trace` of an event, for all receivers and imports of this process. A worker
 * can then link its span to that of the delivery. Undefined removes it. What it returns is ignored if it has more than 55 characters,
 * and so is what it throws. Returns a function that removes this source, unless another one was set since.
 */
export function setTraceSource(source: TraceSource | undefined): () => void {
  traceSource = source;
  return () => {
    if (traceSource === source) traceSource = undefined;
  };
}

const traceparent = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/;

/** The ids of a span, as logs of OpenTelemetry name them. */
export interface TraceIds {
  /** 32 hexadecimal digits. */
  readonly trace_id?: string;
  /** 16 hexadecimal digits. */
  readonly span_id?: string;
}

/** For log lines: the ids of the current span. Empty without a trace source. */
export function traceIds(): TraceIds {
  const [, traceId, spanId] = traceparent.exec(currentTrace() ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? {} : { trace_id: traceId, span_id: spanId };
}

/** The current trace, as the trace source returns it. */
export function currentTrace(): string | undefined {
  try {
    const trace: unknown = traceSource?.();
    return typeof trace === "string" && /^[\x21-\x7e]+$/.test(trace) && trace.length <= longestTrace
      ? trace
      : undefined;
  } catch {
    return undefined; // tracing never fails a delivery
  }
}
