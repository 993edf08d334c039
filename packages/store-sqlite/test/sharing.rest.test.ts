import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { hasWalResetBug } from "../src/database/journal.ts";
import { openShop } from "./shop.ts";
import { folderOfEachTest, temporaryFolder } from "./temporary-folder.ts";

const folder = folderOfEachTest();
let path: string;
beforeEach(() => {
  path = join(folder.path, "events.db");
});

const readiness = ({ ready }: { ready(): Promise<unknown> }) =>
  ready().then(
    () => "ready",
    (error) => error,
  );

describe("stores and inboxes on one file", () => {
  it("do not let ids that are done in a short time expire all at the same time, inline or in the transaction of a handler", async () => {
    const dayMs = 86_400_000;
    const [store, inbox] = [sqliteStore({ path, retentionMs: 10 * dayMs }), sqliteInbox({ path })];
    await store.ready();
    const user = new DatabaseSync(path);
    user.exec("create table note (text text)");
    user.close();
    const startedAt = Date.now();
    for (let n = 0; n < 16; n += 1) {
      const one = key(`msg_${n}`);
      const claim = await store.claim(one, 60_000);
      if (claim.status !== "claimed") throw new Error("not claimed");
      if (n % 2 === 0) await store.complete(one, claim.token);
      else
        await store.transact(one, claim.token, async (tx) => {
          tx.write({ sql: "delete from note" });
          return true;
        });
    }
    const rows = await Promise.all(Array.from({ length: 16 }, (_, n) => inbox.get(key(`msg_${n}`))));
    const ends = rows.map((row) => row?.keptUntil?.getTime() ?? 0);
    expect(ends).toHaveLength(16);
    expect(Math.min(...ends)).toBeGreaterThanOrEqual(startedAt + 10 * dayMs);
    expect(Math.max(...ends) - Math.min(...ends)).toBeGreaterThan(60_000);
    await Promise.all([store.close(), inbox.close()]);
  });

  it("report of which sources they hold ids", async () => {
    const [store, inbox] = [sqliteStore({ path }), sqliteInbox({ path })];
    expect(await inbox.sources?.()).toEqual([]);
    await inbox.put([entry("msg_1"), { ...entry("msg_2"), source: "shop" }]);
    await store.claim({ source: "prod", id: "msg_3" }, 1000);
    expect(await inbox.sources?.()).toEqual(["default", "prod", "shop"]);
    expect(await store.sources?.()).toEqual(["default", "prod", "shop"]);
    await Promise.all([store.close(), inbox.close()]);
  });

  it("share one writer: the file is open until the last of them is closed", async () => {
    const [first, second] = [sqliteStore({ path }), sqliteInbox({ path })];
    await first.ready();
    await first.close();
    expect(await second.put([entry("msg_1")])).toEqual(["stored"]);
    await second.close();
    const third = sqliteInbox({ path });
    expect(await third.put([entry("msg_1")])).toMatchObject([expect.stringMatching(/duplicate|conflict/)]);
    await third.close();
  });

  it("are refused when they ask one writer for two durabilities, and state what they have", async () => {
    const inbox = sqliteInbox({ path, durability: "normal" });
    expect(inbox.capabilities.durable).toBe(false);
    expect(() => sqliteStore({ path })).toThrow(/durability "normal", not "full"/);
    await inbox.close();
    const store = sqliteStore({ path });
    expect(store.capabilities.durable).toBe(true);
    await store.close();
  });

  it("are refused when one of them takes a network mount and the other does not", async () => {
    const inbox = sqliteInbox({ path, allowNetworkMount: true });
    expect(() => sqliteStore({ path })).toThrow(/allowNetworkMount true, not false/);
    await inbox.close();
  });

  it.skipIf(process.platform === "win32")("share one writer by whichever name of the file", async () => {
    const [file, data] = [join(folder.path, "link.db"), join(folder.path, "data")];
    symlinkSync(path, file);
    symlinkSync(folder.path, data);
    const inbox = sqliteInbox({ path, durability: "normal" });
    expect(() => sqliteStore({ path: join(data, "events.db") })).toThrow(/durability "normal", not "full"/);
    await inbox.put([entry("msg_1")]);
    expect(() => sqliteStore({ path: file })).toThrow(/durability "normal", not "full"/);
    await inbox.close();
  });

  it("store what was being put as they are closed", async () => {
    const inbox = sqliteInbox({ path });
    await inbox.ready();
    const putting = inbox.put([entry("msg_1")]);
    await Promise.all([inbox.close(), putting]);
    const shop = openShop(path);
    expect(shop.all("select id from esim_webhooks_event")).toEqual([{ id: "msg_1" }]);
    shop.close();
  });

  it("do the others of a batch when one of them cannot be done", async () => {
    const store = sqliteStore({ path });
    await store.ready();
    const claims = await Promise.allSettled(
      [1000, 0.5, 1000].map((leaseMs, n) => store.claim(key(`msg_${n}`), leaseMs)), // a time is a whole number of ms
    );
    expect(claims.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    await store.close();
  });

  it.each([
    ["insert or rollback into seat values (1)", "seat"],
    ["insert into rolling values (1)", "rolling"],
    ["insert into guarded values (1)", "guarded"],
  ])("do the others of a batch once each when a handler's `%s` ends its transaction", async (sql, table) => {
    const shop = openShop(path);
    shop.run(
      `create table seat (n unique); create table rolling (n unique on conflict rollback); create table guarded (n);
      insert into seat values (1); insert into rolling values (1);
      create trigger guard before insert on guarded begin select raise(rollback, 'guarded'); end;`,
    );
    const [store, inbox] = [sqliteStore({ path }), sqliteInbox({ path })];
    const keys = ["before", "bad", "after"].map(key);
    const claims = await Promise.all(keys.map((each) => store.claim(each, 60_000)));
    const transacting = keys.map((each, n) =>
      store.transact(each, claims[n]?.status === "claimed" ? claims[n].token : "", async (tx) => {
        tx.write({ sql: "insert into orders (event) values (?)", parameters: [each.id] });
        if (each.id === "bad") tx.write({ sql });
        return true;
      }),
    );
    const putting = inbox.put([entry("msg_1")]);
    const results = await Promise.allSettled([...transacting, putting]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(results[1]).toMatchObject({
      reason: { code: "ERR_SQLITE_ERROR", message: expect.stringContaining(table) },
    });
    expect(await putting).toEqual(["stored"]);
    expect(shop.orders()).toEqual(["after", "before"]);
    expect((await store.claim(key("bad"), 1000)).status).toBe("busy");
    shop.close();
    await Promise.all([store.close(), inbox.close()]);
  });

  it("do the others of a batch when one of them cannot cross to the thread", async () => {
    const [store, inbox] = [sqliteStore({ path }), sqliteInbox({ path })];
    await store.ready();
    const results = await Promise.allSettled([
      store.claim(key("msg_1"), (() => 1) as never),
      inbox.put([entry("msg_2")]),
    ]);
    expect(results).toMatchObject([
      { status: "rejected", reason: { code: "store_unavailable" } },
      { status: "fulfilled", value: ["stored"] },
    ]);
    await Promise.all([store.close(), inbox.close()]);
  });

  it("answer a handler's question while counts of a large table are being made", async () => {
    const [inbox, store] = [sqliteInbox({ path }), sqliteStore({ path, timeoutMs: 120_000 })];
    const operator = sqliteInbox({ path, timeoutMs: 120_000 });
    await inbox.ready();
    const shop = openShop(path);
    shop.run(`with recursive number (n) as (select 1 union all select n + 1 from number where n < 50000)
      insert into esim_webhooks_event (source, id, state, type) select 'default', n, 'done', 'a' from number`);
    shop.close();
    const ended: string[] = [];
    const claim = await store.claim(key("msg_1"), 120_000);
    await store.transact(key("msg_1"), claim.status === "claimed" ? claim.token : "", async (tx) => {
      await tx.read("select 1"); // its thread has started
      const counting = Array.from({ length: 20 }, () => operator.stats().then(() => ended.push("stats")));
      await tx.read("select event from orders").then(() => ended.push("read"));
      await Promise.all(counting);
      return true;
    });
    expect(ended.indexOf("read")).toBeLessThan(20);
    await Promise.all([inbox.close(), store.close(), operator.close()]);
  });
});

// each waits for a second or more
describe.concurrent("stores and inboxes on one file that another process has locked", () => {
  function ownPath(onTestFinished: (end: () => void) => void): string {
    const own = temporaryFolder();
    onTestFinished(own.remove);
    return join(own.path, "events.db");
  }

  it("reject once another process has kept the file locked for too long, and recover by themselves", async ({
    expect, // the global one does not know which of several tests polls
    onTestFinished,
  }) => {
    const path = ownPath(onTestFinished);
    const first = sqliteInbox({ path, timeoutMs: 1000 });
    const inbox = sqliteInbox({ path, timeoutMs: 120_000 });
    await inbox.count();
    await expect.poll(() => readiness(first)).toBe("ready"); // a busy machine may need more than its second
    const shop = openShop(path);
    shop.run("begin immediate");
    await expect(first.put([entry("msg_1")])).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("locked"),
    });
    expect(await inbox.count()).toBe(0); // readers do not wait for writers
    shop.run("commit");
    expect(await inbox.put([entry("msg_1")])).toEqual(["stored"]);
    shop.close();
    await Promise.all([first.close(), inbox.close()]);
  });

  it("wait for a lock as long as the timeout of each, in any order", async ({ onTestFinished }) => {
    const path = ownPath(onTestFinished);
    const [first, second] = [
      sqliteInbox({ path, timeoutMs: 1000 }),
      sqliteInbox({ path, timeoutMs: 120_000 }),
    ];
    await second.ready();
    const shop = openShop(path);
    shop.run("begin immediate");
    const putting = second.put([entry("msg_2")]);
    await expect(first.put([entry("msg_1")])).rejects.toMatchObject({ code: "store_unavailable" });
    shop.run("commit");
    expect(await putting).toEqual(["stored"]);
    // the lock may go in the moment in which its caller gives up: the sender's next attempt is then a duplicate
    expect((await second.put([entry("msg_1")]))[0]).toMatch(/^(?:already_)?stored$/);
    shop.close();
    await Promise.all([first.close(), second.close()]);
  });

  it("wait as long to open a file that is locked", async ({ onTestFinished }) => {
    const path = ownPath(onTestFinished);
    const shop = openShop(path);
    const mode = hasWalResetBug(process.versions["sqlite"] ?? "") ? "delete" : "wal"; // as it will be: it cannot be changed while locked
    shop.run(`pragma journal_mode = ${mode}; begin immediate`);
    const [first, second] = [
      sqliteInbox({ path, timeoutMs: 1000 }),
      sqliteInbox({ path, timeoutMs: 120_000 }),
    ];
    const opening = second.ready();
    await expect(first.ready()).rejects.toMatchObject({ code: "store_unavailable" });
    shop.run("commit");
    await opening;
    shop.close();
    await Promise.all([first.close(), second.close()]);
  });

  it("lease and claim nothing for a caller who gave up while the file was locked", async ({
    expect, // the global one does not know which of several tests polls
    onTestFinished,
  }) => {
    const path = ownPath(onTestFinished);
    const patient = sqliteInbox({ path, timeoutMs: 120_000 });
    const [inbox, store] = [sqliteInbox({ path, timeoutMs: 1000 }), sqliteStore({ path, timeoutMs: 1000 })];
    await patient.put([entry("msg_1")]);
    await expect.poll(() => readiness(inbox)).toBe("ready"); // a busy machine may need more than their second
    await expect.poll(() => readiness(store)).toBe("ready");
    const shop = openShop(path);
    shop.run("begin immediate");
    const putting = patient.put([entry("msg_2")]); // for which the writer waits on, with all of its message
    const taking = inbox.take({ limit: 10, leaseMs: 60_000 });
    const claiming = store.claim(key("msg_3"), 60_000);
    await expect(taking).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(claiming).rejects.toMatchObject({ code: "store_unavailable" });
    shop.run("commit");
    expect(await putting).toEqual(["stored"]);
    expect(await patient.count({ state: "ready" })).toBe(2);
    expect(await patient.count({ state: "leased" })).toBe(0);
    shop.close();
    await Promise.all([patient.close(), inbox.close(), store.close()]);
  });

  it("lease nothing for a caller who gave up while a message of many rows waited for the lock", async ({
    expect, // the global one does not know which of several tests polls
    onTestFinished,
  }) => {
    const path = ownPath(onTestFinished);
    const patient = sqliteInbox({ path, timeoutMs: 120_000 });
    const inbox = sqliteInbox({ path, timeoutMs: 1000 });
    await patient.ready();
    await expect.poll(() => readiness(inbox)).toBe("ready"); // a busy machine may need more than its second
    const shop = openShop(path);
    shop.run("begin immediate");
    const putting = patient.put(Array.from({ length: 1000 }, (_, n) => entry(`msg_${n}`)));
    await expect(inbox.take({ limit: 10, leaseMs: 60_000 })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    shop.run("commit");
    expect(new Set(await putting)).toEqual(new Set(["stored"]));
    await patient.put([entry("behind the take")]);
    expect(await patient.count({ state: "leased" })).toBe(0);
    shop.close();
    await Promise.all([patient.close(), inbox.close()]);
  });
});

describe("a machine whose clock was set back", () => {
  it("does not wait longer for events than they were to wait", async () => {
    const lane = ({ data }: { data: unknown }) => String((data as { esimReference: string }).esimReference);
    const open = () => sqliteInbox({ path, lane });
    let inbox = open();
    await inbox.put([entry("msg_retried"), entry("msg_later")]);
    const taken = await inbox.take({ limit: 2, leaseMs: 30_000 });
    await inbox.settle(
      taken.map(({ source, id, token }) => ({
        ...{ source, id, token, error: "" },
        ...{ state: "retry", afterMs: id === "msg_later" ? 24 * 3_600_000 : 1 },
      })),
    );
    await inbox.put([entry("msg_put")]);
    await inbox.close();
    const shop = openShop(path);
    shop.run(
      "update esim_webhooks_event set due_at = due_at + 3600000, lane = iif(id = 'msg_put', null, lane)",
    ); // as if an hour had been taken back
    shop.close();
    inbox = open();
    let ids: string[] = [];
    await expect
      .poll(async () => {
        ids = [...ids, ...(await inbox.take({ limit: 10, leaseMs: 30_000 })).map(({ id }) => id)];
        return ids.toSorted();
      })
      .toEqual(["msg_put", "msg_retried"]);
    const later = await inbox.get(key("msg_later"));
    expect(later?.dueAt?.getTime()).toBeLessThan(Date.now() + 24 * 3_600_000 + 1000);
    await inbox.close();
  });

  it("does not wait for leases that would end in another age", async () => {
    const [store, inbox] = [sqliteStore({ path }), sqliteInbox({ path })];
    await store.claim(key("msg_1"), 30_000);
    await inbox.put([entry("msg_2")]);
    await inbox.take({ limit: 1, leaseMs: 30_000 });
    expect((await store.claim(key("msg_1"), 30_000)).status).toBe("busy");
    expect(await inbox.take({ limit: 1, leaseMs: 30_000 })).toEqual([]);
    const shop = openShop(path);
    shop.run("update esim_webhooks_event set leased_until = leased_until + 3600000"); // as if an hour had been taken back
    shop.close();
    expect((await store.claim(key("msg_1"), 30_000)).status).toBe("claimed");
    expect(await inbox.take({ limit: 1, leaseMs: 30_000, suspects: true })).toMatchObject([
      { id: "msg_2", attempt: 2 },
    ]);
    await Promise.all([store.close(), inbox.close()]);
  });
});

describe("a machine whose clock jumped ahead", () => {
  /** Moves all times of ours by `days`, as if the clock had been set back by as much. */
  function moveTimes(days: number): void {
    const shop = openShop(path);
    const ms = days * 24 * 3_600_000;
    shop.run(`
      update esim_webhooks_event
      set due_at = due_at + ${ms}, leased_until = leased_until + ${ms}, kept_until = kept_until + ${ms};
      update esim_webhooks_purge_clock set seen_at = seen_at + ${ms}, held_until = held_until + ${ms}`);
    shop.close();
  }

  const ids = Array.from({ length: 20 }, (_, n) => `msg_${n}`);

  it("forgets no handled id in an inbox that is opened again and again", async () => {
    let inbox = sqliteInbox({ path });
    await inbox.put(ids.map((id) => entry(id)));
    const taken = await inbox.take({ limit: 20, leaseMs: 60_000 });
    await inbox.settle(taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
    expect(await inbox.purge()).toBe(0);
    await inbox.close(); // this process would compare its own clock, which the test cannot set
    moveTimes(-32);
    for (let opened = 0; opened < 2; opened += 1) {
      inbox = sqliteInbox({ path });
      expect(await inbox.purge()).toBe(0);
      expect(await inbox.purge()).toBe(0);
      await inbox.close();
    }
    inbox = sqliteInbox({ path });
    moveTimes(32);
    expect(new Set(await inbox.put(taken.map(({ id, body }) => ({ ...entry(id), body }))))).toEqual(
      new Set(["already_stored"]),
    );
    await inbox.close();
  });

  it("forgets no handled id in a store, before it has purged and after", async () => {
    let store = sqliteStore({ path });
    const complete = async (id: string) => {
      const claim = await store.claim(key(id), 60_000);
      if (claim.status === "claimed") await store.complete(key(id), claim.token);
      return claim.status;
    };
    const inbox = sqliteInbox({ path });
    await inbox.purge();
    for (const id of ids) expect(await complete(id)).toBe("claimed");
    moveTimes(-32);
    for (const id of ids) expect(await complete(id)).toBe("done");
    await store.close();
    store = sqliteStore({ path }); // purges after its first event
    expect(await complete("msg_new")).toBe("claimed");
    const shop = openShop(path);
    await expect
      .poll(() => shop.all("select held_until > seen_at as held from esim_webhooks_purge_clock"))
      .toEqual([{ held: 1 }]);
    shop.close();
    for (const id of ids) expect(await complete(id)).toBe("done");
    moveTimes(32);
    for (const id of ids) expect(await complete(id)).toBe("done");
    await Promise.all([store.close(), inbox.close()]);
  });

  it("ends leases early, and a late owner settles nothing", async () => {
    const [store, inbox] = [sqliteStore({ path }), sqliteInbox({ path })];
    await inbox.put([entry("msg_1")]);
    const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    const claim = await store.claim(key("msg_2"), 60_000);
    if (taken === undefined || claim.status !== "claimed") throw new Error("nothing was leased");
    moveTimes(-1);
    const [again] = await inbox.take({ limit: 1, leaseMs: 60_000, suspects: true });
    expect(again).toMatchObject({ id: "msg_1", attempt: 2 });
    expect(await inbox.settle([{ ...taken, state: "done" }])).toEqual([false]);
    expect((await store.claim(key("msg_2"), 60_000)).status).toBe("claimed");
    expect(await store.complete(key("msg_2"), claim.token)).toBe(false);
    await Promise.all([store.close(), inbox.close()]);
  });
});
