import { memoryStore } from "@esim-webhooks/core";
import { type EndpointGap, type ReconcileOptions, readWatermark, reconcile } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import {
  afterLook,
  type ClosedGap,
  type Look,
  reportedGaps,
  type Sightings,
  withoutExpired,
} from "../../src/reconcile/endpoint-gaps.ts";
import { servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";
import { onePass } from "./one-pass.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startMs = Math.floor(Date.now() / dayMs) * dayMs - 30 * dayMs;
const hour = (hours: number) => new Date(startMs + hours * hourMs).toISOString();

type Options = Partial<ReconcileOptions>;

/** An endpoint that is reconciled at certain hours. Its listing shows nothing. */
function quietEndpoint(more: Options & { readonly handlers?: object } = {}) {
  const { handlers, ...always } = more;
  let isDown = false;
  const served = servedListing(() => {
    if (isDown) throw new Error("the listing is down");
    return [];
  });
  const state = memoryState();
  const inbox = knownInbox();
  const lines: unknown[] = [];
  const logger = loggerWith({ error: (fields) => void lines.push(fields) });
  const pass = async (hours: number, options: Options = {}) => {
    const clock = { now: () => startMs + hours * hourMs };
    const all = { state, since: new Date(startMs), clock, logger, ...always, ...options };
    return reconcile(served.api, served.endpoint, (handlers as typeof inbox | undefined) ?? inbox, all);
  };
  return {
    itself: served.itself,
    lines,
    state,
    endpoint: served.endpoint,
    pass,
    reconcilerPass: async (hours: number) =>
      onePass(served.api, served.endpoint, inbox, {
        ...{ state, logger, clock: { now: () => startMs + hours * hourMs } },
      }),
    gaps: async (hours: number, options: Options = {}) => (await pass(hours, options)).gaps,
    listing(works: boolean) {
      isDown = !works;
    },
  };
}

const all = (from: number, to: number | null): EndpointGap => ({
  from: hour(from),
  to: to === null ? null : hour(to),
  eventTypes: null,
});

it("a time in which the endpoint was inactive is reported from the last pass that saw it active to the first that does again", async () => {
  const { itself, gaps } = quietEndpoint();
  expect(await gaps(1)).toBeNull(); // no earlier pass has looked
  expect(await gaps(2)).toEqual([]);
  itself.active = false;
  expect(await gaps(5)).toEqual([all(2, null)]);
  expect(await gaps(6)).toEqual([all(2, null)]);
  itself.active = true;
  expect(await gaps(8)).toEqual([all(2, 8)]);
});

it("an endpoint that is inactive in the first pass may have been so since it was created, or since the receiver began", async () => {
  const { itself, gaps } = quietEndpoint();
  itself.active = false;
  expect(await gaps(5)).toEqual([all(0, null)]);
  const later = quietEndpoint();
  Object.assign(later.itself, { active: false, createdAt: hour(3) });
  expect(await later.gaps(5)).toEqual([all(3, null)]);
});

it("a gap is reported for 7 days, or until it is acknowledged; the log has it once a day", async () => {
  const { itself, gaps, reconcilerPass, lines, state, endpoint } = quietEndpoint();
  const flap = async (hours: number) => {
    await gaps(hours);
    itself.active = false;
    await gaps(hours + 1);
    itself.active = true;
  };
  await flap(1);
  expect(await gaps(3)).toEqual([all(1, 3)]);
  expect(lines).toMatchObject([{ gaps: [all(1, null)] }, { gaps: [all(1, 3)] }]);
  await reconcilerPass(3);
  expect(await gaps(4)).toEqual([all(1, 3)]);
  expect(lines).toHaveLength(2);
  await gaps(3 + 25);
  expect(lines).toHaveLength(3);
  expect(await gaps(3 + 7 * 24)).toEqual([]);

  await flap(300);
  await gaps(302);
  const dry = await gaps(303, { acknowledgeGaps: true, dryRun: true });
  expect(dry).toEqual([all(300, 302)]); // it changes nothing
  itself.active = false;
  await gaps(304);
  itself.active = true;
  const acknowledged = await gaps(305, { acknowledgeGaps: true });
  expect(acknowledged).toEqual([all(302, 305)].map((gap) => ({ ...gap, from: hour(302) })));
  expect(await gaps(306)).toEqual(acknowledged); // found by the pass that acknowledged the earlier one
  expect((await readWatermark(state, endpoint))?.gaps).toEqual([]); // by now it is older than 7 days
});

it("a dry run reports a gap, and leaves it to the next pass", async () => {
  const { itself, gaps } = quietEndpoint();
  await gaps(1);
  itself.active = false;
  await gaps(2);
  itself.active = true;
  expect(await gaps(3, { dryRun: true })).toEqual([all(1, 3)]);
  expect(await gaps(4)).toEqual([all(1, 4)]);
});

it("a pass that fails has still seen that the endpoint is inactive", async () => {
  const { itself, gaps, pass, listing } = quietEndpoint();
  await gaps(1);
  itself.active = false;
  listing(false);
  await expect(pass(2)).rejects.toThrow();
  itself.active = true;
  listing(true);
  expect(await gaps(3)).toEqual([all(1, 3)]);
});

const exact = { "esim.enabled": () => {}, "esim.faulted": () => {} };

it.each([
  ["handlers", { handlers: exact, store: { ...memoryStore(), capabilities: { durable: true } } as never }],
  ["an inbox and eventTypes", { eventTypes: Object.keys(exact) }],
])(
  "with %s, a time without a subscription to a type that is named exactly is a gap of that type",
  async (_, options) => {
    const { itself, gaps } = quietEndpoint(options);
    itself.eventTypes = ["esim.enabled", "esim.faulted"];
    await gaps(1);
    itself.eventTypes = ["esim.enabled"];
    expect(await gaps(2)).toEqual([]); // doctor and ensureEndpoint say so: it may be meant
    itself.eventTypes = ["esim.enabled", "esim.faulted"];
    expect(await gaps(3)).toEqual([{ from: hour(1), to: hour(3), eventTypes: ["esim.faulted"] }]);
  },
);

it("families and * demand no subscription, and an inbox alone none", async () => {
  for (const eventTypes of [["esim.lifecycle.*", "*"], undefined]) {
    const { itself, gaps } = quietEndpoint({ eventTypes });
    await gaps(1);
    itself.eventTypes = [];
    await gaps(2);
    itself.eventTypes = ["esim.lifecycle.suspended", "esim.enabled"];
    expect(await gaps(3)).toEqual([]);
  }
});

it("many gaps become one that includes them, so that the state stays small", () => {
  const eventTypes = Array.from({ length: 30 }, (_, n) => `esim.type.with.a.rather.long.name.${n}`);
  let sightings: Sightings = { seenAt: 0, lacking: {}, gaps: [] };
  const look = (at: number, types: readonly string[], active = true) => {
    const endpoint = { active, eventTypes: types, createdAt: "" };
    sightings = afterLook(sightings, { endpoint, eventTypes, since: 0, calledAt: at, answeredAt: at });
  };
  for (let at = 1; at < 40; at += 2) {
    look(at, [], at % 4 === 1);
    look(at + 1, eventTypes);
  }
  expect(sightings.gaps.at(0)?.from).toBe(0);
  expect(sightings.gaps.at(-1)).toMatchObject({ from: 38, to: 40 });
  expect(sightings.gaps.length).toBeLessThanOrEqual(5);
  look(41, []);
  expect(JSON.stringify(sightings).length).toBeLessThan(9000);
});

const names = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => `type-${first + index}`);
const closed = (from: number, to: number, ...types: string[]): ClosedGap => ({
  ...{ from, to },
  eventTypes: types.length === 0 ? null : types,
});
const four = [1, 2, 3, 4].map((at) => closed(100 + at, 200 + at, "x"));

