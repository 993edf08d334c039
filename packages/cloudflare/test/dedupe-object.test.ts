import { DatabaseSync } from "node:sqlite";
import { DedupeObject, durableObjectStore } from "@esim-webhooks/cloudflare";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const dayMs = 86_400_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 0 }));
afterEach(() => void vi.useRealTimers());

/** Objects outside of workerd: their SQLite is Node's own. The suite runs them on workerd. */
function objects() {
  const database = new DatabaseSync(":memory:");
  let alarmAt: number | null = null;
  const state = {
    storage: {
      sql: {
        exec: (query: string, ...values: (string | number | null)[]) => ({
          toArray: () => rows(database, query, values),
        }),
      },
      getAlarm: async () => alarmAt,
      setAlarm: async (atMs: number) => {
        alarmAt = atMs;
      },
    },
    blockConcurrencyWhile: (work: () => Promise<void>) => void work(),
  };
  const object = new DedupeObject(state);
  return {
    store: durableObjectStore({
      getByName: () => ({ fetch: (url, request) => object.fetch(new Request(url, request)) }),
    }),
    count: () => rows(database, "select key from event", []).length,
    alarmAt: () => alarmAt,
    async passAlarm() {
      vi.setSystemTime(alarmAt ?? Number.NaN);
      alarmAt = null;
      await object.alarm();
    },
  };
}

function rows(database: DatabaseSync, query: string, values: (string | number | null)[]) {
  return database.prepare(query).all(...values) as Record<string, unknown>[];
}

describe("DedupeObject", () => {
  it("removes expired rows once a day, keeps the others, and has no alarm once it is empty", async () => {
    const { store, count, alarmAt, passAlarm } = objects();
    const key = (id: string) => ({ source: "default", id });
    await store.claim(key("crashed"), 30_000);
    const done = await store.claim(key("done"), 30_000);
    expect(await store.complete(key("done"), "token" in done ? done.token : "")).toBe(true);
    expect(count()).toBe(2);
    expect(alarmAt()).toBe(dayMs);
    await passAlarm();
    expect(count()).toBe(1);
    expect(await store.claim(key("done"), 1)).toEqual({ status: "done" });
    while (alarmAt() !== null) await passAlarm();
    expect(count()).toBe(0);
    expect(Date.now()).toBeGreaterThanOrEqual(30 * dayMs);
    await store.claim(key("next"), 1);
    expect(alarmAt()).toBe(Date.now() + dayMs);
  });
});

describe("durableObjectStore", () => {
  it("says what to add to wrangler.jsonc when the binding is missing", () => {
    expect(() => durableObjectStore(undefined as never)).toThrow(
      /durableObjectStore: .*not a binding to Durable Objects.*wrangler\.jsonc/,
    );
  });

  it("rejects with store_unavailable, and the error of the object as its cause", async () => {
    const cause = new Error("SQL is not enabled for this Durable Object class.");
    const store = durableObjectStore({ getByName: () => ({ fetch: () => Promise.reject(cause) }) });
    const claim = async () => store.claim({ source: "default", id: "msg_1" }, 1000);
    await expect(claim()).rejects.toMatchObject({
      code: "store_unavailable",
      cause,
      remedy: expect.stringContaining("new_sqlite_classes"),
    });
  });
});
