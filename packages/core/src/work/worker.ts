import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod/mini";
import { type Backoff, fullJitter, safeBackoff } from "../base/backoff.ts";
import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, safeLogger, silentLogger, throttledLog } from "../base/logger.ts";
import {
  durationMs,
  loggerOption,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  suggest,
  withMethods,
} from "../base/options.ts";
import { createWakeup } from "../base/wakeup.ts";
import type { Catalog } from "../event/catalog.ts";
import { type EsimEvents, esimCatalog } from "../event/esim-catalog.ts";
import { createDispatcher } from "../handle/dispatcher.ts";
import type { Handlers } from "../handle/handler.ts";
import { hasRole } from "../store/inbox.ts";
import type { InboxQueue, TakeOptions } from "../store/inbox-queue.ts";
import { createHands, type WorkerHands } from "./in-flight.ts";
import { createTakenWork } from "./run-event.ts";
import { takeStage } from "./take-stage.ts";

export interface WorkerOptions<Data = EsimEvents> {
  /** How many events are worked at the same time. Default 20. */
  concurrency?: number;
  /** At most so many at the same time of a type: `{ "esim.balance.updated": 2 }`. Default: no limit of its own. */
  typeLimits?: { readonly [Type in keyof Data & string]?: number };
  /** How long a crashed worker keeps an event from the others, in ms; renewed while a handler runs. Default 30,000. */
  leaseMs?: number;
  /** How often an event is tried before it is dead, those included that ended with their worker. Default 20. */
  maxAttempts?: number;
  /** How long to wait after a failure. Default: full jitter up to 1 s after the first, doubling, up to 15 minutes. */
  backoff?: Backoff;
  /** How long to wait before looking again when there was nothing, in ms, give or take a half. Default 1,000. */
  pollMs?: number;
  /** How long handlers may go on after the signal to stop, in ms. Default 20,000. */
  shutdownMs?: number;
  /** Default: the eSIM events. Extend it with `defineCatalog`. */
  catalog?: Catalog<Data>;
  logger?: Logger;
}

export interface Worker {
  /**
   * Takes and works events until `signal` aborts. Then takes no more, lets handlers finish for `shutdownMs`, tells those
   * that are left to stop by their own signal, gives their events back as if never tried, and resolves. Call it once.
   */
  run(options: { readonly signal: AbortSignal }): Promise<void>;
}

interface WorkerSettings extends SettingsOf<WorkerOptions<unknown>> {
  typeLimits: Record<string, number>;
}

const defaultBackoff = fullJitter({ baseMs: 1000, capMs: 15 * 60_000 });

const shape: OptionsShape<WorkerSettings> = {
  concurrency: z._default(z.int().check(z.gte(1)), 20),
  typeLimits: z._default(z.record(z.string(), z.int().check(z.gte(1))), {}),
  leaseMs: z._default(durationMs(30), 30_000),
  maxAttempts: z._default(z.int().check(z.gte(1)), 20),
  backoff: z._default(
    z.custom<Backoff>((given) => typeof given === "function", "expected a function, such as fullJitter(…)"),
    () => defaultBackoff,
  ),
  pollMs: z._default(durationMs(1), 1000),
  shutdownMs: z._default(durationMs(0), 20_000),
  catalog: z._default(withMethods<Catalog<unknown>>("parse", "check"), esimCatalog as Catalog<unknown>),
  logger: z._default(loggerOption, silentLogger),
};

const purgeEveryMs = 60_000;
const purgeBatch = 1000;
const awayBackoff = fullJitter({ baseMs: 200, capMs: 10_000 });

/**
 * Works events off an inbox: take, dispatch, settle. Any number of workers may share one.
 * Throws `unknown_event_type` or `invalid_option` when the set-up is wrong.
 */
