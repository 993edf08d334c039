import type { Clock } from "../base/clock.ts";
import { listenTo } from "../base/trace.ts";
import type { OutcomeCode } from "../receive/outcome.ts";
import { type ReceiveMessage, receiveStage } from "../receive/receive-stage.ts";
import { verdictOf } from "../receive/reply.ts";
import { type VerifyMessage, verifyStage } from "../receive/verifier.ts";
import type { Tolerance } from "../verify/tolerance.ts";
import { type Trouble, troubleOf } from "./troubles.ts";

const minuteMs = 60_000;
/** The period that each look judges, in ms: the deliveries in it, and the growth of the backlog during it. */
export const windowMs: number = 10 * minuteMs;
const mostShare = 0.05;
/** The least number of refused or failed deliveries that is a trouble: a single one in a quiet hour is none. */
const fewest = 3;
const isTrouble = (some: number, all: number) => some >= fewest && some > all * mostShare;
/** The trouble of an ended key ends after this time without a delivery that is signed with it, in ms. */
const endedKeyMs = 3_600_000;

/** Begins the counts of a minute: the deliveries by verdict, the refused ones that no key matched, and the outcomes of the failed ones. */
function beginMinute(atMs: number) {
  const failures = new Set<OutcomeCode>();
  return { atMs, accepted: 0, refused: 0, deferred: 0, failed: 0, unmatched: 0, failures };
}

/** A watch of what this process's receivers answer. */
export interface ReceivingWatch {
  /** When the last authentic delivery arrived. Null: none since the watch began. */
  lastAt(): Date | null;
  /** Returns the troubles at a time, which is in ms since the Unix epoch. */
  look(atMs: number): readonly Trouble[];
  /** Stops counting. */
  stop(): void;
}

export function watchReceiving(clock: Clock, tolerance: Tolerance): ReceivingWatch {
  const minutes: ReturnType<typeof beginMinute>[] = [];
  const endedKeys = new Map<string, number>();
  let lastMs: number | null = null;
  /** The least skew since the last look: a delayed delivery shows more skew than the clocks have. */
  let leastSkew: number | undefined;
  let skew: Trouble | undefined;

  function receive({ outcome, key, skewSeconds }: ReceiveMessage): void {
    const atMs = clock.now();
    let minute = minutes.at(-1);
    if (minute === undefined || atMs - minute.atMs >= minuteMs) {
      minute = beginMinute(atMs);
      minutes.push(minute);
      if (minutes.length > windowMs / minuteMs) minutes.shift();
    }
    const verdict = verdictOf(outcome);
    minute[verdict] += 1;
    if (outcome === "no_matching_key") minute.unmatched += 1;
    if (verdict === "failed") minute.failures.add(outcome);
    if (key !== undefined && outcome !== "timestamp_out_of_tolerance") lastMs = atMs; // such a delivery may be a replay
    if (skewSeconds !== undefined && Math.abs(skewSeconds) < Math.abs(leastSkew ?? Number.POSITIVE_INFINITY))
      leastSkew = skewSeconds;
  }

  function answered(atMs: number): readonly Trouble[] {
    const recent = minutes.filter((minute) => atMs - minute.atMs < windowMs);
    const sum = (name: "accepted" | "refused" | "deferred" | "failed" | "unmatched") =>
      recent.reduce((total, minute) => total + minute[name], 0);
    const [failed, unmatched] = [sum("failed"), sum("unmatched")];
    const admitted = sum("accepted") + sum("deferred") + failed; // without refused ones, so that forged deliveries hide no failure
    const deliveries = admitted + sum("refused");
    const troubles: Trouble[] = [];
    if (isTrouble(unmatched, deliveries)) {
      const problem = `Of the ${deliveries} deliveries of the last ten minutes, ${unmatched} were answered 401.`;
      troubles.push(troubleOf("deliveries_refused", problem));
    }
    if (isTrouble(failed, admitted)) {
      const outcomes = [...new Set(recent.flatMap(({ failures }) => [...failures]))].sort().join(", ");
      const problem = `Of the ${admitted} deliveries of the last ten minutes that were not answered 4xx, ${failed} were answered 5xx: ${outcomes}.`;
      troubles.push(troubleOf("deliveries_failed", problem));
    }
    return troubles;
  }

  function ended(atMs: number): readonly Trouble[] {
    for (const [key, usedAtMs] of endedKeys) if (atMs - usedAtMs >= endedKeyMs) endedKeys.delete(key);
    return Array.from(endedKeys.keys(), (key) =>
      troubleOf(
        "ended_key_used",
        `${key} still signs deliveries although it has ended; they are refused.`,
        key,
      ),
    );
  }

  /** Returns the trouble of a clock skew. Without deliveries since the last look, it stays as it was. */
  function skewed(): readonly Trouble[] {
    const seconds = leastSkew;
    leastSkew = undefined;
    if (seconds !== undefined) {
      const [direction, most] = seconds < 0 ? ["ahead of", tolerance.past] : ["behind", tolerance.future];
      const problem = `This machine's clock is ${Math.abs(seconds)} s ${direction} the service's. Deliveries are answered 503 above ${most} s.`;
      skew = Math.abs(seconds) > most / 2 ? troubleOf("clock_skew", problem) : undefined;
    }
    return skew === undefined ? [] : [skew];
  }

  const stops = [
    listenTo("receive", receiveStage.ended, receive),
    listenTo("verify", verifyStage.ended, ({ endedKey }: VerifyMessage) => {
      if (endedKey !== undefined) endedKeys.set(endedKey, clock.now());
    }),
  ];
  return {
    lastAt: () => (lastMs === null ? null : new Date(lastMs)),
    look: (atMs: number) => [...answered(atMs), ...ended(atMs), ...skewed()],
    stop() {
      for (const stop of stops) stop();
    },
  };
}
