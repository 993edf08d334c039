import type { ReadableSpan } from "@opentelemetry/sdk-trace";

/** What an exporter sends of a span, as plain JSON. */
export type PlainSpan = ReturnType<typeof plain>;

export function plain(span: ReadableSpan) {
  const { name, kind, parentSpanContext, links, attributes, events, status } = span;
  const { traceId, spanId } = span.spanContext();
  return {
    ...{ name, kind, traceId, spanId, attributes, events, status },
    parent: parentSpanContext?.spanId,
    links: links.map(({ context, attributes: own }) => ({ ...context, attributes: own })),
  };
}
