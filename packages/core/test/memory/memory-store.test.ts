import { type DedupeStore, memoryStore } from "@esim-webhooks/core";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { expectWarnings } from "../../../../test/support/warnings.ts";

expectWarnings("memory_store_overflow", "short_retention");

function storeAt(start = 0, options: { maxEntries?: number; retentionMs?: number } = {}) {
  const time = { now: start };
  const store = memoryStore({ clock: { now: () => time.now }, ...options });
  return { store, time };
}

const key = { source: "default", id: "msg_1" };
const dayMs = 86_400_000;

async function claimed(store: DedupeStore, leaseMs = 1000, id = key): Promise<string> {
  const claim = await store.claim(id, leaseMs);
  if (claim.status !== "claimed") throw new Error(`expected a claim, got ${claim.status}`);
  return claim.token;
}

describe("memoryStore", () => {
  it("keeps apart an id of the first source that looks like an id of another source", async () => {
    const { store } = storeAt();
    const keys = ["", "\0", "1:s"].flatMap((start) => [
      { source: "default", id: `${start}1:sx` },
      { source: "s", id: `${start}x` },
    ]);
    for (const each of keys) await claimed(store, 1000, each);
    expect(await store.sources?.()).toEqual(["default", "s"]);
  });

  it("remembers a done id for the retention, however short its lease was, and then forgets it", async () => {
    const { store, time } = storeAt(0, { retentionMs: 30 * dayMs });
    expect(await store.complete(key, await claimed(store, 10))).toBe(true);
    time.now = 30 * dayMs - 1;
    expect(await store.claim(key, 1000)).toEqual({ status: "done" });
    time.now = 30 * dayMs;
    await claimed(store);
  });

  it("moves the end of a lease with extend", async () => {
    const { store, time } = storeAt();
    const token = await claimed(store);
    time.now = 900;
    expect(await store.extend(key, token, 1000)).toBe(true);
    time.now = 1899;
    expect(await store.claim(key, 1000)).toEqual({ status: "busy", retryAfterMs: 1 });
  });

  it("holds no more than maxEntries, forgets the oldest done ids first, and never a live claim", async () => {
    const { store } = storeAt(0, { maxEntries: 3 });
    const live = await claimed(store, 1000, { source: "s", id: "live" });
    for (const id of ["1", "2", "3", "4"])
      await store.complete({ source: "s", id }, await claimed(store, 1000, { source: "s", id }));
    expect((await store.claim({ source: "s", id: "4" }, 1)).status).toBe("done");
    expect((await store.claim({ source: "s", id: "3" }, 1)).status).toBe("done");
    expect((await store.claim({ source: "s", id: "1" }, 1000)).status).toBe("claimed");
    expect(await store.complete({ source: "s", id: "live" }, live)).toBe(true);
  });

  it("forgets done ids in the order of their claims, past claims that are still live", async () => {
    const { store } = storeAt(0, { maxEntries: 4 });
    const keys = ["live", "1", "2", "3", "4", "5"].map((id) => ({ source: "s", id }));
    for (const each of keys) {
      const token = await claimed(store, 1000, each);
      if (each.id !== "live") await store.complete(each, token);
    }
    const statuses = [];
    for (const each of keys.slice().reverse()) statuses.push((await store.claim(each, 1000)).status);
    expect(statuses).toEqual(["done", "done", "done", "claimed", "claimed", "busy"]);
  });

  it("throws store_full while all its ids are claimed, until a lease ends", async () => {
    const { store, time } = storeAt(0, { maxEntries: 2 });
    await claimed(store, 1000, { source: "s", id: "1" });
    await claimed(store, 1000, { source: "s", id: "2" });
    expect(() => store.claim(key, 1000)).toThrow(expect.objectContaining({ code: "store_full" }));
    time.now = 1000;
    await claimed(store);
  });

  it("never gives an id to two owners at once, nor a done id to anybody, in any order of operations", async () => {
    const step = fc.record({
      what: fc.constantFrom("claim", "extend", "complete", "release", "wait"),
      id: fc.constantFrom("a", "b"),
      owner: fc.nat(3),
      ms: fc.integer({ min: 1, max: 150 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { store, time } = storeAt();
        const tokens = new Map<string, string>();
        const model = new Map<string, { token: string; endsAt: number; done?: true }>();
        for (const { what, id, owner, ms } of steps) {
          const slot = `${id}${owner}`;
          const state = model.get(id);
          const live = state !== undefined && state.endsAt > time.now && !state.done ? state : undefined;
          if (what === "wait") {
            time.now += ms;
          } else if (what === "claim") {
            const claim = await store.claim({ source: "s", id }, 100);
            expect(claim.status).toBe(state?.done ? "done" : live ? "busy" : "claimed");
            if (claim.status === "claimed") {
              tokens.set(slot, claim.token);
              model.set(id, { token: claim.token, endsAt: time.now + 100 });
            }
          } else {
            const token = tokens.get(slot) ?? "none";
            const changed = await store[what]({ source: "s", id }, token, 100);
            const again = what === "complete" && state?.done === true && state.token === token;
            expect(changed).toBe(live?.token === token || again);
            if (changed && what === "complete") model.set(id, { token, endsAt: time.now, done: true });
            if (changed && what === "release") model.delete(id);
            if (changed && what === "extend") model.set(id, { token, endsAt: time.now + 100 });
          }
        }
      }),
    );
  });

  it("answers at once, without a promise", () => {
    const { store } = storeAt();
    const claim = store.claim(key, 1000);
    const token = "token" in claim ? claim.token : "";
    expect([store.extend(key, token, 1000), store.complete(key, token), store.release(key, token)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("warns when the retention is shorter than the reach of replays", async () => {
    const warning = new Promise<Error>((resolve) => {
      process.on(
        "warning",
        (given: Error & { code?: string }) => given.code === "short_retention" && resolve(given),
      );
    });
    vi.resetModules(); // a process is warned once, and other tests share this one
    const fresh = await import("@esim-webhooks/core");
    fresh.memoryStore({ retentionMs: 7 * dayMs });
    expect((await warning).name).toBe("EsimWebhooksWarning");
    expect((await warning).message).toMatch(/less than 8 days.*Raise retentionMs/);
  });

  it("says what is wrong with an option", () => {
    expect(() => memoryStore({ maxEntires: 5 } as never)).toThrow(
      'no option "maxEntires". Did you mean "maxEntries"?',
    );
    expect(() => memoryStore({ retentionMs: -1 })).toThrow(/"retentionMs"/);
    expect(() => memoryStore({ clock: {} } as never)).toThrow('"clock": expected an object with now()');
  });
});
