import { setTimeout as sleep } from "node:timers/promises";
import { fullJitter, safeBackoff } from "../base/backoff.ts";
import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { throttledLog } from "../base/logger.ts";
import { checkArguments, hasMethod } from "../base/options.ts";
import { createWakeup } from "../base/waiting.ts";
import type { Catalog } from "../event/catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import { createDispatcher } from "../handle/dispatcher.ts";
import type { Handlers } from "../handle/handler.ts";
import { watchLoop } from "../handle/run-handler.ts";
import { createTimeLimits } from "../handle/time-limits.ts";
import type { InboxQueue } from "../store/inbox-queue.ts";
import { createPurger } from "../store/purger.ts";
import { createInFlight } from "./in-flight.ts";
import { logRedrivable } from "./log-redrivable.ts";
import { createIdentity, keepPresent } from "./presence.ts";
import { createEventRunner } from "./run-event.ts";
import { createTaker } from "./taker.ts";
import { defaultBackoff, readWorkerOptions, type WorkerOptions } from "./worker-options.ts";

/** Takes events from an inbox and runs their handlers. */
export interface Worker {
  /**
   * Takes and handles events until `signal` aborts. Then it takes no more and gives handlers `shutdownMs` to finish. It
   * aborts the signals of those that have not finished, makes their events ready again without counting a try towards
   * `maxAttempts`, and resolves. Call it once. Rejects with `invalid_option` without a signal.
   */
  run(options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * How long ago the inbox last answered a `take`, in ms, also if no event was due; null before the first time. A worker whose handlers
   * hang takes nothing: `livenessHandler` of `@esim-webhooks/core/health` notices that.
   */
  sinceLastTakeMs(): number | null;
  /**
   * False while at least as many abandoned handlers run as the worker has slots: until fewer run, it takes nothing. Restart the process
   * then, as with `livenessHandler`.
   */
  isHealthy(): boolean;
  /**
   * `concurrency`: how many handlers it can run at the same time. `running`: how many run, without abandoned ones. `abandoned`: how many abandoned
   * ones still run, fewer than twice `concurrency`: from `concurrency` on it takes nothing, but handlers that run then can be abandoned, too.
   */
  slots(): { readonly concurrency: number; readonly running: number; readonly abandoned: number };
}

const takeBackoff = fullJitter({ baseMs: 200, capMs: 10_000 });

/**
 * A worker takes events from an inbox, runs their handlers and settles them. Any number of workers can share an inbox.
 * Throws `unknown_event_type` for a handler or a limit of an unknown type, and `invalid_option`.
 */
export function createWorker<Data = EsimEvents, Tx = unknown>(
  inbox: InboxQueue<Tx>,
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: WorkerOptions<Data> = {},
): Worker {
  checkArguments(
    "createWorker",
    { inbox: [inbox, "an inbox"], handlers: [handlers, "a map of handlers"], options: [options] },
    "Pass an inbox, then handlers, then options: createWorker(inbox, handlers, { concurrency }).",
  );
  checkQueue(inbox);
  const settings = readWorkerOptions(options);
  const {
    concurrency,
    typeLimits,
    leaseMs,
    maxAttempts,
    maxWaitMs,
    pollMs,
    shutdownMs,
    catalog,
    logger,
    drift,
  } = settings;
  const logUnavailable = throttledLog(logger.error, monotonicClock);
  const backoff = safeBackoff(settings.backoff, defaultBackoff, logger);
  const limits = createTimeLimits(settings, logger);
  const dispatcher = createDispatcher<Data>(limits.around(handlers), catalog as Catalog<Data>);
  const watch = watchLoop(logger, leaseMs);
  const runEvent = createEventRunner({
    inbox,
    dispatcher,
    limits,
    leaseMs,
    catalog,
    maxAttempts,
    maxWaitMs,
    backoff,
    logger,
    watch,
    drift,
  });

  const identity = createIdentity();
  const { takeSuspect, takeSome, sinceLastTakeMs } = createTaker({
    inbox,
    concurrency,
    typeLimits,
    leaseMs,
    logger,
  });
  const isStuck = () => limits.abandoned() >= concurrency;

  let running = () => 0;
  let wasStuck = false;

  /** Logs that the worker has become stuck, once each time. */
  function noteStuck(): void {
    if (isStuck() && !wasStuck)
      logger.error(
        { abandoned: limits.abandoned() },
        "The worker takes no more events: as many abandoned handlers run as it has slots. Restart it, and let handlers stop when context.signal aborts.",
      );
    wasStuck = isStuck();
  }

  /** Purges the inbox each time that a slice is due, until the signal aborts. */
  async function keepPurged(signal: AbortSignal): Promise<void> {
    const purger = createPurger((limit) => inbox.purge(limit));
    while (!signal.aborted) {
      await purger.purgeIfDue().catch((err) => logUnavailable({ err }, "The inbox did not answer."));
      await sleep(purger.waitMs(), undefined, { signal }).catch(() => {});
    }
  }

  return {
    sinceLastTakeMs,
    isHealthy: () => !isStuck(),
    slots: () => ({ concurrency, running: running(), abandoned: limits.abandoned() }),
    async run(options) {
      const signal = signalIn(options);
      const looking = logRedrivable(inbox, dispatcher, logger, signal);
      const wakeup = createWakeup(signal);
      let isFull = false;
      let suspectsAt = 0;
      let restMs: number | undefined;
      const onFree = (group: string | null) => {
        if (isFull || group !== null) wakeup.wake(); // its type may have been at its limit although the worker was not full
      };
      const onEnded = () => {
        if (isFull || inbox.capabilities.ordered) wakeup.wake(); // the next event of its lane may be due
      };
      const inFlight = createInFlight({
        worker: identity.id,
        inbox,
        leaseMs,
        signal,
        backoff,
        logger,
        watch,
        runEvent,
        onFree,
        onEnded,
      });
      running = () => inFlight.running();
      const stopHints = inbox.onHint?.(wakeup.wake);
      const purging = keepPurged(signal);
      const presence = keepPresent(
        inbox,
        identity,
        signal,
        () => ({
          concurrency,
          running: Math.min(concurrency, inFlight.running() + limits.abandoned()),
          sinceLastTakeMs: sinceLastTakeMs(),
        }),
        logger,
      );
      for (let failures = 0; !signal.aborted; ) {
        noteStuck();
        isFull = inFlight.running() >= concurrency || inFlight.unsettled() >= 2 * concurrency || isStuck();
        if (isFull) {
          await wakeup.wait(pollMs);
          continue;
        }
        try {
          if (performance.now() >= suspectsAt) {
            restMs = await takeSuspect(inFlight);
            suspectsAt = performance.now() + (restMs ?? pollMs);
          }
          const mayBeMore = await takeSome(inFlight, signal);
          failures = 0;
          if (mayBeMore) continue;
          if (restMs !== undefined && inFlight.unsettled() === 0)
            suspectsAt = 0; // nothing else is due
          else await wakeup.wait(Math.min(restMs ?? Infinity, pollMs * (0.5 + Math.random())));
        } catch (err) {
          failures += 1;
          logUnavailable({ err }, "The inbox did not answer.");
          await sleep(takeBackoff(failures), undefined, { signal }).catch(() => {});
        }
      }
      stopHints?.();
      await Promise.all([inFlight.stop(shutdownMs), purging, presence, looking]);
      await drift?.flush();
    },
  };
}

function checkQueue(inbox: unknown): void {
  if (hasMethod(inbox, "take")) return;
  throw new WebhookError(
    "invalid_option",
    "the first argument is not an inbox that a worker can take events from.",
    "Pass an inbox such as sqliteInbox(…) or postgresInbox(…), then the handlers.",
    { where: "createWorker" },
  );
}

function signalIn(options: { readonly signal?: AbortSignal } | undefined): AbortSignal {
  if (options?.signal instanceof AbortSignal) return options.signal;
  throw new WebhookError(
    "invalid_option",
    "worker.run has no signal, so nothing could stop the worker.",
    "Pass one: const stop = new AbortController(), then worker.run({ signal: stop.signal }).",
  );
}