it.each<
  [string, Partial<Sightings>, Partial<Look["endpoint"]>, readonly string[] | undefined, Partial<Sightings>]
>([
  ["nothing of an endpoint that has everything", {}, { eventTypes: ["a"] }, ["a"], {}],
  ["a type since the last look", { lacking: { a: 1 } }, {}, ["a", "b"], { lacking: { a: 1, b: 5 } }],
  ["a type that it lacked before", { lacking: { a: 1 } }, {}, undefined, { lacking: { a: 1 } }],
  ["no families, and no star", {}, {}, ["a.*", "*", "b"], { lacking: { b: 5 } }],
  ["no type that is not wanted", { lacking: { a: 1 } }, {}, [], {}],
  [
    "that it is inactive, since it was created",
    { seenAt: null },
    { active: false },
    [],
    { lacking: { "*": 3 } },
  ],
  [
    "that it is inactive, since reconciling began, if its creation is not known",
    { seenAt: null },
    { active: false, createdAt: "" },
    [],
    { lacking: { "*": 2 } },
  ],
  [
    "20 types at most",
    {},
    {},
    names(21),
    { lacking: Object.fromEntries(names(20).map((name) => [name, 5])) },
  ],
  [
    "a gap for the types that were lacking since the same time",
    { lacking: { a: 1, b: 1, c: 2 } },
    { eventTypes: ["a", "b", "c"] },
    undefined,
    { gaps: [closed(1, 10, "a", "b"), closed(2, 10, "c")] },
  ],
  [
    "a gap in which it was inactive, and that of a type",
    { lacking: { a: 1, "*": 1 } },
    { eventTypes: ["a"] },
    undefined,
    { gaps: [closed(1, 10, "a"), closed(1, 10)] },
  ],
  [
    "five gaps at most: the oldest two are one",
    { lacking: { a: 1 }, gaps: [closed(9, 90, "a", "b"), closed(8, 80, "b", "c"), ...four.slice(1)] },
    { eventTypes: ["a"] },
    undefined,
    { gaps: [closed(8, 90, "a", "b", "c"), ...four.slice(1), closed(1, 10, "a")] },
  ],
  [
    "20 types of those at most",
    { lacking: { a: 1 }, gaps: [closed(9, 90, ...names(20)), closed(8, 80, ...names(1)), ...four.slice(1)] },
    { eventTypes: ["a"] },
    undefined,
    { gaps: [closed(8, 90, ...names(20)), ...four.slice(1), closed(1, 10, "a")] },
  ],
  [
    "all types if they are more",
    {
      lacking: { a: 1 },
      gaps: [closed(9, 90, ...names(20)), closed(8, 80, ...names(1, 20)), ...four.slice(1)],
    },
    { eventTypes: ["a"] },
    undefined,
    { gaps: [closed(8, 90), ...four.slice(1), closed(1, 10, "a")] },
  ],
  [
    "all types if one of them has all",
    { lacking: { a: 1 }, gaps: [closed(8, 80, "a"), closed(9, 90), ...four.slice(1)] },
    { eventTypes: ["a"] },
    undefined,
    { gaps: [closed(8, 90), ...four.slice(1), closed(1, 10, "a")] },
  ],
])("a look at an endpoint notes %s", (_, before, endpoint, eventTypes, after) => {
  const shown = { active: true, eventTypes: [], createdAt: new Date(3).toISOString(), ...endpoint };
  const times = { since: 2, calledAt: 9, answeredAt: 10 };
  const known = { seenAt: 5, lacking: {}, gaps: [] };
  expect(afterLook({ ...known, ...before }, { endpoint: shown, eventTypes, ...times })).toEqual({
    ...{ ...known, seenAt: 9, ...after },
  });
});

it("a report has the gaps that are not older than 7 days, and no type that is still lacking", () => {
  const gaps = [closed(1, 2), closed(3, 4, "a")];
  expect(withoutExpired(gaps, 7 * dayMs + 2)).toEqual([gaps[1]]);
  expect(withoutExpired(gaps, 7 * dayMs + 1)).toEqual(gaps);
  const iso = (ms: number) => new Date(ms).toISOString();
  const reported = [
    { from: iso(1), to: iso(2), eventTypes: null },
    { from: iso(3), to: iso(4), eventTypes: ["a"] },
  ];
  const inactive = { from: iso(9), to: null, eventTypes: null };
  expect(reportedGaps({ lacking: { a: 8, "*": 9 }, gaps }, false)).toEqual([...reported, inactive]);
  expect(reportedGaps({ lacking: { a: 8 }, gaps: [] }, true)).toEqual([]);
  expect(reportedGaps({ lacking: { a: 8 }, gaps: [] }, false)).toBeNull();
});
