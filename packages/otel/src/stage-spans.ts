import type {
  HandleMessage,
  PutMessage,
  SettlementsMessage,
  StageMessage,
  StageSpan,
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
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { errorTypes, typeAttribute } from "./labels.ts";

/** How a stage becomes a span. */
interface SpanOf<Message> {
  readonly kind: SpanKind;
  /** The attributes that a sampler sees: they are the same for every span of the stage. */
  readonly attributes: Attributes;
  name(message: Message): string;
  /** The links that make it a root, instead of a child of the current span. Undefined: it is a child. */
  links?(message: Message): Link[] | undefined;
  /** More attributes at its end, if the span is recorded. */
  describe(message: Message): Attributes;
  /** Whether an outcome is an error, although nothing was thrown. */
  isFailed?(message: Message): boolean;
}

/** The stages that have a span. The time of the others is within these. */
export const tracedStages: readonly string[] = ["put", "take", "handle", "settlements", "call"];

/** Makes the function that begins the span of a stage. */
export function createTracer(tracer: OtelTracer, destination: string): Tracer {
  const errorType = errorTypes(50);
  // the conventions have a type of the same name for each of these operations
  const messaging = (operation: string) => ({
    name: () => `${operation} ${destination}`,
    attributes: {
      "messaging.system": "esim_webhooks",
      "messaging.destination.name": destination,
      "messaging.operation.name": operation,
      "messaging.operation.type": operation,
    },
  });

  const put: SpanOf<PutMessage> = {
    ...messaging("send"),
    kind: SpanKind.PRODUCER,
    describe: ({ events, results = [] }) => ({
      ...batchAttributes(events),
      ...(results.length === 1 && { "esim_webhooks.put.result": results[0] as string }),
    }),
  };

  const take: SpanOf<TakeMessage> = {
    ...messaging("receive"),
    kind: SpanKind.CLIENT,
    links: ({ events = [] }) =>
      events.flatMap(({ id, trace: stored }) => linksTo(stored, { "messaging.message.id": id })),
    describe: ({ events = [] }) => ({
      ...batchAttributes(events),
      "messaging.batch.message_count": events.length,
    }),
  };

  const handle: SpanOf<HandleMessage> = {
    ...messaging("process"),
    kind: SpanKind.CONSUMER,
    // the request that stored the event has ended; on BullMQ, only the stored trace shows that a request stored it
    links: ({ by, trace: stored }) => (by === "worker" || stored !== undefined ? linksTo(stored) : undefined),
    describe: ({ source, id, type, attempt, replayed, outcome }) => ({
      "messaging.message.id": id,
      "esim_webhooks.source": source,
      ...typeAttribute(type),
      "esim_webhooks.attempt": attempt,
      "esim_webhooks.replayed": replayed,
      "esim_webhooks.outcome": outcome,
    }),
    isFailed: ({ outcome }) => outcome === "failed",
  };

  const settlements: SpanOf<SettlementsMessage> = {
    ...messaging("settle"),
    kind: SpanKind.CLIENT,
    links: () => [], // one call settles events of many traces, so it is a root
    describe: ({ settlements: count }) => ({ "messaging.batch.message_count": count }),
  };

  const call: SpanOf<CallMessage> = {
    kind: SpanKind.CLIENT,
    attributes: {},
    name: ({ operation }) => operation,
    describe: ({ operation, method, status, attempts = 0 }) => ({
      "http.request.method": method,
      "esim_webhooks.operation": operation,
      ...(status !== undefined && { "http.response.status_code": status }),
      "esim_webhooks.attempts": attempts,
    }),
    isFailed: ({ outcome }) => outcome !== "ok",
  };

  function start<Message>(spanOf: SpanOf<Message>, message: Message, startTime?: number): [Span, Context] {
    const { kind, attributes } = spanOf;
    const links = spanOf.links?.(message);
    const parent = links === undefined ? context.active() : ROOT_CONTEXT;
    const options = {
      kind,
      attributes,
      ...(links && { links }),
      ...(startTime !== undefined && { startTime }),
    };
    const span = tracer.startSpan(spanOf.name(message), options, parent);
    return [span, trace.setSpan(parent, span)];
  }

  function end<Message extends StageMessage>(
    spanOf: SpanOf<Message>,
    span: Span,
    message: Message,
    endTime?: number,
  ): void {
    if (span.isRecording()) {
      const { error, outcome } = message;
      span.setAttributes(spanOf.describe(message));
      if (error !== undefined || spanOf.isFailed?.(message)) {
        span.setAttribute("error.type", error === undefined ? outcome : errorType(error));
        span.setStatus({ code: SpanStatusCode.ERROR }); // without a message, which may quote personal data
      }
    }
    span.end(endTime);
  }

  /** Begins the span with its stage. */
  const around =
    <Message extends StageMessage>(spanOf: SpanOf<Message>) =>
    (message: Message): StageSpan => {
      const [span, current] = start(spanOf, message);
      return { run: (work) => context.with(current, work), end: () => end(spanOf, span, message) };
    };

  /** Makes the span when its stage has ended: workers poll, and a poll that finds nothing is not worth a span. */
  function afterTake(message: TakeMessage): StageSpan {
    const startTime = Date.now();
    return {
      run: (work) => context.with(ROOT_CONTEXT, work),
      end() {
        const { taken = 0, error, durationMs } = message;
        if (taken === 0 && error === undefined) return;
        const [span] = start(take, message, startTime);
        end(take, span, message, startTime + durationMs);
      },
    };
  }

  const begin: Readonly<Record<string, (message: never) => StageSpan>> = {
    put: around(put),
    take: afterTake,
    handle: around(handle),
    settlements: around(settlements),
    call: around(call),
  };
  return (stage, message) => begin[stage]?.(message as never);
}

/** A call of the partner API, as `@esim-webhooks/client` publishes it. */
interface CallMessage extends StageMessage {
  readonly operation: string;
  readonly method: string;
  readonly status?: number;
  readonly attempts?: number;
}

/** The attributes of the events of a span: the id of a single one, else how many there are. */
function batchAttributes(
  events: readonly { readonly source: string; readonly id: string; readonly type: string | null }[],
): Attributes {
  const [one, ...others] = events;
  if (one === undefined || others.length > 0) return { "messaging.batch.message_count": events.length };
  return { "esim_webhooks.source": one.source, "messaging.message.id": one.id, ...typeAttribute(one.type) };
}

const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns a link to the span that stored the event, if its trace is known. */
function linksTo(stored: string | null | undefined, attributes: Attributes = {}): Link[] {
  const [, traceId, spanId, flags] = traceparent.exec(stored ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return [];
  return [
    { context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }, attributes },
  ];
}
