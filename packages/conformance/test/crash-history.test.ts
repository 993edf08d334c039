import { describe, expect, it } from "vitest";
import { type Line, violations } from "../src/crash/crash-history.ts";

const leaseMs = 1000;
const id = "1000.p1.0.0";
const ahead = "900.p2.0.0";

const stored = (at: number, ...ids: readonly string[]): Line => ({ is: "stored", at, ids });
const leased = (at: number, token: string, of = id, since = at - 1): Line => ({
  is: "leased",
  at,
  since,
  id: of,
  token,
  leaseMs,
});

/** The end of a lease: its call, and its answer 2 ms later. */
function ended(at: number, token: string, { done = true, held = true, of = id } = {}): Line[] {
  return [
    { is: "ending", at, id: of, token, done },
    { is: "ended", at: at + 2, since: at, id: of, token, done, held },
  ];
}

describe("the history of a crash test is refused", () => {
  it.each<[string, readonly Line[], string]>([
    [
      "if an id had two leases at once",
      [leased(10, "a"), leased(500, "b")],
      `${id} had two leases at the same time, a and b`,
    ],
    [
      "if a done event was leased again",
      [leased(10, "a"), ...ended(20, "a"), leased(1500, "b")],
      `${id} was leased again after it was done`,
    ],
    [
      "if a late owner's settlement was accepted",
      [leased(10, "a"), leased(1200, "b"), ...ended(1300, "a", { done: false })],
      `${id} was ended by a, although b had it by then`,
    ],
    [
      "if an acknowledged event is not known at the end",
      [stored(5, id), { is: "known", at: 9000, id, known: false }],
      `${id} was acknowledged and is lost`,
    ],
    [
      "if two events of a lane were leased at once",
      [leased(10, "a", ahead), leased(20, "b")],
      `${id} was leased in the lane of ${ahead}, which was leased`,
    ],
    [
      "if an event was leased before one that is ahead of it in its lane",
      [stored(5, ahead), leased(20, "b")],
      `${id} was leased before ${ahead}, which is ahead of it in its lane`,
    ],
  ])("%s", (_, lines, violation) => {
    expect(violations(lines, { ordered: true })).toContain(violation);
  });
});

describe("the history of a crash test is accepted", () => {
  it.each<[string, readonly Line[]]>([
    ["if a lease had ended by itself before the next one", [leased(10, "a"), leased(1010, "b")]],
    [
      "if a process stalled before it wrote that it had a lease, which ended and was followed by another one meanwhile",
      [leased(2000, "a", id, 10), leased(1020, "b")],
    ],
    [
      "if a lease was given back before the next one",
      [leased(10, "a"), ...ended(20, "a", { done: false }), leased(30, "b")],
    ],
    [
      "if the process was killed during the settlement, whether or not it had an effect",
      [leased(10, "a"), { is: "ending", at: 20, id, token: "a", done: false }, leased(30, "b")],
    ],
    [
      "if a late owner was refused",
      [leased(10, "a"), leased(1200, "b"), ...ended(1300, "a", { held: false })],
    ],
    [
      "if the event ahead in the lane was done",
      [stored(5, ahead), leased(10, "a", ahead), ...ended(20, "a", { of: ahead }), leased(30, "b")],
    ],
    ["if the event ahead was stored too late to be ahead", [leased(20, "b"), stored(25, ahead)]],
  ])("%s", (_, lines) => {
    expect(violations(lines, { ordered: true })).toEqual([]);
  });
});
