import { type Clock, WebhookError } from "@esim-webhooks/core";
import { shownId } from "@esim-webhooks/core/kit";
import type { RecordVerdict } from "@esim-webhooks/import";
import type { EndpointErrorCode } from "../base/errors.ts";
import { type PassState, shortHash } from "./pass-state.ts";
import { areUsedUp, isDue, oneMore, type Tries } from "./tries.ts";

/** The events of a pass that handlers did not take, and those that no target can take. */
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
  /** The same of events whose id no store can hold: escaped, and without their end. */
  readonly unstorable: readonly string[];
  /**
   * What the next pass has to know. `isWhole`: this one has seen all that is listed, and forgets what was not. No other pass
   * may: the mark may move back, and what was given up would be in range again.
   */
  kept(isWhole: boolean): Pick<PassState, "failures" | "reported">;
}

/** How many of both fit into the state, whose value has at most 64 KiB. Those that were tried last are kept. */
const mostFailures = 2000;
const mostReported = 500;

/** The codes that count as a try. The others say nothing of the event: another process is handling it, for instance. */
const triedCodes: ReadonlySet<string | undefined> = new Set(["failed", "deadline_reached"]);

type Counted = readonly [key: string, tries: Tries];

export function createFailures(
  before: Pick<PassState, "failures" | "reported">,
  clock: Pick<Clock, "now">,
): Failures {
  const triesBefore = new Map(Object.entries(before.failures));
  const failed = new Map<string, { readonly id: string; readonly tries: Tries }>();
  const untried = new Set<string>();
  const leftOut = new Set<string>();
  const waiting = new Set<string>();
  const taken = new Set<string>();
  const reportedBefore = new Set(before.reported);
  const reported = new Set<string>();
  const invalid: string[] = [];
  const unstorable: string[] = [];
  let oldestMs = Number.POSITIVE_INFINITY;

  function noteInvalid({ id, code }: RecordVerdict): void {
    const key = shortHash(id);
    if (reported.has(key) || reported.size >= mostReported) return;
    reported.add(key);
    if (reportedBefore.has(key)) return;
    if (code === "unstorable_id") unstorable.push(shownId(id));
    else invalid.push(id);
  }

  function noteFailed({ id, occurredMs }: RecordVerdict): void {
    const key = shortHash(id);
    const tries = oneMore(triesBefore.get(key), clock.now());
    failed.set(key, { id, tries });
    if (!areUsedUp(tries)) hold(occurredMs);
    if (failed.size + waiting.size <= mostFailures) return;
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

  /** Forgets what has failed before, in an earlier pass or at its first place in this listing. */
  function noteTaken({ id }: RecordVerdict): void {
    if (triesBefore.size + failed.size + untried.size === 0) return;
    const key = shortHash(id);
    failed.delete(key);
    untried.delete(key);
    taken.add(key);
  }

  /** The tries that this pass has not added to; all of them, or those of events that it has seen. */
  function unchanged(isSeen: boolean): Counted[] {
    const isOver = (key: string) => failed.has(key) || taken.has(key);
    return [...triesBefore].filter(
      ([key]) => !isOver(key) && (!isSeen || leftOut.has(key) || untried.has(key)),
    );
  }

  function tried(): Counted[] {
    return [...failed].map(([key, { tries }]) => [key, tries]);
  }

  function hold(occurredMs: number): void {
    oldestMs = Math.min(oldestMs, Number.isNaN(occurredMs) ? Number.NEGATIVE_INFINITY : occurredMs);
  }

  return {
    note(verdicts) {
      for (const verdict of verdicts) {
        if (verdict.fate === "invalid") noteInvalid(verdict);
        else if (verdict.fate === "rejected" && triedCodes.has(verdict.code)) noteFailed(verdict);
        else if (verdict.fate === "rejected") noteUntried(verdict);
        else noteTaken(verdict);
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
        waiting.add(key);
      }
      leftOut.add(key);
      return true;
    },
    get oldestMs() {
      return oldestMs;
    },
    get again() {
      const tries = [...unchanged(false), ...tried()];
      const coming = tries.filter(([key, one]) => !untried.has(key) && !areUsedUp(one));
      return untried.size + coming.length;
    },
    get givenUp() {
      return [...failed.values()].filter(({ tries }) => areUsedUp(tries)).map(({ id }) => id);
    },
    invalid,
    unstorable,
    kept(isWhole) {
      const all = [...unchanged(isWhole), ...tried()];
      const failures = all.sort(([, [, one]], [, [, other]]) => one - other).slice(-mostFailures);
      const told = new Set([...reported, ...(isWhole ? [] : reportedBefore)]);
      return { failures: Object.fromEntries(failures), reported: [...told].slice(0, mostReported) };
    },
  };
}
