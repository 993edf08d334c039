import { describe, expect, it } from "vitest";
import { type Action, perform } from "../../src/inbox/perform.ts";

/** What `perform` prints, and the limits with which it changed events. */
async function performed(matching: number, limit: number, flags: { dryRun?: true; json?: true } = {}) {
  const printed: unknown[] = [];
  const changed: number[] = [];
  let left = matching;
  const action: Action = {
    name: "retry",
    noun: "dead event",
    verb: "retry",
    report: (events) => `Made ready again: ${events}.`,
    count: async (most) => Math.min(most, left),
    async act(step) {
      const acted = Math.min(step, left);
      left -= acted;
      changed.push(acted);
      return acted;
    },
  };
  const output = {
    data: (line: string) => printed.push(line),
    json: (value: unknown) => printed.push(value),
  };
  await perform({ output } as never, { limit, yes: true, ...flags }, action);
  return { printed, changed: changed.reduce((sum, each) => sum + each, 0) };
}

describe("a change of many events", () => {
  it("counts them exactly up to 10,000", async () => {
    expect(await performed(10_000, 100_000, { dryRun: true })).toEqual({
      printed: ["Would retry 10,000 dead events."],
      changed: 0,
    });
    expect(await performed(10_000, 10_000, { dryRun: true })).toMatchObject({
      printed: ["Would retry 10,000 dead events."],
    });
    expect(await performed(30_000, 5000, { dryRun: true })).toMatchObject({
      printed: ["Would retry 5,000 dead events (limited by --limit 5000)."],
    });
  });

  it("says of more that they are more, and changes all of them, up to the limit", async () => {
    expect(await performed(30_000, 100_000, { dryRun: true })).toMatchObject({
      printed: ["Would retry more than 10,000 dead events, at most 100,000 (--limit)."],
    });
    expect(await performed(30_000, 100_000, { dryRun: true, json: true })).toMatchObject({
      printed: [{ action: "retry", dryRun: true, events: 10_000, isMore: true }],
    });
    expect(await performed(30_000, 100_000)).toEqual({
      printed: ["Made ready again: 30,000 dead events."],
      changed: 30_000,
    });
    expect(await performed(30_000, 20_000)).toMatchObject({ changed: 20_000 });
  });
});
