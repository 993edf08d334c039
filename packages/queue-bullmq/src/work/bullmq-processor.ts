import { crc32 } from "node:zlib";
import {
  type Catalog,
  createProcessor,
  type DedupeStore,
  type EsimEvents,
  type EventOutcome,
  esimCatalog,
  type Handlers,
  type InboxEntry,
  type Logger,
  WebhookError,
} from "@esim-webhooks/core";
import {
  decodeEntry,
  monotonicClock,
  type OptionsShape,
  parseOptions,
  processorShape,
  safeLogger,
  throttledLog,
} from "@esim-webhooks/core/kit";
import { DelayedError, UnrecoverableError } from "bullmq";
import { endingOf, type JobResult } from "./ending.ts";
import { lockStore } from "./lock-store.ts";

/** The part of BullMQ's `Job` that the processor calls. */
export interface EventJob {
  readonly id?: string | undefined;
  readonly data: unknown;
  readonly attemptsStarted: number;
  moveToDelayed(timestamp: number, token?: string): Promise<unknown>;
}

export interface BullmqProcessorOptions<Data = EsimEvents, Tx = unknown> {
  /**
   * A store that remembers done ids beside the queue, such as `postgresStore`: handlers get its transaction as `context.tx`, and
   * an effect in it happens exactly once. Default: none; an event runs again if its worker dies in the middle.
   */
  store?: DedupeStore<Tx>;
  /** How long a crashed worker blocks an id in that store, in ms. Default 30,000. */
  leaseMs?: number;
  /** The event types and their schemas. Default: the eSIM events. Extend them with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** Gets the log lines: pino, `console`, or anything of their shape. Default: silent. */
  logger?: Logger;
}

/** The processor for BullMQ's `Worker`. */
export interface BullmqProcessor {
  (job: EventJob, token?: string, signal?: AbortSignal): Promise<JobResult>;
  /** How long ago the worker took its last job, in ms; null before the first. A worker that lives may take none any more. */
  sinceLastTakeMs(): number | null;
}

type Settings = Required<Pick<BullmqProcessorOptions<unknown>, "leaseMs" | "catalog" | "logger">> & {
  store: DedupeStore | undefined;
};

const { store, leaseMs, catalog, logger } = processorShape;
const shape: OptionsShape<Settings> = { store, leaseMs, catalog, logger };

/**
 * The processor of the events of a `bullmqInbox`: `new Worker(name, bullmqProcessor(handlers), { connection })`. Concurrency,
 * attempts, backoff and rate limits are BullMQ's.
 *
 * A handler's `retryLater` delays the job without an attempt spent, `discard` completes it, and a throw fails the attempt. An
 * event that is invalid, or that no handler takes, fails once and for good. `context.signal` aborts when BullMQ cancels the job,
 * and `context.attempt` counts every start. Throws `unknown_event_type` and `invalid_option`.
 */
export function bullmqProcessor<Data = EsimEvents, Tx = unknown>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: BullmqProcessorOptions<Data, Tx> = {},
): BullmqProcessor {
  const settings = parseOptions("bullmqProcessor", shape, options);
  const logger = safeLogger(settings.logger);
  const { store = lockStore, leaseMs } = settings;
  const catalog = (options.catalog ?? esimCatalog) as Catalog<Data>;
  const processor = createProcessor<Data, Tx>(handlers, {
    store: store as DedupeStore<Tx>,
    catalog,
    leaseMs,
    logger,
  });
  const logAway = throttledLog(logger.error, monotonicClock);
  let takenAt: number | undefined;

  async function outcomeOf(
    entry: InboxEntry,
    attempt: number,
    signal: AbortSignal | undefined,
  ): Promise<EventOutcome> {
    const { source, id, body, receivedAt, replay } = entry;
    try {
      return await processor.accept(catalog.parse(id, body), {
        source,
        receivedAt,
        attempt,
        replayed: replay !== undefined,
        ...(!replay?.rebuilt && { fingerprint: crc32(body) }),
        ...(signal && { signal }),
      });
    } catch (error) {
      return { code: "failed", error }; // a schema that threw
    }
  }

  function log(outcome: EventOutcome, { id, source, type }: InboxEntry, attempt: number): void {
    const fields = { id, type, source, attempt, outcome: outcome.code };
    if (outcome.code === "failed") logger.error({ ...fields, err: outcome.error }, "The handler failed.");
    if (outcome.code === "conflict")
      logger.error(fields, "An event was not handled: its id was done with another body.");
    if (outcome.code === "store_unavailable")
      logAway({ ...fields, err: outcome.error }, "The store did not answer.");
    if (outcome.code === "discarded")
      logger.info({ ...fields, reason: outcome.reason }, "An event was discarded by its handler.");
  }

  // BullMQ passes a signal only to a function with three parameters
  async function process(job: EventJob, token?: string, signal?: AbortSignal): Promise<JobResult> {
    takenAt = monotonicClock.now();
    const entry = entryIn(job);
    const outcome = await outcomeOf(entry, job.attemptsStarted, signal);
    log(outcome, entry, job.attemptsStarted);
    const ending = endingOf(outcome, entry.type);
    if ("result" in ending) return ending.result;
    if ("error" in ending) {
      if (ending.error instanceof UnrecoverableError) logDead(logger, entry, outcome, ending.error);
      throw ending.error;
    }
    await job.moveToDelayed(Date.now() + ending.retryAfterMs, token);
    throw new DelayedError();
  }

  return Object.assign(process, {
    sinceLastTakeMs: () => (takenAt === undefined ? null : monotonicClock.now() - takenAt),
  });
}

/** Throws an error that BullMQ does not retry for a job that `bullmqInbox` did not add. */
function entryIn({ data }: EventJob): InboxEntry {
  try {
    return decodeEntry(data);
  } catch (error) {
    if (!WebhookError.is(error)) throw error;
    throw new UnrecoverableError(`not an event of bullmqInbox: ${error.message}`);
  }
}

function logDead(
  logger: Logger,
  { id, type, source }: InboxEntry,
  { code }: EventOutcome,
  { message: cause }: Error,
): void {
  logger.error(
    { id, type, source, outcome: "dead", cause },
    code === "unhandled_type" || code === "unknown_type"
      ? "No handler takes this event: it is kept as dead, and not tried again. Add a handler, then redrive it: esim-webhooks inbox retry."
      : "An event is dead and will not be tried again. Mend the cause, then redrive it: esim-webhooks inbox retry.",
  );
}
