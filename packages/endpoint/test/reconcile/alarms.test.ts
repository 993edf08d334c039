import { monotonicClock } from "@esim-webhooks/core/internal";
import { afterEach, describe, expect, it, vi } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { createAlarms, wasReportedLost } from "../../src/reconcile/alarms.ts";
import type { PassState } from "../../src/reconcile/pass-state.ts";
import type { SettledDelivery } from "../../src/reconcile/pass-tally.ts";
import type { ReconcileReport } from "../../src/reconcile/reconcile-report.ts";

const hour = 3_600_000;
const day = 24 * hour;
const now = 100 * day;
const fields = { endpoint: "endpoint-1", source: "default", run: "one" };
const report: Pick<ReconcileReport, "ledger" | "ids" | "lost" | "gaps"> = {
  ledger: { rejected: 0 } as ReconcileReport["ledger"],
  ids: { acknowledgedAndLost: [], failed: [], invalid: [], unstorable: [] },
  lost: null,
  gaps: [],
};
const gap = { from: "2026-11-20T00:00:00Z", to: null, eventTypes: null };

const settled = (id: string, fate: SettledDelivery["fate"], more: Partial<SettledDelivery> = {}) =>
  ({ ...{ id, type: null, occurredMs: 0, status: "delivered", fate }, ...more }) satisfies SettledDelivery;
const lost = (id: string) => settled(id, "stored");
const numbered = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

/** The alarms of a pass so many ms after the first one. */
function alarmsAfter(ms: number, before: PassState["reported"] = {}, dryRun = false) {
  const lines: [object, string][] = [];
  const logger = loggerWith({ error: (of, line) => void lines.push([of, line]) });
  return { ...createAlarms({ fields, before, dryRun, nowMs: now + ms, logger }), lines };
}

afterEach(() => void vi.restoreAllMocks());

describe("the alarm for events that were acknowledged and lost", () => {
  it("comes immediately for the first ones, and then once a second at most, with the first 20 ids", () => {
    let ms = 0;
    vi.spyOn(monotonicClock, "now").mockImplementation(() => ms);
    const { note, flush, lines, ids } = alarmsAfter(0);
    note([]);
    expect(lines).toEqual([]);
    note([lost("one"), lost("two"), settled("new", "stored", { status: "exhausted" })]);
    expect(lines).toEqual([
      [{ ...fields, events: 2, ids: ["one", "two"] }, expect.stringContaining("acknowledged and lost")],
    ]);
    ms = 999;
    note(numbered(25, "more").map(lost));
    expect(lines).toHaveLength(1);
    ms = 1000;
    note([lost("last")]);
    expect(lines.slice(1)).toMatchObject([[{ events: 26, ids: numbered(20, "more") }, expect.any(String)]]);
    note([lost("late")]);
    flush();
    flush();
    expect(lines.slice(2)).toMatchObject([[{ events: 1, ids: ["late"] }, expect.any(String)]]);
    expect(ids.acknowledgedAndLost).toEqual(["one", "two", ...numbered(18, "more")]);
  });

  it("is not raised in a dry run, which asks no target", () => {
    const { note, lines } = alarmsAfter(0, {}, true);
    note([lost("one")]);
    expect(lines).toEqual([]);
  });
});

it.each<[string, SettledDelivery | null, readonly (readonly [number, number])[]]>([
  [
    "an event that is lost again is reported once a day",
    lost("one"),
    [
      [day - 1, 0],
      [day, 1],
    ],
  ],
  [
    "an invalid event is reported once",
    settled("one", "invalid"),
    [
      [day, 0],
      [8 * day - 1, 0],
    ],
  ],
  [
    "a gap is reported once a day",
    null,
    [
      [day - 1, 0],
      [day, 1],
    ],
  ],
])("%s", (_, event, later) => {
  const raised = (ms: number, before?: PassState["reported"]) => {
    const alarms = alarmsAfter(ms, before);
    if (event !== null) alarms.note([event]);
    alarms.raise(event === null ? { ...report, gaps: [gap] } : report, "recent");
    return alarms;
  };
  const first = raised(0);
  expect(first.lines).toHaveLength(1);
  for (const [ms, count] of later) expect(raised(ms, first.reported()).lines).toHaveLength(count);
});

describe("the state", () => {
  it.each([
    ["for 7 days", 1, 7 * day],
    ["for a day, if there are 500 of them or more", 500, day],
  ])("remembers that an event was lost %s", (_, events, ms) => {
    const { note, reported } = alarmsAfter(0);
    note(numbered(events, "event").map(lost));
    const after = (later: number) => wasReportedLost(alarmsAfter(later, reported()).reported(), "event-0");
    expect([after(ms - 1), after(ms)]).toEqual([true, false]);
    expect(wasReportedLost(reported(), "other")).toBe(false);
  });

  it("has 1,000 reports: of more events, those that were lost can be reported again, and invalid ones are only counted", () => {
    const { note, raise, reported, ids, lines } = alarmsAfter(0);
    note(numbered(999, "event").map(lost));
    note([settled("odd", "invalid"), settled("odder", "invalid"), lost("more")]);
    raise({ ...report, gaps: [gap] }, "recent");
    expect(ids.invalid).toEqual(["odd"]);
    expect(Object.keys(reported())).toHaveLength(1000);
    expect(wasReportedLost(reported(), "more")).toBe(false);
    expect(lines.at(-1)).toMatchObject([{ gaps: [gap] }, expect.stringContaining("was inactive")]);
    const next = alarmsAfter(0, reported());
    next.note([lost("event-0"), lost("more")]);
    expect(next.ids.acknowledgedAndLost).toEqual(["more"]);
  });
});

describe("at its end, a pass raises the alarm", () => {
  const failed = {
    ...report,
    ledger: { ...report.ledger, rejected: 3 },
    ids: { ...report.ids, failed: ["bad"] },
  };
  const forgotten = { from: "2026-11-20T00:00:00Z", to: "2026-11-21T00:00:00Z" };
  it.each<[string, SettledDelivery[], typeof report, "full" | "watermark", [object, string][]]>([
    [
      "for invalid events",
      [settled("odd", "invalid")],
      report,
      "watermark",
      [[{ ids: ["odd"] }, "not valid"]],
    ],
    [
      "for ids that no store can hold",
      [settled("od\u0007d", "invalid", { code: "unstorable_id" })],
      report,
      "full",
      [[{ ids: ["od\\u{7}d"] }, "No store can hold"]],
    ],
    [
      "for handlers that failed, if it is full",
      [],
      failed,
      "full",
      [[{ events: 3, ids: ["bad"] }, "failed"]],
    ],
    ["for no handlers that failed, if it is not full", [], failed, "watermark", []],
    [
      "for events that were forgotten",
      [],
      { ...report, lost: forgotten },
      "full",
      [[{ lost: forgotten }, "forgotten"]],
    ],
    ["for a gap", [], { ...report, gaps: [gap] }, "full", [[{ gaps: [gap] }, "inactive"]]],
    ["for nothing else", [], report, "full", []],
    ["for no gap if none is known", [], { ...report, gaps: null }, "full", []],
  ])("%s", (_, events, of, depth, expected) => {
    const { note, raise, lines } = alarmsAfter(0);
    note(events);
    raise(of, depth);
    expect(lines).toEqual(
      expected.map(([more, line]) => [{ ...fields, ...more }, expect.stringContaining(line)]),
    );
  });
});
