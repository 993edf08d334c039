import { setTimeout as pause } from "node:timers/promises";
import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import { type EventKey, keyText } from "../event/event.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import { callStore, type HeldClaim } from "./claim.ts";

/** Events whose handler is done here, but which the store has not marked: they must not run again while this process lives. */
export interface Unmarked {
  /** What another delivery of the event is; undefined if the event may be claimed. Once there are 10,000, no other may. */
  find(key: EventKey, fingerprint: number | undefined): EventOutcome | undefined;
  /**
   * Keeps the claim, and asks for the mark until the store takes it: true. After a day false: the sender's ten attempts take
   * less. Does not keep the process alive.
   */
  keep(held: HeldClaim): Promise<boolean>;
}

interface Entry {
  readonly held: HeldClaim;
  /** By `performance.now()`. */
  readonly giveUpAt: number;
  /** Asks the store once. Resolves to whether the event is marked. */
  tryMark(): Promise<boolean>;
  /** Resolves what `keep` returned. */
  end(isMarked: boolean): void;
}

const maxEntries = 10_000;
const sliceSize = 16;
const firstPauseMs = 50;
const longestPauseMs = 1000;
const dayMs = 86_400_000;

export function createUnmarked(store: DedupeStore, logger: Logger, leaseMs: number): Unmarked {
  const byKey = new Map<string, Entry>(); // the one that waits longest is first
  const log = throttledLog((fields, message) => logger.error(fields, message), monotonicClock);
  let isAsking = false;

  /** Tries the entries in turn, a slice at a time, until none is left. After a slice with no mark it pauses. */
  async function askInTurn(): Promise<void> {
    isAsking = true;
    for (let pauseMs = firstPauseMs; byKey.size > 0; ) {
      const roundMs = leaseMs / 3; // a full server renews claims, so each has its turn in time
      const mostMs = Math.min(longestPauseMs, roundMs, (roundMs * sliceSize) / byKey.size);
      await pause(Math.min(pauseMs, mostMs), undefined, { ref: false });
      const marks = await Promise.all(nextSlice().map(askOne));
      pauseMs = marks.includes(true) ? 0 : Math.max(firstPauseMs, pauseMs * 2);
    }
    isAsking = false;
  }

  function nextSlice(): Entry[] {
    const slice: Entry[] = [];
    for (const entry of byKey.values()) if (slice.push(entry) === sliceSize) break;
    return slice;
  }

  /** An event that is still not marked goes to the end of the line. */
  async function askOne(entry: Entry): Promise<boolean> {
    const isMarked = await entry.tryMark();
    const name = keyText(entry.held.key);
    byKey.delete(name);
    if (isMarked || performance.now() >= entry.giveUpAt) entry.end(isMarked);
    else byKey.set(name, entry);
    return isMarked;
  }

  return {
    find(key, fingerprint) {
      const held = byKey.get(keyText(key))?.held;
      if (held === undefined)
        return byKey.size < maxEntries ? undefined : { code: "store_unavailable", error: tooMany() };
      const isOther =
        fingerprint !== held.fingerprint && fingerprint !== undefined && held.fingerprint !== undefined;
      return { code: isOther ? "conflict" : "duplicate" };
    },
    keep(held) {
      const { key, type } = held;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const giveUpAt = performance.now() + dayMs;
      byKey.set(keyText(key), { held, giveUpAt, tryMark: marker(store, held), end: resolve });
      log(
        { id: key.id, source: key.source, type },
        "The handler of this event is done, but the store has not marked it. This process remembers the event and goes on asking: keep it running until the store works.",
      );
      if (!isAsking) void askInTurn();
      return promise;
    },
  };
}

function tooMany(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    `The store has not taken the done marks of ${maxEntries} events, which this process remembers, so it claims nothing new.`,
    "Mend what keeps the store from marking, and leave the process running until it has.",
  );
}

/** Tries once to mark the event, with a new claim if the old one is lost. Resolves to whether the event is marked. */
function marker(store: DedupeStore, { key, leaseMs, fingerprint, token }: HeldClaim): () => Promise<boolean> {
  let held: string | undefined = token;
  return async () => {
    if (held === undefined) {
      const claimed = await callStore(() => store.claim(key, leaseMs, fingerprint));
      if ("error" in claimed || claimed.answer.status === "busy") return false;
      if (claimed.answer.status === "done") return true;
      held = claimed.answer.token;
    }
    const owned = held;
    const completed = await callStore(() => store.complete(key, owned));
    if ("error" in completed)
      await callStore(() => store.extend(key, owned, leaseMs)); // a full server takes this
    else if (completed.answer) return true;
    else held = undefined;
    return false;
  };
}
