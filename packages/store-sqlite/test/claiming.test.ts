import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type SqliteInbox, type SqliteStore, sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { openShop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();
let inbox: SqliteInbox;
let store: SqliteStore;
beforeEach(() => {
  const path = join(folder.path, "events.db");
  inbox = sqliteInbox({ path });
  store = sqliteStore({ path });
});
afterEach(async () => {
  await inbox.close();
  await store.close();
});

const report = { reason: "failed", durationMs: 7, error: "Error: no SIM", worker: "host:1:a" } as const;

/** An event whose first attempt failed, and that has no handler. */
async function unhandled(id: string): Promise<void> {
  await inbox.put([{ ...entry(id, { esim: "E1" }), key: "key:1a2b3c4d", trace: "00-a-b-01" }]);
  const [first] = await inbox.take({ limit: 1, leaseMs: 60_000 });
  if (first) await inbox.settle([{ ...first, state: "retry", afterMs: 0, error: "no SIM", report }]);
  await expect
    .poll(async () => {
      const [second] = await inbox.take({ limit: 1, leaseMs: 60_000 });
      return second && inbox.settle([{ ...second, state: "unhandled" }]);
    })
    .toEqual([true]);
}

async function claimed(id: string): Promise<string> {
  const claim = await store.claim(key(id), 60_000);
  if (claim.status !== "claimed") throw new Error(`${id} is ${claim.status}`);
  return claim.token;
}

describe("what operators see of an event that is handled inline", () => {
  it("has the time at which it was done", async () => {
    await store.complete(key("msg_1"), await claimed("msg_1"));
    expect(await inbox.get(key("msg_1"))).toMatchObject({ state: "done", settledAt: expect.any(Date) });
  });

  it("has nothing of an event of the same id whose retention has ended", async () => {
    await unhandled("msg_1");
    await inbox.put([entry("msg_2", { esim: "E1" })]);
    await inbox.take({ limit: 1, leaseMs: 60_000 });
    await inbox.erase("E1");
    const shop = openShop(join(folder.path, "events.db"));
    shop.run("update esim_webhooks_event set kept_until = 1000");
    shop.close();
    for (const id of ["msg_1", "msg_2"]) {
      await claimed(id);
      expect(await inbox.get(key(id))).toMatchObject({
        ...{ state: "leased", subject: null, key: null, trace: null, error: null, attempts: 0 },
        ...{ takenAt: null, settledAt: null, erasedAt: null, history: [] },
      });
    }
  });

  it("has its attempts counted from the first if workers get it after its retention has ended", async () => {
    await unhandled("msg_1");
    const shop = openShop(join(folder.path, "events.db"));
    shop.run("update esim_webhooks_event set kept_until = 1000");
    shop.close();
    const again = entry("msg_1", { esim: "E2" });
    const claim = await store.claim(key("msg_1"), 60_000, crc32(again.body));
    expect(await inbox.put([again])).toEqual(["busy"]);
    await store.release(key("msg_1"), claim.status === "claimed" ? claim.token : "");
    expect(await inbox.put([again])).toEqual(["stored"]);
    const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    expect(taken?.attempt).toBe(1);
  });
});
