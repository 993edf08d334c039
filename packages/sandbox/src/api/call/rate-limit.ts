import type { ServiceClock } from "../../base/clock.ts";
import type { Service } from "../../base/service.ts";
import type { CallContext, Middleware } from "./environment.ts";
import { HttpRefusal } from "./http-refusal.ts";

type Headers = Readonly<Record<string, string>>;

export interface RateLimit {
  /** Counts a call. False: it is above the limit, and not counted. */
  take(key: string): boolean;
  /** What answers say of the limit. */
  headers(key: string): Headers;
  /** A call above the limit; also for the fault that answers as if it were. */
  refusal(key: string): HttpRefusal;
  /** As if nobody had called. */
  clear(): void;
}

/** The limits of the service: of the calls of each client, and of those for tokens, which all clients share. */
export interface RateLimits {
  readonly calls: RateLimit;
  readonly tokens: RateLimit;
}

export function createRateLimits(service: Service): RateLimits {
  return {
    calls: createRateLimit(service, 10, service.switches.burst),
    tokens: createRateLimit(service, 30, 30),
  };
}

/**
 * At most `burst` calls at once and `perSecond` on average, for each key, on the service's clock. For each key it keeps
 * one time: when all of its calls will be available again (GCRA). `X-RateLimit-Reset` and `Retry-After` are in real time, in which callers live;
 * on a manual clock, as if it went like the real one.
 */
export function createRateLimit(service: Service, perSecond: number, burst: number): RateLimit {
  const { clock, switches } = service;
  const msPerCall = 1000 / perSecond;
  const fullAt = new Map<string, number>();

  const remaining = (key: string) =>
    Math.floor((burst * msPerCall - Math.max(0, (fullAt.get(key) ?? 0) - clock.now())) / msPerCall + 1e-9);

  function take(key: string): boolean {
    if (remaining(key) < 1) return false;
    fullAt.set(key, Math.max(fullAt.get(key) ?? 0, clock.now()) + msPerCall);
    return true;
  }

  const headers = (key: string): Headers => ({
    "x-ratelimit-limit": String(burst),
    "x-ratelimit-remaining": String(remaining(key)),
    "ratelimit-policy": `${perSecond};w=1`,
  });

  function refusal(key: string): HttpRefusal {
    const now = clock.now();
    const end = fullAt.get(key) ?? now;
    const secondsUntil = (time: number) => Math.max(1, Math.ceil(realMsUntil(clock, time) / 1000));
    const reset = secondsUntil(end);
    const free = end - (burst - 1) * msPerCall;
    const remedy =
      clock.realMsUntil(free) === undefined
        ? "The clock stands still: advance it, or start the sandbox with the switch rateLimit=off."
        : "Wait as long as Retry-After says, and a little at random.";
    return new HttpRefusal(429, `Too many calls at once. ${remedy}`, {
      ...headers(key),
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(
        switches.rateLimitReset === "epoch" ? Math.floor(Date.now() / 1000) + reset : reset,
      ),
      "retry-after": String(secondsUntil(free)),
    });
  }

  return { take, headers, refusal, clear: () => fullAt.clear() };
}

function realMsUntil(clock: ServiceClock, time: number): number {
  return clock.realMsUntil(time) ?? Math.max(0, time - clock.now());
}

/** Lets a call pass if its key is within the limit, and tells its answer how much is left. */
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
