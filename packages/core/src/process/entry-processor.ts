import { crc32 } from "node:zlib";
import { silentLogger } from "../base/logger.ts";
import { safeLogger } from "../base/safe-logger.ts";
import type { Catalog } from "../event/catalog.ts";
import { esimCatalog } from "../event/esim-catalog.ts";
import { shownId } from "../event/event.ts";
import { decide, type Limits } from "../handle/decide.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { Handlers } from "../handle/handler.ts";
import type { Ending } from "../store/ending.ts";
import type { InboxEntry } from "../store/inbox-entry.ts";
import { createProcessor, type ProcessorOptions } from "./processor.ts";
import type { Provenance } from "./provenance.ts";

/** One delivery of a message by a platform's queue. */
export interface EntryAttempt {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Aborts when the platform ends the work. `context.signal` of the handler aborts with it. */
  readonly signal?: AbortSignal;
  /** The time until an attempt that failed is repeated, in ms. Default: the platform decides. */
  readonly backoffMs?: number;
}

/** The result of processing an entry: an event in the message of a platform's queue. */
export interface ProcessedEntry {
  /** The outcome of the entry's event. */
  readonly outcome: EventOutcome;
  /** How the event ends. Its message is to be deleted if that is `done` or `unhandled`. */
  readonly ending: Ending;
  /**
   * Logs a `conflict`, `invalid` or `store_unavailable`, which an operator must know; does nothing for any other outcome. The line also has
   * `fields`. It has only the paths of issues, since their messages may quote the event.
   */
  report(fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * Creates a function that handles the entries of a platform's queue: it parses the body with the catalog of this process, and passes the event
 * to a processor. That function rejects if a schema throws. `createEntryProcessor` throws like `createProcessor`.
 */
export function createEntryProcessor<Data, Tx>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: ProcessorOptions<Data, Tx>,
): (entry: InboxEntry, attempt: EntryAttempt) => Promise<ProcessedEntry> {
  const processor = createProcessor<Data, Tx>(handlers, options);
  const logger = safeLogger(options.logger ?? silentLogger);
  const catalog = (options.catalog ?? esimCatalog) as Catalog<Data>;
  return async (entry, { backoffMs = 0, ...attempt }) => {
    const { source, id, body } = entry;
    const parsed = catalog.parse(id, body);
    const outcome = await processor.accept(parsed, { ...provenanceOf(entry), ...attempt });
    const report: ProcessedEntry["report"] = (fields) => {
      if (!unlogged.has(outcome.code)) return;
      const err = "error" in outcome && { err: outcome.error };
      const issues = "issues" in outcome && { issues: outcome.issues.map(({ path }) => path) };
      logger.error(
        { ...fields, source, id: shownId(id), type: parsed.type, outcome: outcome.code, ...err, ...issues },
        "A message of a queue was not handled. Its outcome says why.",
      );
    };
    const limits: Limits = {
      isLast: () => false, // the queue makes dead letters
      afterMs: (undone) => (undone.code === "failed" ? backoffMs : undone.retryAfterMs),
    };
    return { outcome, ending: decide(outcome, limits), report };
  };
}

/** Returns where an entry came from, as far as the entry says. A rebuilt body gets no fingerprint: it is not the body that was sent. */
export function provenanceOf({ source, receivedAt, body, replay, trace }: InboxEntry): Provenance {
  return {
    source,
    receivedAt,
    replayed: replay !== undefined,
    ...(trace !== undefined && { trace }),
    ...(!replay?.rebuilt && { fingerprint: crc32(body) }),
  };
}

const unlogged: ReadonlySet<EventOutcome["code"]> = new Set<EventOutcome["code"]>([
  "conflict",
  "invalid",
  "store_unavailable",
]);