export function createWorker<Data = EsimEvents, Tx = unknown>(
  inbox: InboxQueue<Tx>,
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: WorkerOptions<Data> = {},
): Worker {
  const settings = parseOptions("createWorker", shape, options);
  const { concurrency, typeLimits, leaseMs, maxAttempts, pollMs, shutdownMs, catalog } = settings;
  const logger = safeLogger(settings.logger);
  const logAway = throttledLog(logger.error, monotonicClock);
  const backoff = safeBackoff(settings.backoff, defaultBackoff);
  const dispatcher = createDispatcher<Data>(handlers, catalog as Catalog<Data>);
  for (const type of Object.keys(typeLimits)) checkType(type, catalog);
  const work = createTakenWork({ inbox, dispatcher, catalog, maxAttempts, backoff, logger });

  /** Takes what there is room for, types with a limit by themselves. Resolves to whether there may be more. */
  async function takeSome(hands: WorkerHands, signal: AbortSignal): Promise<boolean> {
    let more = false;
    const take = async (room: number, which: Pick<TakeOptions, "only" | "except">, group: string | null) => {
      const limit = Math.min(room, concurrency - hands.working());
      if (limit <= 0 || signal.aborted) return;
      const askedAt = performance.now();
      const taken = await takeStage.trace(
        () => ({ limit }),
        () => inbox.take({ limit, leaseMs, ...which }),
        ({ length }) => ({ outcome: "taken", taken: length }),
      );
      for (const event of taken) hands.start(event, askedAt, group);
      more ||= taken.length === limit;
    };
    for (const [type, limit] of Object.entries(typeLimits)) {
      await take(limit - hands.working(type), { only: [type] }, type);
    }
    await take(concurrency, { except: Object.keys(typeLimits) }, null);
    return more;
  }

  /** An upgrade may have brought the handlers that they were waiting for. */
  async function tellUnhandled(): Promise<void> {
    if (!hasRole(inbox, "admin")) return;
    const events = await inbox.count({ state: "unhandled", types: dispatcher.types }).catch(() => 0); // a later start tells
    if (events === 0) return;
    logger.info(
      { events },
      "There are unhandled events that a handler takes now: have them worked by redrive with the state unhandled.",
    );
  }

  return {
    async run({ signal }) {
      const told = tellUnhandled();
      const wakeup = createWakeup(signal);
      let isFull = false;
      const onFree = (group: string | null) => {
        if (isFull || group !== null) wakeup.wake(); // a type may have been at its limit, and the worker not full
      };
      const onEnded = () => {
        if (isFull || inbox.capabilities.ordered) wakeup.wake(); // the next one of its lane may be due
      };
      const hands = createHands({ inbox, leaseMs, backoff, logger, work, onFree, onEnded });
      const endHints = inbox.onHint?.(wakeup.wake);
      const purge = createPurge(inbox);
      for (let failures = 0; !signal.aborted; ) {
        isFull = hands.working() >= concurrency || hands.unsettled() >= 2 * concurrency;
        if (isFull) {
          await wakeup.wait(pollMs);
          continue;
        }
        try {
          const more = await takeSome(hands, signal);
          await purge();
          failures = 0;
          if (!more) await wakeup.wait(pollMs * (0.5 + Math.random()));
        } catch (err) {
          failures += 1;
          logAway({ err }, "The inbox did not answer.");
          await pause(awayBackoff(failures), undefined, { signal }).catch(() => {});
        }
      }
      endHints?.();
      await hands.stop(shutdownMs);
      await told;
    },
  };
}

/** Deletes what may be forgotten now and then, and on until there is no more. */
function createPurge(inbox: Pick<InboxQueue, "purge">): () => Promise<void> {
  let nextAt = 0;
  return async () => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + purgeEveryMs;
    if ((await inbox.purge(purgeBatch)) === purgeBatch) nextAt = 0;
  };
}

function checkType(type: string, catalog: Catalog<unknown>): void {
  const types: readonly string[] = catalog.types;
  if (types.includes(type)) return;
  throw new WebhookError(
    "unknown_event_type",
    `There is a limit for "${type}", which the catalog does not have.`,
    `${suggest(type, types)} Limits are by exact type.`,
  );
}
