import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import { createDeadline, sleep } from "../base/waiting.ts";
import { type EventKey, keyText } from "../event/event.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import { callStore, type HeldClaim } from "./claim.ts";
import type { ClaimStore } from "./traced-store.ts";

/**
 * Events that their handlers have done here, and that the store could not mark as done yet. They must not run again while
 * this process lives.
 */
export interface PendingMarks {
  /** Returns the outcome for another delivery of the event; undefined if the event may be claimed. Once 10,000 marks are pending, no event may be claimed. */
  find(key: EventKey, fingerprint: number | undefined): EventOutcome | undefined;
  /**
   * Keeps the claim, and retries the mark. Resolves to true once the store has it; to false after a day, which is longer than
   * the sender's ten attempts. A newer claim of the same event replaces the claim, and both calls get the same answer. Does
   * not keep the process alive.
   */
  add(held: HeldClaim): Promise<boolean>;
}

/** An event, with its newest claim. */
interface Entry extends Attempts {
  readonly held: HeldClaim;
  /** Tries once to mark the event. Resolves to whether it is marked. Never rejects. */
  tryMark(): Promise<boolean>;
}

interface Attempts {
  /** By `performance.now()`. */
  readonly giveUpAt: number;
  /** The promise that `add` returns. */
  readonly marked: Promise<boolean>;
  /** Resolves `marked`. */
  end(isMarked: boolean): void;
}

const maxEntries = 10_000;
const smallestSlice = 16;
const slicesPerRound = 100;
const firstPauseMs = 50;
const longestPauseMs = 1000;
const dayMs = 86_400_000;

export function createPendingMarks(store: ClaimStore, logger: Logger, leaseMs: number): PendingMarks {
  const byKey = new Map<string, Entry>(); // the next one to try is first
  const log = throttledLog((fields, message) => logger.error(fields, message), monotonicClock);
  const roundMs = leaseMs / 3; // each claim is tried, and so renewed, once in this time: a full server still renews claims
  let isAsking = false;

  /** Tries the entries, one slice after the other, until none is left. After a slice with no mark it pauses. */
  async function askForAll(): Promise<void> {
    isAsking = true;
    let tookMs = 0;
    for (let pauseMs = firstPauseMs; byKey.size > 0; ) {
      const size = Math.max(smallestSlice, Math.ceil(byKey.size / slicesPerRound));
      const leftMs = roundMs * Math.min(1, size / byKey.size) - tookMs;
      await sleep(Math.max(0, Math.min(pauseMs, longestPauseMs, leftMs)));
      const startedAt = performance.now();
      const marks = await Promise.all(nextSlice(size).map(askOne));
      tookMs = performance.now() - startedAt;
      pauseMs = marks.includes(true) ? 0 : Math.max(firstPauseMs, pauseMs * 2);
    }
    isAsking = false;
  }

  function nextSlice(size: number): Entry[] {
    const slice: Entry[] = [];
    for (const entry of byKey.values()) if (slice.push(entry) === size) break;
    return slice;
  }

  /** Tries one entry. If its event is still not marked, the entry goes to the end, or is dropped after a day. Never rejects. */
  async function askOne(entry: Entry): Promise<boolean> {
    const isMarked = (await createDeadline(roundMs).before(entry.tryMark())) ?? false; // a call that hangs holds up no other event
    const name = keyText(entry.held.key);
    byKey.delete(name);
    if (isMarked || performance.now() >= entry.giveUpAt) entry.end(isMarked);
    else byKey.set(name, entry);
    return isMarked;
  }

  return {
    find(key, fingerprint) {
      if (byKey.size === 0) return undefined;
      const held = byKey.get(keyText(key))?.held;
      if (held === undefined)
        return byKey.size < maxEntries ? undefined : { code: "store_unavailable", error: tooMany() };
      const isOther =
        fingerprint !== held.fingerprint && fingerprint !== undefined && held.fingerprint !== undefined;
      return { code: isOther ? "conflict" : "duplicate" };
    },
    add(held) {
      const { key, type } = held;
      const name = keyText(key);
      const attempts: Attempts = byKey.get(name) ?? startAttempts();
      byKey.set(name, Object.assign(attempts, { held, tryMark: marker(store, held) }));
      log(
        { id: key.id, source: key.source, type },
        "The handler of this event is done, but the store has not marked it. This process remembers the event and retries the mark: keep it running until the store works.",
      );
      if (!isAsking) void askForAll();
      return attempts.marked;
    },
  };
}

function startAttempts(): Attempts {
  const { promise: marked, resolve: end } = Promise.withResolvers<boolean>();
  return { giveUpAt: performance.now() + dayMs, marked, end };
}

function tooMany(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    `The store could not mark ${maxEntries} events as done. This process remembers them, and claims no new events.`,
    "Fix the store, and keep this process running until it has marked them.",
  );
}

/** Makes the function that tries once to mark the event, with a new claim if the old one is lost. It resolves to whether the event is marked. */
function marker(store: ClaimStore, { key, leaseMs, fingerprint, token }: HeldClaim): () => Promise<boolean> {
  let held: string | undefined = token;
  return async () => {
    if (held === undefined) {
      const claimed = await callStore(() => store.claim(key, leaseMs, fingerprint));
      const claim = "answer" in claimed ? claimed.answer : undefined;
      if (claim?.status !== "claimed") return claim?.status === "done";
      held = claim.token;
    }
    const owned = held;
    const completed = await callStore(() => store.complete(key, owned));
    if ("answer" in completed && completed.answer) return true;
    // a full server marks nothing, and still renews
    const renewed =
      "error" in completed ? await callStore(() => store.extend(key, owned, leaseMs)) : completed;
    if ("answer" in renewed && !renewed.answer) held = undefined;
    return false;
  };
}
