import { setTimeout as pause } from "node:timers/promises";
import { monotonicClock } from "../base/clock.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import { type EventKey, keyText } from "../event/event.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import { callStore } from "./call-store.ts";
import type { HeldClaim } from "./claim-lease.ts";

/** Events whose handler is done here, but which the store has not marked: they must not run again while this process lives. */
export interface Unmarked {
  /** What another delivery of the event is; undefined if the event is not among them. */
  find(key: EventKey, fingerprint: number | undefined): "duplicate" | "conflict" | undefined;
  /**
   * Keeps the claim, and asks for the mark until the store takes it: true. After a day false: the sender's ten attempts take
   * less. Does not keep the process alive.
   */
  keep(held: HeldClaim): Promise<boolean>;
}

const firstPauseMs = 50;
const longestPauseMs = 1000;
const dayMs = 86_400_000;

export function createUnmarked(store: DedupeStore, logger: Logger): Unmarked {
  const byKey = new Map<string, HeldClaim>();
  const log = throttledLog((fields, message) => logger.error(fields, message), monotonicClock);

  return {
    find(key, fingerprint) {
      const held = byKey.get(keyText(key));
      if (held === undefined) return undefined;
      const isOther =
        fingerprint !== held.fingerprint && fingerprint !== undefined && held.fingerprint !== undefined;
      return isOther ? "conflict" : "duplicate";
    },
    async keep(held) {
      const { key, type, leaseMs } = held;
      const name = keyText(key);
      byKey.set(name, held);
      log(
        { id: key.id, source: key.source, type },
        "The handler of this event is done, but the store has not marked it. This process remembers the event and goes on asking: keep it running until the store works.",
      );
      const mark = marker(store, held);
      const giveUpAt = performance.now() + dayMs;
      let isMarked = false;
      for (let pauseMs = firstPauseMs; !isMarked && performance.now() < giveUpAt; pauseMs *= 2) {
        await pause(Math.min(pauseMs, longestPauseMs, leaseMs / 3), undefined, { ref: false });
        isMarked = await mark();
      }
      byKey.delete(name);
      return isMarked;
    },
  };
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
