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
  type Parsed,
  WebhookError,
} from "@esim-webhooks/core";
import { durationMs, type Ending, type OptionsShape, parseOptions } from "@esim-webhooks/core/engine";
import {
  checkTypes,
  createTimeLimits,
  decide,
  type EndedFacts,
  type Limits,
  limitPauses,
  monotonicClock,
  processorShape,
  provenanceOf,
  reportEnding,
  type TimeLimitOptions,
  type TimeLimitSettings,
  throttledLog,
  timeLimitShape,
} from "@esim-webhooks/core/internal";
import { DelayedError } from "bullmq";
import * as z from "zod/mini";
import { storableError } from "../redis/attempt-note.ts";
import { isErased } from "../redis/erased-data.ts";
import { startsOf } from "../redis/queue.ts";
import { delayOf, errorOf, type JobResult, resultOf } from "./ending.ts";
import { decoded, type EventJob, entryIn, isFinal, isRateLimit } from "./event-job.ts";
import { lockStore } from "./lock-store.ts";
import { forgetWait, noteWait, waitedMs, waitMsOf } from "./waiting.ts";

export interface BullmqProcessorOptions<Data = EsimEvents, Tx = unknown> extends TimeLimitOptions<Data> {
  /**
   * A store that remembers done ids in addition to the queue, such as `postgresStore`: handlers get its transaction as `context.tx`, and
   * an effect in it happens exactly once for a delivery. Default: none; an event runs again if its worker dies in the middle.
   */
  store?: DedupeStore<Tx>;
  /** How long a crashed worker blocks an id in `store`, in ms. Default 30,000. */
  leaseMs?: number;
  /**
   * How long handlers can put an event off with `retryLater` before it is dead, in ms, counted from the first time. Default
   * 86,400,000: a day.
   */
  maxWaitMs?: number;
  /** The event types and their schemas. Default: the eSIM events. Extend them with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
}

/** The processor for BullMQ's `Worker`. */
export interface BullmqProcessor {
  (job: EventJob, token?: string, signal?: AbortSignal): Promise<JobResult>;
  /** How long ago the worker took its last job, in ms; null before the first. A worker can be alive and take no more jobs. */
  sinceLastTakeMs(): number | null;
  /** How many handlers still run that were abandoned at their time limit. Their jobs are tried again elsewhere, or here once they have ended. */
  abandoned(): number;
  /**
   * For the event `failed` of the worker: logs a dead event that the processor cannot know of, and reports it to `observe`. Too many workers died
   * while they had it, it was started more often than `maxStartedAttempts`, or a `backoffStrategy` returned -1. The processor logs all others.
   */
  onFailed(job: EventJob | undefined, error: Error): void;
}

type Settings = Required<
  Pick<BullmqProcessorOptions<unknown>, "leaseMs" | "maxWaitMs" | "catalog" | "logger">
> &
  TimeLimitSettings & { store: DedupeStore | undefined };

const { store, leaseMs, catalog, logger } = processorShape;
export const maxWaitMs: z.ZodMiniDefault<z.ZodMiniNumber> = z._default(durationMs(0), 86_400_000);
const shape: OptionsShape<Settings> = {
  store,
  leaseMs,
  maxWaitMs,
  ...timeLimitShape,
  catalog,
  logger,
};

/**
 * The processor of the events of a `bullmqInbox`: `new Worker(name, bullmqProcessor(handlers), { connection })`. Concurrency,
 * attempts, backoff and rate limits are BullMQ's.
 *
 * A handler's `retryLater` delays the job without an attempt spent, until it has waited for `maxWaitMs`; `discard` completes it, and a
 * throw fails the attempt. An event that is invalid, or that no handler takes, fails once and for good. `context.signal` aborts when
 * BullMQ cancels the job, and `context.attempt` counts every start. Throws `unknown_event_type` and `invalid_option`.
 */
export function bullmqProcessor<Data = EsimEvents, Tx = unknown>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: BullmqProcessorOptions<Data, Tx> = {},
): BullmqProcessor {
  const settings = parseOptions("bullmqProcessor", shape, options);
  const { store = lockStore, leaseMs, maxWaitMs, logger } = settings;
  const catalog = (options.catalog ?? esimCatalog) as Catalog<Data>;
  checkTypes("bullmqProcessor", "timeouts", Object.keys(settings.timeouts), catalog as Catalog<unknown>);
  const limits = createTimeLimits(settings, logger);
  const processor = createProcessor<Data, Tx>(limits.around(handlers), {
    store: store as DedupeStore<Tx>,
    catalog,
    leaseMs,
    logger,
  });
  const limited = limitPauses("retryLater", logger, () => 60_000);
  const logUnavailable = throttledLog(logger.error, monotonicClock);
  const reportedAsDead = new WeakSet<EventJob>();
  let takenAt: number | undefined;

  function parse(entry: InboxEntry): Parsed<Data> | { readonly kind: "threw"; readonly error: unknown } {
    try {
      return catalog.parse(entry.id, entry.body);
    } catch (error) {
      return { kind: "threw", error };
    }
  }

  /** Handles the event of a job. Reports a failure or death that core's processor has not: core's reports only those of handlers. */
  async function run(job: EventJob, entry: InboxEntry, signal: AbortSignal | undefined) {
    const startedAt = monotonicClock.now();
    const waitMs = waitMsOf(job);
    const attempt = startsOf(job);
    const mayWait = waitedMs(job) < maxWaitMs;
    const isLast: Limits["isLast"] = (undone) =>
      undone.code === "failed" ? isFinal(undone.error, job, signal) : !mayWait;
    const parsed = parse(entry);
    const outcome: EventOutcome =
      parsed.kind === "threw"
        ? { code: "failed", error: parsed.error }
        : await processor.accept(parsed, {
            ...provenanceOf(entry),
            attempt,
            ...(waitMs !== undefined && { waitMs }),
            isLastAttempt: isLast,
            ...(signal && { signal }),
          });
    // BullMQ has its own backoff, and no state for events without a handler
    const decided = decide(outcome, {
      maxWaitMs,
      isLast,
      afterMs: (undone) => ("retryAfterMs" in undone ? undone.retryAfterMs : 0),
    });
    const ending: Ending =
      decided.state === "unhandled"
        ? { state: "dead", reason: "unhandled", error: `no handler takes ${entry.type}` }
        : decided;
    const isReported =
      parsed.kind !== "threw" && (outcome.code === "failed" || outcome.code === "retry_later");
    const durationMs = monotonicClock.now() - startedAt;
    if ((ending.state === "retry" || ending.state === "dead") && !isReported)
      reportEnding(logger, ending, {
        ...factsOf(entry, attempt, durationMs),
        ...(waitMs !== undefined && { waitMs }),
      });
    return { outcome, ending, attempt, durationMs };
  }

  // BullMQ passes a signal only to a function with three parameters
  async function process(job: EventJob, token?: string, signal?: AbortSignal): Promise<JobResult> {
    takenAt = monotonicClock.now();
    if (isErased(job.data)) return { outcome: "discarded", reason: "erased" }; // a dashboard has retried it
    const entry = entryIn(job);
    if (limits.isAbandoned(entry)) {
      await job.moveToDelayed(Date.now() + leaseMs, token); // no attempt is spent; another process may take it
      throw new DelayedError();
    }
    const { outcome, ending, attempt, durationMs } = await run(job, entry, signal);
    switch (ending.state) {
      case "retry":
      case "dead": {
        const error = errorOf(ending);
        if (isRateLimit(error)) throw error; // BullMQ makes the job wait: nothing has failed
        if (ending.state === "dead") {
          await forgetWait(job);
          reportedAsDead.add(job);
        }
        const { reason } = ending;
        throw storableError(error, { reason, at: Date.now(), ms: durationMs, stalled: job.stalledCounter });
      }
      case "done":
        logDone(logger, outcome, entry, attempt);
        return resultOf(outcome);
      default:
        if (outcome.code === "store_unavailable")
          logUnavailable({ ...fieldsOf(entry, attempt), err: outcome.error }, "The store did not answer.");
        if (ending.state === "waiting") await noteWait(job);
        await job.moveToDelayed(Date.now() + limited(delayOf(ending), attempt), token);
        throw new DelayedError();
    }
  }

  return Object.assign(process, {
    sinceLastTakeMs: () => (takenAt === undefined ? null : monotonicClock.now() - takenAt),
    abandoned: limits.abandoned,
    onFailed(job: EventJob | undefined, error: Error) {
      if (job?.finishedOn === undefined || reportedAsDead.has(job)) return;
      const entry = decoded(job);
      if (WebhookError.is(entry)) return;
      const { finishedOn, processedOn = finishedOn } = job;
      const ending = { state: "dead", reason: "attempts", error: error.message } as const;
      reportEnding(logger, ending, factsOf(entry, startsOf(job), finishedOn - processedOn));
    },
  });
}

function factsOf(
  { source, id, type, receivedAt }: InboxEntry,
  attempt: number,
  durationMs: number,
): EndedFacts {
  return { source, id, ...(type && { type }), by: "processor", attempt, durationMs, receivedAt };
}

/** Logs a conflict, or an event that its handler discarded: the ending of both says only that they are done. */
function logDone(logger: Logger, outcome: EventOutcome, entry: InboxEntry, attempt: number): void {
  const fields = fieldsOf(entry, attempt);
  if (outcome.code === "conflict")
    logger.error(
      { ...fields, outcome: outcome.code },
      "An event was not handled: its id was done with another body.",
    );
  if (outcome.code === "discarded")
    logger.info({ ...fields, reason: outcome.reason }, "An event was discarded by its handler.");
}

function fieldsOf({ id, type, source }: InboxEntry, attempt: number) {
  return { id, type, source, attempt };
}
