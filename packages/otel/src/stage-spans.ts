import type {
  HandleMessage,
  PutMessage,
  SettlementsMessage,
  StageMessage,
  TakeMessage,
  Tracer,
} from "@esim-webhooks/core/observe";
import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { type ErrorType, errorTypes, typeAttribute } from "./labels.ts";

/** A span, as far as it is known when its stage begins. */
interface Begun {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** Default: the current context. */
  readonly parent?: Context;
  readonly links?: Link[];
}

/** How a stage becomes a span. */
interface SpanOf<Message> {
  begin(message: Message): Begun;
  /** What the end of the stage adds. */
  end?(message: Message): Attributes;
  /** Whether an outcome is an error, although nothing was thrown. */
  isFailed?(message: Message): boolean;
}

/** Makes the function that begins the span of a stage. Other stages than these have none: their time is within those. */
export function createTracer(tracer: OtelTracer, destination: string): Tracer {
  const errorType = errorTypes(50);
  const of = (operation: string, type: string, more: Attributes = {}): Attributes => ({
    "messaging.system": "esim_webhooks",
    "messaging.destination.name": destination,
    "messaging.operation.name": operation,
    "messaging.operation.type": type,
    ...more,
  });

  const put: SpanOf<PutMessage> = {
    begin: ({ events }) => {
      const [one, ...others] = events;
      return {
        name: `send ${destination}`,
        kind: SpanKind.PRODUCER,
        attributes: of("send", "send", {
          ...(one && { "esim_webhooks.source": one.source }),
          ...(one && others.length === 0
            ? { "messaging.message.id": one.id, ...typeAttribute(one.type) }
            : { "messaging.batch.message_count": events.length }),
        }),
      };
    },
    end: ({ results = [] }) => ({
      ...(results.length === 1 && { "esim_webhooks.put.result": results[0] as string }),
    }),
  };

  const handle: SpanOf<HandleMessage> = {
    begin: ({ source, id, type, by, attempt, replayed, trace: stored }) => ({
      name: `process ${destination}`,
      kind: SpanKind.CONSUMER,
      attributes: of("process", "process", {
        "messaging.message.id": id,
        "esim_webhooks.source": source,
        ...typeAttribute(type),
        "esim_webhooks.attempt": attempt,
        "esim_webhooks.replayed": replayed,
      }),
      // the request that stored the event has ended; on BullMQ, only the stored trace shows that there was one
      ...((by === "worker" || stored !== undefined) && { parent: ROOT_CONTEXT, links: linksTo(stored) }),
    }),
    end: ({ outcome }) => ({ "esim_webhooks.outcome": outcome }),
    isFailed: ({ outcome }) => outcome === "failed",
  };

  const settlements: SpanOf<SettlementsMessage> = {
    begin: ({ settlements: count }) => ({
      name: `settle ${destination}`,
      kind: SpanKind.CLIENT,
      attributes: of("settle", "settle", { "messaging.batch.message_count": count }),
      parent: ROOT_CONTEXT, // the results of many events, so it belongs to no one's trace
    }),
  };

  const call: SpanOf<CallMessage> = {
    begin: ({ operation, method }) => ({
      name: operation,
      kind: SpanKind.CLIENT,
      attributes: { "http.request.method": method, "esim_webhooks.operation": operation },
    }),
    end: ({ status, attempts }) => ({
      ...(status !== undefined && { "http.response.status_code": status }),
      "esim_webhooks.attempts": attempts,
    }),
    isFailed: ({ outcome }) => outcome !== "ok",
  };

  const stages: Readonly<Record<string, SpanOf<never>>> = { put, handle, settlements, call };

  return (stage, message) => {
    if (stage === "take")
      return takeSpan(
        tracer,
        errorType,
        message as TakeMessage,
        `receive ${destination}`,
        of("receive", "receive"),
      );
    const spanOf = stages[stage] as SpanOf<object> | undefined;
    if (spanOf === undefined) return undefined;
    const { name, parent = context.active(), ...options } = spanOf.begin(message);
    const span = tracer.startSpan(name, options, parent);
    const current = trace.setSpan(parent, span);
    return {
      run: (work) => context.with(current, work),
      end() {
        const { error, outcome } = message as StageMessage;
        span.setAttributes(spanOf.end?.(message) ?? {});
        if (error !== undefined || spanOf.isFailed?.(message)) {
          span.setAttribute("error.type", error === undefined ? outcome : errorType(error));
          span.setStatus({ code: SpanStatusCode.ERROR }); // without a message, which may quote personal data
        }
        span.end();
      },
    };
  };
}

/** A span of a take that found something, made at its end: workers poll, and an empty poll is not worth a span. */
function takeSpan(
  tracer: OtelTracer,
  errorType: ErrorType,
  message: TakeMessage,
  name: string,
  attributes: Attributes,
): ReturnType<Tracer> {
  const startTime = Date.now();
  return {
    run: (work) => work(),
    end() {
      const { taken = 0, error, durationMs } = message;
      if (taken === 0 && error === undefined) return;
      const span = tracer.startSpan(
        name,
        {
          kind: SpanKind.CLIENT,
          startTime,
          attributes: { ...attributes, "messaging.batch.message_count": taken },
        },
        ROOT_CONTEXT,
      );
      if (error !== undefined)
        span.setAttribute("error.type", errorType(error)).setStatus({ code: SpanStatusCode.ERROR });
      span.end(startTime + durationMs);
    },
  };
}

/** A call of the partner API, as `@esim-webhooks/client` publishes it. */
interface CallMessage extends StageMessage {
  readonly operation: string;
  readonly method: string;
  readonly status?: number;
  readonly attempts: number;
}

const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A link to the span that stored the event. */
function linksTo(stored: string | undefined): Link[] {
  const [, traceId, spanId, flags] = traceparent.exec(stored ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } }];
}
