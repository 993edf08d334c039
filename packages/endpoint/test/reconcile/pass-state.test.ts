import { readWatermark } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import {
  type PassState,
  readPassState,
  startState,
  stateName,
  storedState,
} from "../../src/reconcile/pass-state.ts";
import { memoryState } from "./memory-state.ts";

const start = {
  ...{ endpoint: "endpoint-1", source: "default", newSource: false },
  ...{ firstPassFrom: new Date(10), goBackTo: undefined },
};
const first = startState(undefined, start, 100);
const known: PassState = {
  ...{ ...first, mark: 50, head: 60, passes: { ...first.passes, recent: 55 } },
  ...{ ignored: { type: 1 }, failing: ["bad"], reported: { lost: 1 } },
  ...{ seenAt: 40, lacking: { "*": 30 }, gaps: [{ from: 1, to: 2, eventTypes: null }], lastRun: "last" },
};
const written = storedState(known) as Record<string, unknown>;

describe("a pass begins", () => {
  it("at since, reading everything, if it is the first one", () => {
    const passes = { recent: 10, watermark: 100, full: 100, quietUntil: 100 };
    expect(first).toEqual({
      ...{ source: "default", since: 10, mark: 10, head: 10, passes, ignored: {}, failing: [], reported: {} },
      ...{ seenAt: null, lacking: {}, gaps: [], lastRun: null, runner: null },
    });
  });

  it("where the last one ended, and at since with a new source, whose endpoint is the same", () => {
    expect(startState(known, start, 100)).toBe(known);
    const { seenAt, lacking, gaps } = known;
    expect(startState(known, { ...start, source: "other", newSource: true }, 100)).toEqual({
      ...first,
      ...{ source: "other", seenAt, lacking, gaps },
    });
  });

  it.each<[string, Partial<PassState>, number, Partial<PassState>, number]>([
    ["before the watermark", {}, 30, { mark: 30, head: 30 }, 30],
    ["after it, which is held back", {}, 70, { mark: 50, head: 50 }, 50],
    ["after it, when all was settled", { mark: 60 }, 70, { mark: 60, head: 60 }, 60],
    ["after it, when all was settled later on", { mark: 54, head: 54 }, 70, { mark: 54, head: 54 }, 55],
    ["before everything", {}, 5, { since: 5, mark: 5, head: 5 }, 5],
  ])("at a time that is asked for: %s", (_, before, to, after, recent) => {
    const stored = { ...known, ...before };
    expect(startState(stored, { ...start, goBackTo: new Date(to) }, 100)).toEqual({
      ...{ ...stored, ...after, passes: { ...known.passes, recent } },
      ...{ ignored: {}, failing: [] },
    });
  });
});

it("a watermark is that of the state, with the gaps of the last 7 days", async () => {
  const state = memoryState();
  expect(await readWatermark(state, "endpoint-1")).toBeUndefined();
  const ended = { from: Date.now() - 2, to: Date.now() - 1, eventTypes: ["esim.enabled"] };
  const gaps = [...known.gaps, ended];
  await state.write(stateName("endpoint-1"), storedState({ ...known, lacking: {}, gaps }), undefined);
  expect(await readWatermark(state, "endpoint-1")).toEqual({
    ...{ mark: new Date(50), settledTo: new Date(50) },
    gaps: [{ ...ended, from: new Date(ended.from).toISOString(), to: new Date(ended.to).toISOString() }],
  });
  const unseen = { ...first, mark: 54, head: 54, passes: known.passes };
  await state.write(stateName("endpoint-2"), storedState(unseen), undefined);
  expect(await readWatermark(state, "endpoint-2")).toEqual({
    ...{ mark: new Date(54), settledTo: new Date(55), gaps: null },
  });
});

it("a state has date-times, and is read as it was written", () => {
  expect(written["mark"]).toBe("1970-01-01T00:00:00.050Z");
  expect(readPassState("state", written)).toEqual(known);
});

it.each<[string, object]>([
  ...Object.keys(written).map((name): [string, object] => [`no ${name}`, { [name]: undefined }]),
  ["a mark that is no date-time", { mark: "yesterday" }],
  ["a pass without a time", { passes: { recent: written["mark"] } }],
  ["a gap without a time", { gaps: [{ from: written["mark"], eventTypes: null }] }],
  ["a runner without a lease", { runner: { run: "one" } }],
])("a state is refused that has %s", (_, wrong) => {
  const refusal = expect.objectContaining({
    code: "invalid_state",
    message: expect.stringContaining('"state"'),
  });
  expect(() => readPassState("state", { ...written, ...wrong })).toThrow(refusal);
});
