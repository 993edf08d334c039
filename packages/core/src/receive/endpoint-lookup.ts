import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger, throttledLog, warnOnce } from "../base/logger.ts";
import { createDeadline } from "../base/waiting.ts";
import { isStorableSource, sourceForm } from "../event/event.ts";
import { isList, type LoadedKeys } from "../verify/key-source.ts";
import { listSecrets, prepareKeys } from "../verify/keyring.ts";
import type { EndpointLookup } from "./receiver-options.ts";
import { isKeySource } from "./verifier.ts";

/** An endpoint that a lookup has found, with the current keys of its secret. */
export interface Found {
  readonly source: string;
  readonly keys: LoadedKeys;
}

const lookupTimeoutMs = 5000;

/** Asks for the endpoint of a path. Resolves to null if there is none. Rejects if there is no valid answer within 5 s. */
export async function ask(lookUp: EndpointLookup, path: string): Promise<Found | null> {
  const found = await createDeadline(lookupTimeoutMs).before(foundBy(lookUp, path));
  if (found !== undefined) return found;
  throw new Error(`endpoints() and the key source that it returned took more than ${lookupTimeoutMs} ms.`);
}

async function foundBy(lookUp: EndpointLookup, path: string): Promise<Found | null> {
  const answer = await lookUp(path);
  if (answer === null || answer === undefined) return null;
  const { source, secret } = answer;
  if (!isStorableSource(source)) throw wrongAnswer("source", `has no source of ${sourceForm}`);
  const loaded = isKeySource(secret) ? await secret.load() : { keys: secret };
  const keys = isList(loaded) ? { keys: loaded } : loaded;
  if (listSecrets(keys?.keys).length === 0) throw wrongAnswer("secret", "has no secret");
  prepareKeys(keys.keys);
  return { source, keys };
}

function wrongAnswer(option: string, problem: string): WebhookError {
  return new WebhookError(
    "invalid_option",
    `What endpoints() returned ${problem}.`,
    "Return { source, secret } for an endpoint, and null for a path without one. While its secret is not known yet, let it throw: deliveries are answered 503.",
    { where: "webhook receiver", option },
  );
}

/** Returns a function that logs failed lookups, at most one a second. Without a logger, the first one is a process warning. */
export function failureLog(logger: Logger): (err: unknown) => void {
  const code = "endpoint_lookup_failed";
  const text =
    "The endpoint of a delivery could not be looked up, so the delivery was answered 503. Fix what endpoints() threw or returned.";
  if (logger === silentLogger) return (err) => warnOnce(code, text, err);
  const log = throttledLog(logger.error, monotonicClock);
  return (err) => log({ err, code }, text);
}

/** A bounded number of slots. A call that waits for a slot gets the next free one, before any `tryTake`. */
export function createSlots(most: number) {
  let free = most;
  const waiting: (() => void)[] = [];
  return {
    tryTake(): boolean {
      if (free === 0) return false;
      free -= 1;
      return true;
    },
    take(): Promise<void> {
      return new Promise((resolve) => {
        if (this.tryTake()) resolve();
        else waiting.push(resolve);
      });
    },
    give(): void {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    },
  };
}
