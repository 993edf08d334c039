import * as z from "zod/mini";
import type { Logger } from "../base/logger.ts";
import { durationMs, type OptionsShape, type SettingsOf } from "../base/options.ts";
import { isPromise, unref } from "../base/waiting.ts";
import type { EventKey, WebhookEvent } from "../event/event.ts";
import { type Handler, HandlerTimeout } from "./handler.ts";

/** How long the handlers of a worker may run. */
export interface TimeLimitOptions<Data> {
  /**
   * How long a handler may run, in ms. Then `context.signal` aborts with a `TimeoutError`. A handler that has not ended `graceMs` later is
   * abandoned: its attempt has failed, and what it still does with `context.tx` has no effect. Default: no limit.
   */
  timeoutMs?: number;
  /** The time limits of single types, in ms: `{ "esim.faulted": 60_000 }`. They replace `timeoutMs`. */
  timeouts?: { readonly [Type in keyof Data & string]?: number };
  /** How long a handler has to end after its signal has aborted, in ms. Default 5,000. */
  graceMs?: number;
}

/** `TimeLimitOptions` after parsing. */
export type TimeLimitSettings = Omit<SettingsOf<TimeLimitOptions<unknown>, "timeoutMs">, "timeouts"> & {
  timeouts: Record<string, number>;
};

/** The schemas of `TimeLimitOptions`. */
export const timeLimitShape: OptionsShape<TimeLimitSettings> = {
  timeoutMs: z.optional(durationMs(1)),
  timeouts: z._default(z.record(z.string(), durationMs(1)), {}),
  graceMs: z._default(durationMs(0), 5000),
};

/** The time limits of the handlers of one worker. */
export interface TimeLimits {
  /** Returns a map of handlers in which each function has its limit. */
  around<Handlers extends object>(handlers: Handlers): Handlers;
  /** Whether the handler of an event was abandoned in this process, by this worker or another one, and still runs. */
  isAbandoned(key: EventKey): boolean;
  /** How many abandoned handlers of this worker still run. */
  abandoned(): number;
}

/**
 * The events whose handler was abandoned in this process, by any of its workers, and still runs. An event is listed twice if it was taken again
 * after its lease was lost. The list does not say in which inbox an event is: two inbox objects may open the same store. So in a process that
 * handles the events of two stores, an abandoned handler also puts off an event of the other store that has the same source and id, until the
 * handler ends.
 */
const abandonedHere = new Set<EventKey>();

/** Creates the time limits of one worker. Logs when an abandoned handler has ended. */
export function createTimeLimits(
  { timeoutMs, timeouts, graceMs }: TimeLimitSettings,
  logger: Logger,
): TimeLimits {
  let abandoned = 0;

  function limited(handler: Handler<WebhookEvent>): Handler<WebhookEvent> {
    const inLimit: Handler<WebhookEvent> = (event, context) => {
      const limitMs = Object.hasOwn(timeouts, event.type) ? timeouts[event.type] : timeoutMs;
      if (limitMs === undefined) return handler(event, context);
      const limit = new AbortController();
      follow(context.signal, limit);
      const result = handler(event, { ...context, signal: limit.signal });
      const key = { source: context.source, id: event.id };
      return isPromise(result) ? inTime(Promise.resolve(result), limitMs, limit, key, event.type) : result;
    };
    return Object.assign(inLimit, handler); // keeps the mark of latestOnly
  }

  async function inTime(
    result: Promise<unknown>,
    limitMs: number,
    limit: AbortController,
    key: EventKey,
    type: string,
  ): Promise<unknown> {
    const startedAt = performance.now();
    if (await endsWithin(limitMs, result)) return result;
    limit.abort(new HandlerTimeout(`The handler has run for ${limitMs} ms, its time limit.`));
    if (await endsWithin(graceMs, result)) {
      return result.catch((cause: unknown) => {
        throw new HandlerTimeout(`The handler did not end within ${limitMs} ms.`, { cause });
      });
    }
    abandonedHere.add(key);
    abandoned += 1;
    const onEnd = () => {
      abandonedHere.delete(key);
      abandoned -= 1;
      const ranMs = Math.round(performance.now() - startedAt);
      logger.warn(
        { ...key, type, ranMs },
        "A handler that was abandoned has ended. Its result was discarded.",
      );
    };
    result.then(onEnd, onEnd);
    throw new HandlerTimeout(
      `The handler did not end within ${limitMs} ms, nor in the ${graceMs} ms after its signal aborted. It still runs.`,
    );
  }

  return {
    around(handlers) {
      if (timeoutMs === undefined && Object.keys(timeouts).length === 0) return handlers;
      const entries = Object.entries(handlers).map(([name, handler]) => [
        name,
        typeof handler === "function" ? limited(handler) : handler,
      ]);
      return Object.fromEntries(entries);
    },
    isAbandoned: ({ source, id }) => [...abandonedHere].some((key) => key.id === id && key.source === source),
    abandoned: () => abandoned,
  };
}

/** Aborts `limit` when `signal` aborts. An `AbortSignal.any` without a listener could miss that: its source may be garbage-collected. */
function follow(signal: AbortSignal, limit: AbortController): void {
  const abort = () => limit.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
}

/** Resolves to whether the work ended within `ms`. Its timer does not keep the process alive. */
function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    unref(timer);
    const end = () => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(end, end);
  });
}
