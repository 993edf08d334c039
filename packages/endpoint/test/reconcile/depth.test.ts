import { describe, expect, it } from "vitest";
import {
  type Depth,
  nextDepth,
  passesBegun,
  passesCompleted,
  type Reach,
  untilMsOf,
} from "../../src/reconcile/depth.ts";

const hour = 3_600_000;
const day = 24 * hour;
const now = 100 * day;

/** The hours since the last passes of these depths; and those for which a pass to the watermark would find nothing changed. */
function reach(watermark: number, full: number, quiet = 0): Reach {
  const passes = { recent: now, watermark: now - watermark * hour, full: now - full * hour };
  return { since: 0, mark: now, head: now, passes: { ...passes, quietUntil: now + quiet * hour } };
}

describe("the next pass of a reconciler", () => {
  it.each<[Depth, string, Reach]>([
    ["recent", "within an hour of one to the watermark", reach(0.99, 2)],
    ["watermark", "an hour after the last one of that depth", reach(1, 2)],
    ["watermark", "when the clock was set back by an hour", reach(-1, 2)],
    ["recent", "while nothing that holds the watermark back is attempted", reach(5, 20, 0.01)],
    ["recent", "while that is nearly a day ahead", reach(5, 20, 23.99)],
    ["watermark", "when it would be a whole day ahead, since the clock was set back", reach(5, 20, 24)],
    ["watermark", "although nothing is attempted, when the full one is due after it", reach(5, 24, 0.01)],
    ["recent", "when a full one is due, but none to the watermark has completed since", reach(0.5, 24, 1)],
    ["full", "a day after the last full one, once one to the watermark has completed", reach(0, 24)],
    ["recent", "shortly before that", reach(0, 23.99)],
    ["full", "when the clock was set back by a day since the last full one", reach(0, -24)],
  ])("is %s %s", (depth, _, of) => {
    expect(nextDepth(of, "recent", now)).toBe(depth);
    expect(nextDepth(of, "watermark", now)).toBe(depth === "recent" ? "watermark" : depth);
  });

  it.each<[Depth, number, number, string]>([
    ["recent", hour, 4 * hour - hour / 6, "ten minutes below the newest attempt"],
    ["recent", 60_000, 4 * hour - 60_000, "the overlap below the newest attempt, if that is less"],
    ["watermark", hour, hour, "the overlap and an hour below the watermark"],
    ["watermark", 5 * hour, 0, "since, if that is later"],
    ["full", hour, 0, "since"],
  ])("of depth %s with an overlap of %i ms reads down to %i: %s", (depth, overlapMs, untilMs) => {
    const times = { since: 0, mark: 3 * hour, head: 4 * hour, passes: reach(0, 0).passes };
    expect(untilMsOf(depth, times, overlapMs)).toBe(untilMs);
    const marked = { ...times, mark: 4 * hour, head: 3 * hour };
    if (depth === "recent") expect(untilMsOf(depth, marked, overlapMs)).toBe(untilMs);
  });
});

it("a full pass that did not complete is due again after an hour; others are as before", () => {
  const before = reach(2, 30);
  const begun = passesBegun(before, "full", now);
  expect(begun).toEqual({ ...before.passes, full: now - 23 * hour });
  const next = (hours: number) =>
    nextDepth({ ...before, passes: { ...begun, watermark: now + hours * hour } }, "recent", now);
  expect([next(0.99), next(1)]).toEqual(["recent", "full"]);
  expect(passesBegun(before, "watermark", now)).toEqual(before.passes);
});

it.each<[Depth, number, Partial<Reach["passes"]>]>([
  ["recent", now + 2 * hour, { recent: now }],
  ["recent", now + hour / 2, { recent: now, quietUntil: now + hour / 2 }],
  ["watermark", now + 2 * hour, { recent: now, watermark: now, quietUntil: now + 2 * hour }],
  ["watermark", Number.POSITIVE_INFINITY, { recent: now, watermark: now, quietUntil: now }],
  ["full", now + 2 * hour, { recent: now, watermark: now, full: now, quietUntil: now + 2 * hour }],
])(
  "a pass of depth %s is also one of the shallower ones, with the next attempt at %d",
  (depth, nextMs, changed) => {
    const before = reach(2, 30, 1);
    expect(
      passesCompleted({ ...before, passes: { ...before.passes, recent: 0 } }, depth, now, nextMs),
    ).toEqual({
      ...before.passes,
      ...changed,
    });
  },
);
