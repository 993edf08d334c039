import {
  type ApiEnvironment,
  createReceiver,
  type StateStore,
  stateInEnvironment,
} from "@esim-webhooks/core";
import { acknowledgeDrift, readDrift, watchDrift } from "@esim-webhooks/core/drift";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import {
  keysInEnvironment,
  planRotation,
  readWatermark,
  reconcile,
  requestSupportReplay,
  watchSupportReplay,
} from "@esim-webhooks/endpoint";
import { afterEach, describe, expect, it, vi } from "vitest";
import { knownInbox, memoryState } from "./reconcile/memory-state.ts";
import { made, servedListing } from "./served-listing.ts";

afterEach(() => vi.unstubAllEnvs());

const startMs = Date.parse("2026-11-20T00:00:00Z");
const clock = { now: () => startMs + 3_600_000 };
const catalog = { types: ["esim.faulted"] };

/** One store of states that both environments use, and the names that are written. */
function shared() {
  const state = memoryState();
  const names = new Set<string>();
  const write: StateStore["write"] = (name, ...rest) => {
    names.add(name);
    return state.write(name, ...rest);
  };
  return { state: { ...state, write }, names };
}

/** The same endpoint in an environment: references are opaque, and both may have the same. */
function endpointIn(environment: ApiEnvironment, state: StateStore) {
  const listing = [made({ id: "given-up", occurredMs: startMs, status: "exhausted" })];
  const served = servedListing((skipped) => listing.slice(skipped));
  const api = { ...served.api, environment };
  const { endpoint } = served;
  return {
    api,
    endpoint,
    pass: () => reconcile(api, endpoint, knownInbox(), { state, clock, since: new Date(startMs) }),
    request: () => requestSupportReplay(api, endpoint, { state, clock }),
    watermark: () => readWatermark(stateInEnvironment(state, environment), endpoint),
  };
}

describe("a state store that both environments share", () => {
  it("keeps how far reconcile has come in each, and what it asked support for", async () => {
    const { state, names } = shared();
    const [production, test] = [endpointIn("production", state), endpointIn("test", state)];
    await test.pass();
    expect(await production.watermark()).toBeUndefined();
    expect(await test.watermark()).toBeDefined();
    await production.request();
    expect((await test.pass()).supportReplay).toBeNull();
    expect((await production.pass()).supportReplay?.ids.requested).toBe(1);
    const known = [...names].map((name) => name.replace(/[^-]{32}$|(?<=-).{32}$/, "…")).sort();
    expect(known).toEqual(["reconcile-…", "replay-request-…", "test.reconcile-…"]);
  });

  it("shows an import the replay request of its environment", async () => {
    const { state } = shared();
    await endpointIn("test", state).request();
    const inTest = stateInEnvironment(state, "test");
    expect((await watchSupportReplay(state, "default", clock.now())).arrivals()).toBeNull();
    expect((await watchSupportReplay(inTest, "default", clock.now())).arrivals()).not.toBeNull();
    vi.stubEnv("ESIM_ENVIRONMENT", "test");
    expect((await watchSupportReplay(state, "default", clock.now())).arrivals()).not.toBeNull();
  });

  it("lets no rotation begin with the watermark of the other environment", async () => {
    const { state } = shared();
    const [production, test] = [endpointIn("production", state), endpointIn("test", state)];
    await test.pass();
    const keyStore = stateKeySource(state);
    await keyStore.write({ keys: [{ secret: newSecret() }] }, undefined);
    const plan = planRotation(production.api, production.endpoint, keyStore, { state });
    await expect(plan).rejects.toMatchObject({ code: "no_watermark" });
  });

  it("refuses keys under the name that has those of the other environment", async () => {
    const keyStore = stateKeySource(shared().state);
    await keysInEnvironment({ environment: "test" }, keyStore).write(
      { keys: [{ secret: newSecret() }] },
      undefined,
    );
    await expect(keysInEnvironment({ environment: "production" }, keyStore).read()).rejects.toMatchObject({
      code: "other_environment",
    });
    await expect(keysInEnvironment({}, keyStore).read()).rejects.toMatchObject({ code: "other_environment" });
    vi.stubEnv("ESIM_ENVIRONMENT", "test");
    expect(await keysInEnvironment({}, keyStore).read()).toBeDefined(); // a client of one's own
  });

  it("keeps the drift of their events apart", async () => {
    const { state, names } = shared();
    const see = async () => {
      const drift = watchDrift(state);
      const event = { data: { ...sampleData("esim.faulted"), reason: "a_new_one" } };
      drift.see({ kind: "known", type: "esim.faulted", event }, new Date(startMs));
      drift.see({ kind: "unknown", type: "esim.moved", event }, new Date(startMs));
      await drift.flush();
    };
    vi.stubEnv("ESIM_ENVIRONMENT", "test");
    await see();
    expect([...names].sort()).toEqual(["test.drift", "test.drift.esim.faulted", "test.drift.esim.moved"]);
    vi.stubEnv("ESIM_ENVIRONMENT", "production");
    expect(await readDrift(state, catalog)).toEqual([]);
    expect(await readDrift(stateInEnvironment(state, "test"), catalog)).toHaveLength(2);
    await see();
    expect([...names].slice(3).sort()).toEqual(["drift", "drift.esim.faulted", "drift.esim.moved"]);
    expect(await acknowledgeDrift(state)).toBeGreaterThan(0);
    const [ofTest] = await readDrift(stateInEnvironment(state, "test"), catalog);
    expect(ofTest?.findings).toHaveLength(1);
  });
});

it("an inbox that both environments share has their events under sources of their own", async () => {
  const inbox = memoryInbox();
  for (const environment of ["production", "test"]) {
    vi.stubEnv("ESIM_ENVIRONMENT", environment);
    const secret = newSecret();
    const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;
    const { headers, body } = signedRequest(event, { secret, id: "the same" } as never);
    await createReceiver(inbox, { secret }).receive({ method: "POST", headers, body });
  }
  expect((await inbox.sources?.())?.toSorted()).toEqual(["default", "test"]);
});

it("a state in an environment stays there, and is the store in all else", async () => {
  const { state, names } = shared();
  const frozen = Object.freeze(state);
  vi.stubEnv("ESIM_ENVIRONMENT", "test");
  const production = stateInEnvironment(frozen, "production");
  expect(stateInEnvironment(production)).toBe(production);
  await stateInEnvironment(stateInEnvironment(frozen)).write("one", 1, undefined);
  expect([...names]).toEqual(["test.one"]);
  expect(await production.read("one")).toBeUndefined();
  expect(production.capabilities).toEqual(state.capabilities);
  await production.ready();
  vi.stubEnv("ESIM_ENVIRONMENT", "staging");
  expect(() => stateInEnvironment(state)).toThrow('ESIM_ENVIRONMENT is "staging"');
});
