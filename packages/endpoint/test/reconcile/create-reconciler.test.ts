import { type StateStore, WebhookError } from "@esim-webhooks/core";
import { monotonicClock } from "@esim-webhooks/core/internal";
import { createReconciler, type EndpointErrorCode, reconcile } from "@esim-webhooks/endpoint";
import { afterEach, expect, it, vi } from "vitest";
import { loggerTo, loggerWith } from "../../../../test/support/loggers.ts";
import { startState, storedState } from "../../src/reconcile/pass-state.ts";
import { made, servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";
import { onePass } from "./one-pass.ts";

const hour = 3_600_000;
const day = 24 * hour;
const startMs = Date.parse("2026-11-20T00:00:00Z");
const since = new Date(startMs);
const at = (ms: number) => ({ now: () => startMs + ms });

afterEach(() => void vi.restoreAllMocks());

/** A reconciler whose state cannot be read, until it logs something; and what it logs, with its level. */
function unreadable(error: unknown, stop = new AbortController(), read = () => Promise.reject(error)) {
  const lines: [string, object][] = [];
  const state: StateStore = { ...memoryState(), read };
  const logger = loggerTo((fields, _message, level) => {
    lines.push([level, fields]);
    stop.abort();
  });
  const { api, endpoint } = servedListing(() => []);
  const reconciler = createReconciler(api, endpoint, knownInbox(), { state, logger, since });
  return { lines, ended: () => reconciler.run({ signal: stop.signal }) };
}

const errorOf = (code: string) => new WebhookError<EndpointErrorCode>(code as EndpointErrorCode, "A.", "B.");

it.each([
  "async_schema",
  "invalid_option",
  "invalid_state",
  "no_watermark",
  "durable_store_required",
  "source_unknown",
  "unknown_event_type",
])("rejects for a mistake in the set-up, which no later pass corrects: %s", async (code) => {
  const { lines, ended } = unreadable(errorOf(code));
  await expect(ended()).rejects.toMatchObject({ code });
  expect(lines).toEqual([]);
});

it.each<[string, string, Error]>([
  ["error", "a store that is down", errorOf("store_unavailable")],
  ["debug", "a pass of another process", errorOf("reconcile_in_use")],
  ["error", "an error that has such a code by chance", Object.assign(new Error(), { code: "no_watermark" })],
  ["error", "another one", Object.assign(new Error(), { code: "reconcile_in_use" })],
])("logs at level %s, with the interval, 5 minutes by default: %s", async (level, _, err) => {
  const { lines, ended } = unreadable(err);
  await ended();
  expect(lines).toEqual([[level, { err, endpoint: "endpoint-1", source: "default", everyMs: 300_000 }]]);
});

it("logs no error of a pass that was stopped", async () => {
  const stop = new AbortController();
  const { lines, ended } = unreadable(undefined, stop, async () => {
    stop.abort();
    throw errorOf("no_watermark");
  });
  await ended();
  expect(lines).toEqual([]);
});

it.each([
  [5 * day - 1, []],
  [5 * day, [{ goneInMs: 2 * day }]],
  [8 * day, [{ goneInMs: 0 }]],
])("warns when nothing was settled for five days: after %i ms", async (ms, expected) => {
  const warnings: object[] = [];
  const logger = loggerWith({ warn: (fields) => void warnings.push(fields) });
  const { api, endpoint } = servedListing(() => []);
  const state = memoryState();
  await reconcile(api, endpoint, knownInbox(), { state, since, clock: at(0) });
  await onePass(api, endpoint, knownInbox(), { state, logger, clock: at(ms) });
  const fields = { endpoint, source: "default", settledTo: since.toISOString() };
  expect(warnings).toEqual(expected.map((more) => ({ ...fields, ...more })));
});

it("warns of that again after an hour", async () => {
  let ms = 0;
  vi.spyOn(monotonicClock, "now").mockImplementation(() => ms);
  const warnedAt: number[] = [];
  const logger = loggerWith({ warn: () => void warnedAt.push(ms) });
  const { api, endpoint } = servedListing(() => [made({ occurredMs: startMs + day })]);
  const state = memoryState();
  await reconcile(servedListing(() => []).api, endpoint, knownInbox(), { state, since, clock: at(0) });
  const stop = new AbortController();
  const times = [1, hour - 1, hour, 2 * hour];
  const put = async () => {
    ms = times.shift() ?? ms;
    if (times.length === 0) stop.abort();
    throw new Error("down");
  };
  const options = { state, logger, clock: at(6 * day), everyMs: 1 };
  await createReconciler(api, endpoint, { ...knownInbox(), put }, options).run({ signal: stop.signal });
  expect(warnedAt).toEqual([0, hour]);
});

it("warns once of each pass of another process that takes longer than ten intervals", async () => {
  let ms = 0;
  vi.spyOn(monotonicClock, "now").mockImplementation(() => ms);
  const passes = [
    ...[0, 9, 10, 30].map((time) => [time, "one"] as const),
    ...[30, 39, 41].map((time) => [time, "two"] as const),
  ];
  const warnings: object[] = [];
  const stop = new AbortController();
  const logger = loggerWith({
    warn: (fields) => void warnings.push(fields),
    debug() {
      passes.shift(); // the other pass is alive
      if (passes.length === 0) stop.abort();
    },
  });
  const start = { endpoint: "endpoint-1", source: "default", newSource: false };
  const stored = startState(undefined, { ...start, firstPassFrom: since, goBackTo: undefined }, startMs);
  let version = 0;
  const state: StateStore = {
    ...memoryState(),
    async read(name) {
      if (name.startsWith("replay-request")) return undefined;
      const [now, run] = passes[0] ?? [ms, "two"];
      ms = now;
      return { value: storedState({ ...stored, runner: { run, leaseMs: 12 } }), version: String(++version) };
    },
  };
  const { api, endpoint } = servedListing(() => []);
  const options = { state, logger, clock: at(0), everyMs: 1 };
  await createReconciler(api, endpoint, knownInbox(), options).run({ signal: stop.signal });
  const fields = { endpoint, source: "default" };
  expect(warnings).toEqual([
    { ...fields, run: "one", heldMs: 10 },
    { ...fields, run: "two", heldMs: 11 },
  ]);
});
