import { createNotice, listenTo } from "@esim-webhooks/core/kit";
import { ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { errorTypes } from "./labels.ts";

/** What imports and passes of reconcile have in common in their messages. */
export interface RunMessage {
  readonly run: string;
  readonly source: string;
  readonly dryRun?: boolean;
  readonly outcome: string;
  readonly durationMs: number;
  readonly ledger: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

/** Listens to a plain channel, by its name. */
export function onRuns(name: "import" | "reconcile", listener: (message: RunMessage) => void): () => void {
  return listenTo(name, createNotice<RunMessage>(name), listener);
}

const everyMs = 1000; // an import reports ten times a second, and may run for hours

/** Makes a span of each import and each pass of reconcile, with its progress as events, at most one a second. */
export function traceRuns(tracer: Tracer): () => void {
  const errorType = errorTypes(50);
  const spans = new Map<string, { readonly span: Span; noteAt: number }>();

  const trace = (kind: "import" | "reconcile") => (message: RunMessage) => {
    const { run, source, dryRun = false, outcome, durationMs, ledger, error } = message;
    const key = `${kind} ${run}`;
    const now = Date.now();
    let begun = spans.get(key);
    if (begun === undefined) {
      const attributes = {
        "esim_webhooks.run": run,
        "esim_webhooks.source": source,
        "esim_webhooks.dry_run": dryRun,
      };
      const span = tracer.startSpan(kind, { startTime: now - durationMs, attributes }, ROOT_CONTEXT);
      begun = { span, noteAt: now };
      spans.set(key, begun);
    }
    const { span } = begun;
    if (outcome === "running") {
      if (now < begun.noteAt) return;
      begun.noteAt = now + everyMs;
      span.addEvent("progress", counts(ledger));
      return;
    }
    spans.delete(key);
    span.setAttributes({ "esim_webhooks.outcome": outcome, ...counts(ledger) });
    if (outcome === "failed" || outcome === "damaged") {
      span.setAttribute("error.type", error === undefined ? outcome : errorType(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  };

  const stops = [onRuns("import", trace("import")), onRuns("reconcile", trace("reconcile"))];
  return () => {
    for (const stop of stops) stop();
    for (const { span } of spans.values()) span.end();
    spans.clear();
  };
}

/** The numbers of a ledger, as attributes. */
function counts(ledger: RunMessage["ledger"]): Record<string, number> {
  const numbers = Object.entries(ledger).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return Object.fromEntries(numbers.map(([name, count]) => [`esim_webhooks.ledger.${name}`, count]));
}
