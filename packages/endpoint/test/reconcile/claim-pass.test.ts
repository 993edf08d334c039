import { setImmediate } from "node:timers/promises";
import type { StateStore } from "@esim-webhooks/core";
import { expect, it } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { type ClaimOptions, claimPass, readOnlyClaim } from "../../src/reconcile/claim-pass.ts";
import { startState } from "../../src/reconcile/pass-state.ts";
import { memoryState } from "./memory-state.ts";

const start = {
  ...{ endpoint: "endpoint-1", source: "default", newSource: false },
  ...{ firstPassFrom: new Date(0), goBackTo: undefined },
};
const never = 2 ** 31 - 1;
const inUse = { code: "reconcile_in_use" };
const markAt = (ms: number) => new Date(ms).toISOString();

/** Passes on one state. */
function passes(state: StateStore = memoryState()) {
  const lines: string[] = [];
  const fields: object[] = [];
  const options = (run: string, leaseMs: number, signal?: AbortSignal): ClaimOptions => ({
    ...{ state, name: "state", run, leaseMs, signal },
    plan: (stored) => ({ initialState: startState(stored, start, 0), depth: "recent" }),
    logger: loggerTo((of, _message, level) => {
      lines.push(level);
      fields.push(of);
    }),
  });
  return {
    ...{ lines, fields, options },
    claim: (...of: Parameters<typeof options>) => claimPass(options(...of)),
  };
}

it("a pass is in the state with its lease until it ends, with the mark that it reaches, and the next one follows immediately", async () => {
  const state = memoryState();
  const { claim, lines } = passes(state);
  const first = await claim("first", never);
  expect(await state.only()).toMatchObject({ runner: { run: "first", leaseMs: never }, mark: markAt(0) });
  first.advance(5);
  expect(first.mark).toBe(5);
  await first.end({ head: 7 });
  expect(await state.only()).toMatchObject({ runner: null, mark: markAt(5), head: markAt(7) });
  const second = await claim("second", never);
  expect([second.mark, second.plan.initialState.head, second.takenOver.aborted]).toEqual([5, 7, false]);
  await second.end({});
  expect(lines).toEqual([]);
});

it("a heartbeat writes the mark of the pass, and keeps others out", async () => {
  const state = memoryState();
  const { claim, fields } = passes(state);
  const first = await claim("first", 1800);
  first.advance(5);
  await expect(claim("second", 1)).rejects.toMatchObject(inUse);
  expect(await state.only()).toMatchObject({ runner: { run: "first", leaseMs: 1800 }, mark: markAt(5) });
  expect(fields).toEqual([{ state: "state", leaseMs: 1800 }]);
  await first.end({});
});

it("a pass that waits looks several times in a lease, and begins where the other one ended", async () => {
  const state = memoryState();
  const first = await passes(state).claim("first", never);
  let looks = -1; // the first one finds the other pass
  const reading: StateStore = {
    ...state,
    async read(name) {
      if (++looks === 3) {
        first.advance(5);
        await first.end({});
      }
      const stored = (await state.read(name)) as { value: { runner: object | null }; version: string };
      const { runner } = stored.value;
      return { ...stored, value: { ...stored.value, runner: runner && { ...runner, leaseMs: 2400 } } };
    },
  };
  const second = await passes(reading).claim("second", never);
  expect(second.mark).toBe(5);
  await second.end({});
});

it("a pass that waits does not take its own stall for the silence of the other one", async () => {
  const { claim } = passes();
  const first = await claim("first", 900);
  const second = claim("second", 1);
  await setImmediate(); // it waits
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000); // as when the process is suspended
  await expect(second).rejects.toMatchObject(inUse);
  await first.end({});
});

it("a pass begins again if another one was quicker", async () => {
  const state = memoryState();
  let others = 1;
  const raced: StateStore = {
    ...state,
    async write(...written) {
      if (others-- > 0) {
        const quicker = await passes(state).claim("quicker", never);
        quicker.advance(5);
        await quicker.end({});
      }
      return state.write(...written);
    },
  };
  const first = await passes(raced).claim("first", never);
  expect(first.mark).toBe(5);
});

/** A state that a test removes. */
function removable() {
  let current = memoryState();
  const state: StateStore = {
    ...current,
    read: (name) => current.read(name),
    write: (...written) => current.write(...written),
  };
  return {
    state,
    only: () => current.only(),
    /** Writes another runner into the state, without which it is removed. */
    async change(runner?: object | null) {
      const { name, value, version } = await current.first();
      if (runner === undefined) current = memoryState();
      else await current.write(name, { ...(value as object), runner }, version);
    },
  };
}

it("a pass that waits begins when the state of the other one is removed", async () => {
  const { state, only, change } = removable();
  const first = await passes(state).claim("first", 120);
  const second = passes(state);
  const { logger, ...options } = second.options("second", never);
  const claim = await claimPass({ ...options, logger: { ...logger, info: () => void change() } });
  expect(await only()).toMatchObject({ runner: { run: "second" } });
  await expect(first.end({})).rejects.toMatchObject(inUse);
  await claim.end({});
});

it.each([
  ["removed", undefined],
  ["ended by another one", null],
  ["taken by another one", { run: "other", leaseMs: never }],
])("a pass whose state was %s changes nothing, and says that it was taken for dead", async (_, runner) => {
  for (const leaseMs of [never, 24]) {
    const { state, only, change } = removable();
    const { claim, lines } = passes(state);
    const lost = await claim("lost", leaseMs);
    await change(runner);
    if (leaseMs !== never) await expect.poll(() => lost.takenOver.aborted).toBe(true); // its heartbeat finds out
    const before = await only();
    await expect(lost.end({ head: 9 })).rejects.toMatchObject(inUse);
    expect(lost.takenOver).toMatchObject({ aborted: true, reason: inUse });
    expect(await only()).toEqual(before);
    expect(lines).toEqual([]);
  }
});

it("a heartbeat that cannot be written is logged, and the next one is", async () => {
  const state = memoryState();
  let failures = 1;
  const failing: StateStore = {
    ...state,
    async write(...written) {
      if ((await state.read("state")) !== undefined && failures-- > 0) throw new Error("down");
      return state.write(...written);
    },
  };
  const { claim, lines, fields } = passes(failing);
  const first = await claim("first", 30);
  first.advance(5);
  await expect.poll(() => state.only()).toMatchObject({ mark: markAt(5) });
  expect(lines).toEqual(["warn"]);
  expect(fields).toEqual([{ state: "state", err: expect.objectContaining({ message: "down" }) }]);
  await first.end({});
});

it("a pass whose signal has aborted, and a dry run, read the state and change nothing", async () => {
  const state = memoryState();
  const { claim, options } = passes(state);
  const first = await claim("first", never);
  first.advance(5);
  await first.end({});
  const before = await state.first();
  for (const reads of [
    await claim("second", never, AbortSignal.abort()),
    await readOnlyClaim(options("third", never)),
  ]) {
    reads.advance(9);
    await reads.end({ head: 9 });
    expect([reads.mark, reads.takenOver.aborted]).toEqual([5, false]);
  }
  expect(await state.first()).toEqual(before);
});
