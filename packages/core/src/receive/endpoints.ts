import type { Awaitable } from "../base/awaitable.ts";
import { type Clock, monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger, throttledLog } from "../base/logger.ts";
import { andThen } from "../base/waiting.ts";
import type { KeySource, Waiters } from "../verify/key-source.ts";
import { prepareKeys } from "../verify/keyring.ts";
import { ask, createSlots, type Found, failureLog } from "./endpoint-lookup.ts";
import { createMissingPaths } from "./missing-paths.ts";
import type { Outcome } from "./outcome.ts";
import type { EndpointLookup } from "./receiver-options.ts";
import { registerSource } from "./shared-source.ts";
import { createVerifier, type Verifier } from "./verifier.ts";

/** An endpoint whose deliveries can be verified. */
export interface Endpoint {
  readonly source: string;
  readonly verify: Verifier["verify"];
}

/** Why there is no endpoint for a delivery. */
type NoEndpoint = Extract<
  Outcome,
  { code: "unknown_endpoint" | "endpoint_unconfirmed" | "keys_unavailable" }
>;

/** Why an endpoint that was known is no longer used. Its deliveries are answered 503. */
type Ended = Exclude<NoEndpoint, { code: "unknown_endpoint" }>;

/** The endpoints of a receiver. */
export interface Endpoints {
  /** Finds the endpoint of a path, or why there is none: without a promise if no lookup is needed. Throws `invalid_input` without a path. */
  find(path: string | undefined): Awaitable<Endpoint | NoEndpoint>;
  ready(): Promise<void>;
  close(): void;
}

interface Settings {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The store or inbox that remembers the ids of all endpoints. */
  readonly idStore: object;
  /** Makes the `verify` of an endpoint a stage that can be watched. */
  watch(verify: Verifier["verify"], source: string): Verifier["verify"];
}

const longestPath = 1024;
const mostEndpoints = 10_000;
const mostLookups = 100;
/**
 * How many deliveries may wait for new keys, over all endpoints. One endpoint may have 100 of them, so floods of forged deliveries at two
 * endpoints leave room for the others.
 */
const mostWaiters = 300;

/** An endpoint that is cached, or was. */
interface KnownEndpoint extends Endpoint {
  leave(): void;
}

/**
 * Finds endpoints with `lookUp`, and caches them. Any client can ask for any path, so the paths, what is remembered of them, and the lookups
 * under way are all bounded. A cached endpoint is looked up again when a key source would be loaded again. An answer with the same source
 * replaces its keys. After null or another source, the endpoint is dropped: deliveries that it was verifying are answered 503, and later
 * ones are looked up again.
 *
 * A delivery is answered 404, which is final, only if a lookup that began after it arrived has found no endpoint for its path.
 */
