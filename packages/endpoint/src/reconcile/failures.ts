import { type Clock, WebhookError } from "@esim-webhooks/core";
import type { RecordVerdict } from "@esim-webhooks/import";
import type { EndpointErrorCode } from "../base/errors.ts";
import { type PassState, shortHash } from "./pass-state.ts";
import { areUsedUp, isDue, oneMore, type Tries } from "./tries.ts";

/** The events of a pass that handlers did not take, and those that no target can. */
export interface Failures {
  /** Notes the verdicts of a batch. Throws `too_many_failures`. */
  note(verdicts: readonly RecordVerdict[]): void;
  /** Whether to leave this event out of the pass: it was given up, or its next try is not due. Notes it, if so. */
  leavesOut(id: string, occurredMs: number): boolean;
  /** When the oldest event occurred that is tried again; Infinity if none is, -Infinity if that is not known. */
  readonly oldestMs: number;
  /** How many are tried again by later passes. */
  readonly again: number;
  /** The ids of the events that this pass has tried for the last time. */
  readonly givenUp: readonly string[];
  /** The ids of invalid records that no pass before has reported, empty if they have none. */
  readonly invalid: readonly string[];
  /** What the next pass has to know. `isComplete`: this one has seen all that the next one may see. */
  kept(isComplete: boolean): Pick<PassState, "failures" | "reported">;
}

/** How many of both fit into the state, whose value has at most 64 KiB. */
const mostFailures = 2000;
const mostReported = 500;

/** The codes that count as a try. The others say nothing of the event: another process is handling it, for instance. */
const triedCodes: ReadonlySet<string | undefined> = new Set(["failed", "deadline_reached"]);

interface Failure {
  readonly id: string;
  readonly tries: Tries;
}

const willBeTriedAgain = ({ tries }: Failure): boolean => !areUsedUp(tries);

export function createFailures(
  before: Pick<PassState, "failures" | "reported">,
  clock: Pick<Clock, "now">,
): Failures {
  const failed = new Map<string, Failure>();
  const leftOut = new Map<string, Tries>();
  const untried = new Set<string>();
  const reportedBefore = new Set(before.reported);
  const reported = new Set<string>();
  const invalid: string[] = [];
  const triesBefore = new Map(Object.entries(before.failures));
  let oldestMs = Number.POSITIVE_INFINITY;

  function noteInvalid(id: string): void {
    const key = shortHash(id);
    if (reported.has(key) || reported.size >= mostReported) return;
    reported.add(key);
    if (!reportedBefore.has(key)) invalid.push(id);
  }

  function noteFailed({ id, occurredMs }: RecordVerdict): void {
    const key = shortHash(id);
    const failure = { id, tries: oneMore(triesBefore.get(key), clock.now()) };
    failed.set(key, failure);
    if (willBeTriedAgain(failure)) hold(occurredMs);
    if (failed.size + leftOut.size <= mostFailures) return;
    throw new WebhookError<EndpointErrorCode>(
      "too_many_failures",
      `The handlers of more than ${mostFailures} events failed: what they need may be down.`,
      "See their errors in the log and mend the cause. This pass gave up none of these events: the next one tries them again.",
    );
  }

  function noteUntried({ id, occurredMs }: RecordVerdict): void {
    untried.add(shortHash(id));
    hold(occurredMs);
  }

  function forget(id: string): void {
    const key = shortHash(id);
    failed.delete(key);
    untried.delete(key);
  }

  /** The tries that this pass has not added to. */
  function unchanged(isComplete: boolean): Iterable<readonly [string, Tries]> {
    if (!isComplete) return triesBefore;
    return [...leftOut, ...[...triesBefore].filter(([key]) => untried.has(key))];
  }

  function hold(occurredMs: number): void {
    oldestMs = Math.min(oldestMs, Number.isNaN(occurredMs) ? Number.NEGATIVE_INFINITY : occurredMs);
  }

  return {
    note(verdicts) {
      for (const verdict of verdicts) {
        if (verdict.fate === "invalid") noteInvalid(verdict.id);
        else if (verdict.fate === "rejected" && triedCodes.has(verdict.code)) noteFailed(verdict);
        else if (verdict.fate === "rejected") noteUntried(verdict);
        else if (failed.size + untried.size > 0) forget(verdict.id); // listed twice, and taken at the second time
      }
    },
    leavesOut(id, occurredMs) {
      if (triesBefore.size === 0) return false;
      const key = shortHash(id);
      const tries = triesBefore.get(key);
      if (tries === undefined) return false;
      if (!areUsedUp(tries)) {
        if (isDue(tries, clock.now())) return false;
        hold(occurredMs);
      }
      leftOut.set(key, tries);
      return true;
    },
    get oldestMs() {
      return oldestMs;
    },
    get again() {
      const waiting = [...leftOut.values()].filter((tries) => !areUsedUp(tries));
      return waiting.length + untried.size + [...failed.values()].filter(willBeTriedAgain).length;
    },
    get givenUp() {
      return [...failed.values()].filter((failure) => !willBeTriedAgain(failure)).map(({ id }) => id);
    },
    get invalid() {
      return invalid;
    },
    kept(isComplete) {
      const tried = [...failed].map(([key, { tries }]) => [key, tries] as const);
      const failures = new Map([...unchanged(isComplete), ...tried]);
      const told = new Set([...reported, ...(isComplete ? [] : reportedBefore)]);
      return {
        failures: Object.fromEntries([...failures].slice(-mostFailures)),
        reported: [...told].slice(0, mostReported),
      };
    },
  };
}
