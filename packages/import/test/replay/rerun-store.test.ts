import {
  createProcessor,
  type DedupeStore,
  type EsimEvents,
  type Handlers,
  memoryStore,
} from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { rerunStore } from "../../src/replay/rerun-store.ts";

const timestamp = "2026-11-20T12:00:00Z";
const faulted = { id: "msg_1", type: "esim.faulted", timestamp, data: sampleData("esim.faulted") };

/** Processes the event by force, for the import of this name; without a name, as a delivery. */
function byForce(handlers: Handlers<EsimEvents, unknown>, store: DedupeStore = memoryStore()) {
  const reruns: string[] = [];
  const delivered = createProcessor(handlers, { store });
  async function work(run?: string, source = "default"): Promise<string> {
    const onRerun = () => void reruns.push(run ?? "");
    const processor =
      run === undefined ? delivered : delivered.withStore((own) => rerunStore(own, { run, onRerun }));
    return (await processor.process(faulted, { source })).code;
  }
  return { work, reruns };
}

describe("an import by force", () => {
  it("runs a done event again once per name, with its own source", async () => {
    const sources: string[] = [];
    const { work, reruns } = byForce({ "*": (_, { source }) => void sources.push(source) });
    expect(await work(undefined, "eu")).toBe("processed");
    const many = await Promise.all(Array.from({ length: 50 }, () => work("first", "eu")));
    expect(many.filter((code) => code === "processed")).toHaveLength(1);
    expect(await work("first", "eu")).toBe("duplicate");
    expect(await work("second", "eu")).toBe("processed");
    expect(await work("second", "eu")).toBe("duplicate");
    expect(await work(undefined, "eu")).toBe("duplicate");
    expect(sources).toEqual(["eu", "eu", "eu"]);
    expect(reruns).toEqual(["first", "second"]);
  });

  it("does not run an event again under the name that ran it first", async () => {
    let runs = 0;
    const { work, reruns } = byForce({
      "*": () => {
        runs += 1;
        if (runs === 1) throw new Error("not yet");
      },
    });
    const codes = [];
    for (const run of ["first", "first", "first", "second", "second"]) codes.push(await work(run));
    expect(codes).toEqual(["failed", "processed", "duplicate", "processed", "duplicate"]);
    expect(await work()).toBe("duplicate");
    expect(reruns).toEqual(["second"]);
  });

  it("does not run an event that it cannot mark as run by this name", async () => {
    let runs = 0;
    let isAway = true;
    const store = memoryStore();
    const claim: DedupeStore["claim"] = async (key, leaseMs) => {
      if (isAway && key.source !== "default") throw new Error("away");
      return store.claim(key, leaseMs);
    };
    const { work } = byForce({ "*": () => void runs++ }, { ...store, claim });
    const codes = [await work("first")];
    isAway = false;
    for (const run of ["first", "first"]) codes.push(await work(run));
    expect(codes).toEqual(["store_unavailable", "processed", "duplicate"]);
    expect(runs).toBe(1);
  });

  it("does not run an event that another process is marking", async () => {
    let runs = 0;
    const store = memoryStore();
    const claim: DedupeStore["claim"] = async (key, leaseMs) =>
      key.source === "default" ? store.claim(key, leaseMs) : { status: "busy", retryAfterMs: 5 };
    const { work } = byForce({ "*": () => void runs++ }, { ...store, claim });
    expect(await work("first")).toBe("busy");
    expect(runs).toBe(0);
    expect(await work()).toBe("processed"); // its claim was released
  });

  it("does not run an event again when its process was killed right after the first run", async () => {
    let runs = 0;
    let isKilled = false;
    const store = memoryStore();
    const dead = new Promise<never>(() => {});
    const complete: DedupeStore["complete"] = async (key, token) => {
      if (isKilled) return dead;
      const completed = await store.complete(key, token);
      isKilled = key.source === "default";
      return completed;
    };
    const claim: DedupeStore["claim"] = (key, leaseMs) => (isKilled ? dead : store.claim(key, leaseMs));
    const handlers = { "*": () => void runs++ };
    void byForce(handlers, { ...store, claim, complete }).work("first");
    await expect.poll(() => isKilled).toBe(true);
    expect(await byForce(handlers, store).work("first")).toBe("duplicate");
    expect(runs).toBe(1);
  });

  it("runs an event again under the same name after its handler failed", async () => {
    let runs = 0;
    const { work } = byForce({
      "*": () => {
        runs += 1;
        if (runs === 2) throw new Error("not yet");
      },
    });
    const codes = [];
    for (const run of [undefined, "first", "first", "first"]) codes.push(await work(run));
    expect(codes).toEqual(["processed", "failed", "processed", "duplicate"]);
  });

  it("commits the second run and a transactional handler's writes together", async () => {
    const committed: string[] = [];
    const store = memoryStore();
    const transact: DedupeStore["transact"] = async ({ source }, token, work) => {
      if (!(await work("tx")) || !(await store.complete({ source, id: faulted.id }, token)))
        return "rolled_back";
      committed.push(source);
      return "committed";
    };
    const { work } = byForce({ "*": () => {} }, { ...store, transact });
    for (const run of [undefined, "first", "first"]) await work(run);
    expect(committed).toEqual(["default", "default (run again: first)"]);
  });
});