export function createEndpoints(lookUp: EndpointLookup, settings: Settings): Endpoints {
  const { clock, logger, idStore, watch } = settings;
  const known = new Map<string, KnownEndpoint>(); // the least recently used first
  const missing = createMissingPaths(clock);
  const underWay = new Map<string, Promise<KnownEndpoint | NoEndpoint>>();
  const slots = createSlots(mostLookups);
  const waiters: Waiters = { count: 0, most: mostWaiters };
  const logFailure = failureLog(logger);
  const logMissing = throttledLog(logger.warn, monotonicClock);
  const keyLog = logger === silentLogger ? logger.error : throttledLog(logger.error, monotonicClock);

  async function lookUpNew(path: string): Promise<KnownEndpoint | NoEndpoint> {
    try {
      const found = await ask(lookUp, path);
      if (found !== null) return await admit(path, found);
      return missing.missed(path) ? notFound : doubted;
    } catch (err) {
      logFailure(err);
      return lookupFailed;
    } finally {
      underWay.delete(path);
      slots.give();
    }
  }

  async function admit(path: string, first: Found): Promise<KnownEndpoint> {
    const { source } = first;
    let latest = first.keys;
    let isLoaded = false;
    let ended: Ended | undefined;
    let queued: Promise<Found | null> | undefined;

    /** Asks again, in a slot. Calls that wait for a slot share one answer. */
    function askAgain(): Promise<Found | null> {
      queued ??= slots.take().then(async () => {
        queued = undefined;
        return ask(lookUp, path).finally(slots.give);
      });
      return queued;
    }

    const keySource: KeySource = {
      async load() {
        if (isLoaded) {
          const found = await askAgain();
          if (found?.source === source) latest = found.keys;
          else end(found === null ? doubted : sourceChanged);
        }
        isLoaded = true;
        return latest;
      },
    };
    const log = { ...logger, error: (fields: object, text: string) => keyLog({ source, ...fields }, text) };
    const verifier = createVerifier(
      { secret: keySource },
      clock,
      logger === silentLogger ? logger : log,
      waiters,
    );
    const verify: Verifier["verify"] = (signed, body, atMs) =>
      andThen(verifier.verify(signed, body, atMs), (proof) => (ended ? { ok: false, ...ended } : proof));
    const keys = prepareKeys(first.keys.keys).map(({ fingerprint }) => fingerprint);
    const endpoint: KnownEndpoint = {
      source,
      verify: watch(verify, source),
      leave: registerSource(idStore, source, keys, logger),
    };

    function end(reason: Ended): void {
      ended = reason;
      if (known.get(path) === endpoint) forget(path, endpoint);
      if (reason !== doubted) return;
      missing.missed(path);
      logMissing({ code: "endpoint_missing", source }, missingText);
    }

    await verifier.ready();
    missing.found(path);
    known.set(path, endpoint);
    if (known.size > mostEndpoints) forget(...firstEntry(known));
    return endpoint;
  }

  function forget(path: string, endpoint: KnownEndpoint): void {
    known.delete(path);
    missing.left(path);
    endpoint.leave();
  }

  return {
    find(given) {
      if (given === undefined) throw noPath();
      const path = plainPath(given);
      const endpoint = known.get(path);
      if (endpoint !== undefined) {
        known.delete(path);
        known.set(path, endpoint);
        return endpoint;
      }
      if (path.length > longestPath) return tooLong;
      if (missing.isResting(path)) return lookedUpBefore;
      const begun = underWay.get(path);
      if (begun !== undefined) return begun.then((found) => (found === notFound ? lookedUpBefore : found));
      if (!slots.tryTake()) return tooManyLookups;
      const lookup = lookUpNew(path);
      underWay.set(path, lookup);
      return lookup;
    },
    // what a lookup answers depends on the path, which any client chooses, so it does not decide whether the process is ready
    async ready() {},
    close() {
      for (const { leave } of known.values()) leave();
    },
  };
}

const notFound: NoEndpoint = { code: "unknown_endpoint", reason: "endpoints() found none for the path" };
const lookedUpBefore: NoEndpoint = {
  code: "endpoint_unconfirmed",
  reason:
    "endpoints() found none for the path, in a lookup that began before this delivery; it is asked again after 10 s at most",
};
const doubted: Ended = {
  code: "endpoint_unconfirmed",
  reason:
    "endpoints() found none for the path, where it had found one within the last hour; it is asked again before that is believed",
};
const tooLong: NoEndpoint = {
  code: "endpoint_unconfirmed",
  reason: `the path has more than ${longestPath} characters, so it was not looked up`,
};
const lookupFailed: NoEndpoint = {
  code: "keys_unavailable",
  reason: "the endpoint could not be looked up; the line endpoint_lookup_failed has the error",
};
const tooManyLookups: NoEndpoint = {
  code: "keys_unavailable",
  reason: `${mostLookups} endpoints are being looked up already`,
};
const sourceChanged: Ended = {
  code: "keys_unavailable",
  reason: "the endpoint has another source now, under which the next attempt is accepted",
};

const missingText =
  "endpoints() found no endpoint for a path for which it had found one. Its deliveries are answered 503, and 404 once a lookup " +
  "5 s later or more has found none either. If it was not removed, let endpoints() read the primary database, not a replica.";

/** The path without its query, and without a slash at its end. */
function plainPath(given: string): string {
  const [path = ""] = given.split("?", 1);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function noPath(): WebhookError {
  return new WebhookError(
    "invalid_input",
    "The receiver has { endpoints }, and the delivery has no path.",
    "Pass the path below the route: receive({ method, headers, body, path }).",
  );
}

function firstEntry<Key, Value>(map: ReadonlyMap<Key, Value>): [Key, Value] {
  const [first] = map;
  return first as [Key, Value];
}
