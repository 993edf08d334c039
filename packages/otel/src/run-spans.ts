import { createNotice, listenTo } from "@esim-webhooks/core/internal";
import { ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { errorTypes } from "./labels.ts";

/** The fields that messages of imports and of passes of reconcile share. */
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
export function onRuns(name: Kind, listener: (message: RunMessage) => void): () => void {
  return listenTo(name, createNotice<RunMessage>(name), listener);
}

const everyMs = 1000; // an import reports ten times a second, and may run for hours
/** How many spans may be open: the end of a run may never be published, for example if its checkpoint file cannot be closed. */
const mostOpen = 100;

type Kind = "import" | "reconcile";

/**
 * Makes a span of each import and each pass of reconcile, with its progress as events, at most one a second. A pass imports what it has
 * found, under the name of its own run: that import gets no span.
 */
export function traceRuns(tracer: Tracer): () => void {
  const errorType = errorTypes(50);
  const open = new Map<string, { readonly kind: Kind; readonly span: Span; noteAt: number }>();

  function begin(kind: Kind, { run, source, dryRun = false, durationMs }: RunMessage, now: number) {
    const attributes = {
      "esim_webhooks.run": run,
      "esim_webhooks.source": source,
      "esim_webhooks.dry_run": dryRun,
    };
    const span = tracer.startSpan(kind, { startTime: now - durationMs, attributes }, ROOT_CONTEXT);
    const begun = { kind, span, noteAt: now };
    open.set(run, begun);
    const [oldest] = open.keys();
    if (open.size > mostOpen && oldest !== undefined) {
      open.get(oldest)?.span.end();
      open.delete(oldest);
    }
    return begun;
  }

  const trace = (kind: Kind) => (message: RunMessage) => {
    const { run, outcome, ledger, error } = message;
    const now = Date.now();
    const begun = open.get(run) ?? begin(kind, message, now);
    if (begun.kind !== kind) return;
    const { span } = begun;
    if (outcome === "running") {
      if (now < begun.noteAt) return;
      begun.noteAt = now + everyMs;
      span.addEvent("progress", counts(ledger));
      return;
    }
    open.delete(run);
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
    for (const { span } of open.values()) span.end();
    open.clear();
  };
}

/** The numbers of a ledger, as attributes. */
function counts(ledger: RunMessage["ledger"]): Record<string, number> {
  const numbers = Object.entries(ledger).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return Object.fromEntries(numbers.map(([name, count]) => [`esim_webhooks.ledger.${name}`, count]));
}
