/** The rate limit, as an answer states it. */
export interface Rate {
  /** How many calls the service still accepts in this window. */
  readonly remaining?: number | undefined;
  /** How long to send nothing, in ms. */
  readonly pauseMs?: number | undefined;
  /** The limit in force: a number of calls in a window of ms. */
  readonly policy?: Policy | undefined;
}

/** The limit that the service applies, as its answers name it. */
export interface Policy {
  /** The most calls in a window. */
  readonly calls: number;
  /** The length of the window, in ms. */
  readonly windowMs: number;
}

/** The part of fetch's `Headers` that is read. */
export interface ReadableHeaders {
  get(name: string): string | null;
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Returns how long the service asks to wait, in ms: `Retry-After` in seconds, or as a date that is compared with the service's own
 * `Date`. Undefined when the header is missing or makes no sense.
 */
export function retryAfterMs(headers: ReadableHeaders): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(?:\.\d+)?$/.test(value)) return Math.min(Number(value) * 1000, dayMs);
  if (!/^[A-Z][a-z]{2}/.test(value)) return undefined; // Date.parse takes "-1" for a year
  const ms = Date.parse(value) - (serverTime(headers) ?? Date.now());
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), dayMs);
}

/** Reads the headers of the rate limit. Leaves out values that make no sense. */
export function readRate(status: number, headers: ReadableHeaders): Rate {
  const remaining = wholeNumber(headers.get("x-ratelimit-remaining"));
  const policy = readPolicy(headers.get("ratelimit-policy"));
  if (status === 429)
    return { remaining: 0, pauseMs: retryAfterMs(headers) ?? resetMs(headers) ?? 1000, policy };
  return {
    remaining,
    policy,
    ...(remaining === 0 && { pauseMs: resetMs(headers) ?? policy?.windowMs ?? 1000 }),
  };
}

/**
 * Returns the time until the limit is reset, in ms. `X-RateLimit-Reset` is Unix time or the seconds that are left, since the API says
 * both. A Unix time is more than a billion. Undefined for a time that no window of this API can have.
 */
function resetMs(headers: ReadableHeaders): number | undefined {
  const reset = wholeNumber(headers.get("x-ratelimit-reset"));
  if (reset === undefined) return undefined;
  const ms = reset < 1e9 ? reset * 1000 : reset * 1000 - (serverTime(headers) ?? Date.now());
  return ms <= longestWindowMs ? Math.max(ms, 0) : undefined;
}

const longestWindowMs = 60 * 60 * 1000;

/** Returns the service's time, in ms since the Unix epoch, so that a wrong clock of this machine has no effect. */
function serverTime(headers: ReadableHeaders): number | undefined {
  const ms = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

/** Reads `10;w=1` and `"default";q=10;w=1`: the drafts of the header have both forms. */
function readPolicy(value: string | null): Policy | undefined {
  const calls = wholeNumber(/;\s*q=(\d+)/.exec(value ?? "")?.[1] ?? /^\s*(\d+)/.exec(value ?? "")?.[1]);
  const seconds = wholeNumber(/;\s*w=(\d+)/.exec(value ?? "")?.[1]);
  if (!calls || !seconds || seconds * 1000 > longestWindowMs) return undefined;
  return { calls, windowMs: seconds * 1000 };
}

function wholeNumber(value: string | null | undefined): number | undefined {
  return value !== undefined && value !== null && /^\s*\d{1,15}\s*$/.test(value) ? Number(value) : undefined;
}
