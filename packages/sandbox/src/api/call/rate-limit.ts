import type { ServiceClock } from "../../base/clock.ts";
import type { Service } from "../../base/service.ts";
import type { CallContext, Middleware } from "./environment.ts";
import { HttpRefusal } from "./error-answer.ts";

type Headers = Readonly<Record<string, string>>;

export interface RateLimit {
  /** Counts a call. False: it is above the limit, and not counted. */
  take(key: string): boolean;
  /** Returns an answer's headers about the limit. */
  headers(key: string): Headers;
  /** The refusal of a call above the limit; also for the fault that answers as if the call were above it. */
  refusal(key: string): HttpRefusal;
  /** Forgets all calls. */
  clear(): void;
}

/** The limits of the service: of the calls of each client, and of those for tokens, which all clients share. */
export interface RateLimits {
  readonly calls: RateLimit;
  readonly tokens: RateLimit;
}

export function createRateLimits(service: Service): RateLimits {
  return {
    calls: createRateLimit(service, service.switches.burst),
    tokens: createRateLimit(service, 30),
  };
}

const windowMs = 1000;

/**
 * Allows `most` calls in any second of the service's clock, for each key. Keeps the times of the calls in the last second.
 * `X-RateLimit-Reset` and `Retry-After` are in real time, in which callers live; on a manual clock, as if that clock ran like the real one.
 */
export function createRateLimit(service: Service, most: number): RateLimit {
  const { clock, switches } = service;
  const times = new Map<string, readonly number[]>();

  const recent = (key: string): readonly number[] =>
    (times.get(key) ?? []).filter((time) => time > clock.now() - windowMs);

  function take(key: string): boolean {
    const before = recent(key);
    if (before.length >= most) return false;
    times.set(key, [...before, clock.now()]);
    return true;
  }

  const headers = (key: string): Headers => ({
    "x-ratelimit-limit": String(most),
    "x-ratelimit-remaining": String(most - recent(key).length),
    "ratelimit-policy": `${most};w=${windowMs / 1000}`,
  });

  function refusal(key: string): HttpRefusal {
    const counted = recent(key);
    const now = clock.now();
    const endOf = (time = now - windowMs) => time + windowMs;
    const free = endOf(counted[counted.length - most]); // now, where a fault refuses a call within the limit
    const secondsUntil = (time: number) => Math.max(1, Math.ceil(realMsUntil(clock, time) / 1000));
    const reset = secondsUntil(endOf(counted.at(-1)));
    const remedy =
      clock.realMsUntil(free) === undefined
        ? "The clock stands still: advance it, or start the sandbox with the switch rateLimit=off."
        : "Wait as long as Retry-After says, and a little at random.";
    return new HttpRefusal(429, `Too many calls in one second. ${remedy}`, {
      ...headers(key),
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(
        switches.rateLimitReset === "epoch" ? Math.floor(Date.now() / 1000) + reset : reset,
      ),
      "retry-after": String(secondsUntil(free)),
    });
  }

  return { take, headers, refusal, clear: () => times.clear() };
}

function realMsUntil(clock: ServiceClock, time: number): number {
  return clock.realMsUntil(time) ?? Math.max(0, time - clock.now());
}

/** Lets a call pass if its key is within the limit, and adds to its answer how much is left. */
export function limited(
  { switches }: Service,
  limit: RateLimit,
  keyOf: (context: CallContext) => string,
): Middleware {
  return async (context, next) => {
    if (switches.rateLimit === "off") return next();
    const key = keyOf(context);
    if (!limit.take(key)) throw limit.refusal(key);
    await next();
    if (switches.rateHeadersOn2xx === "off" || context.res.status >= 500) return;
    for (const [name, value] of Object.entries(limit.headers(key))) {
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
    }
  };
}
