import { warnOfCallback } from "./logger.ts";
import { isPromise } from "./waiting.ts";

/** The span of one stage. Errors of its own functions are ignored, apart from one process warning. */
export interface StageSpan {
  /** Calls `work` with this span as the current one in all that `work` does, and returns its result. */
  run<Result>(work: () => Result): Result;
  /** Called when the stage has ended: by then, the message has the outcome, the duration and, if there is one, the error. */
  end(): void;
}

/**
 * Begins the span of a stage, or returns undefined for none. `stage` is the stage's name, as in `observe`. The message has what is known at
 * the start. If the tracer throws, the stage has no span and nothing else changes. Only the process's first such error becomes a warning.
 */
export type Tracer = (stage: string, message: object) => StageSpan | undefined;

let tracer: Tracer | undefined;
let tracedStages: ReadonlySet<string> | undefined;

/**
 * Sets the function that makes a span of each stage, for a tracing library. Undefined removes it. Returns a function that removes
 * this tracer, unless another one was set since.
 * @param given called at the start of each stage
 * @param stages the names of the stages for which `given` is called. Default: all
 */
export function setTracer(given: Tracer | undefined, stages?: readonly string[]): () => void {
  tracer = given;
  tracedStages = stages && new Set(stages);
  return () => {
    if (tracer === given) tracer = undefined;
  };
}

let hasTracerFailed = false;

/** Warns of an error that a tracer has thrown, once per process: tracing never fails a delivery or a handler. */
function warnOfTracer(error: unknown): void {
  if (hasTracerFailed) return;
  hasTracerFailed = true;
  warnOfCallback("observer_failed", "The tracer threw. Catch errors inside the tracer.", error);
}

/** Calls a function of a tracer and returns its result, or undefined if it throws. */
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

/** Calls `work` exactly once, and returns or throws as `work` does, even if the tracing library throws before or after it. */
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
    // the library may return a promise of its own, whose rejection nothing would handle
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
 * Sets the function that returns the current `trace`: an inbox stores it with an event, for all receivers and imports of this process, so that
 * a worker can link its span to that of the delivery. Undefined removes the function. A trace is ignored unless it is 1 to 55 visible ASCII
 * characters, and an error is ignored, too. Returns a function that removes this source, unless another one was set since.
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

/** Returns the ids of the current span, for log lines. Empty unless the trace source returns a `traceparent`. */
export function traceIds(): TraceIds {
  const [, traceId, spanId] = traceparent.exec(currentTrace() ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? {} : { trace_id: traceId, span_id: spanId };
}

/** The current trace, as the trace source returns it, if it can be stored. */
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
