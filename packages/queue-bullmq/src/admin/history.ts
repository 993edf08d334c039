import type { HistoryStep } from "@esim-webhooks/core";
import { fittedError, frameStart, framesOf, stackText } from "@esim-webhooks/core/internal";
import { maskPersonalData } from "@esim-webhooks/core/masking";
import { readStack } from "../redis/attempt-note.ts";
import type { BullmqJob } from "../redis/queue.ts";

/** How many failed attempts and redrives a job keeps. */
export const mostStacks = 10;

const mostErrorCharacters = 500;
const leaseEnded: HistoryStep = {
  endedAt: null,
  reason: "lease_ended",
  durationMs: null,
  error: null,
  worker: null,
  by: null,
  attempts: null,
};

/** The stack of a job's error. Null if BullMQ has only that of an earlier attempt: a stall has no stack. */
export function stackOf({ failedReason, stacktrace }: BullmqJob): string | null {
  const attempts = (stacktrace ?? []).map(readStack).filter(({ note }) => note?.attempts === undefined);
  const { stack = "" } = attempts.at(-1) ?? {};
  if (!failedReason || !stack.includes(failedReason)) return null;
  return stackText(framesOf({ message: failedReason, stack }));
}

/** The stacks of failed attempts with their notes, and between them the redrives, and the stalls, which BullMQ counts. */
export function historyOf({ stacktrace, stalledCounter }: BullmqJob): readonly HistoryStep[] {
  const stacks = (stacktrace ?? []).slice(-mostStacks);
  const attempts: HistoryStep[] = [];
  let stalled = stacks.length < mostStacks ? 0 : undefined; // undefined: earlier steps were dropped, so their number of stalls is unknown
  const addStalls = (until: number) => {
    for (let count = stalled ?? until; count < until; count += 1) attempts.push(leaseEnded);
    stalled = until;
  };
  for (const [index, kept] of stacks.entries()) {
    const { stack, note } = readStack(kept);
    const isLast = index === stacks.length - 1;
    addStalls(note?.stalled ?? (isLast ? stalledCounter : (stalled ?? 0)));
    attempts.push({
      endedAt: note && new Date(note.at),
      reason: note?.reason ?? (stalledTooOften.test(stack) ? "attempts" : "failed"),
      durationMs: note?.ms === undefined ? null : Math.round(note.ms),
      error: fittedError(maskPersonalData(stack.split(frameStart)[0] ?? ""), mostErrorCharacters) || null,
      worker: null,
      by: note?.by ?? null,
      attempts: note?.attempts ?? null,
    });
  }
  addStalls(stalledCounter);
  return attempts.slice(-mostStacks);
}

/** The text with which BullMQ's worker fails a job that has stalled or started too often. */
const stalledTooOften = /^[^\n]*job (?:stalled|started) more than allowable limit/;
