import { join } from "node:path";
import {
  createProcessor,
  type EsimEvents,
  type HandlerContext,
  type Handlers,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import {
  type SqliteStore,
  type SqliteTransaction,
  sqliteInbox,
  sqliteStore,
} from "@esim-webhooks/store-sqlite";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { openShop, type Shop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();
let store: SqliteStore;
let shop: Shop;
beforeEach(async () => {
  const path = join(folder.path, "events.db");
  store = sqliteStore({ path });
  await store.ready();
  shop = openShop(path);
});
afterEach(async () => {
  shop.close();
  await store.close();
});

function faulted(id: string): WebhookEvent {
  return {
    id,
    type: "esim.faulted",
    timestamp: new Date().toISOString(),
    data: { ...sampleData("esim.faulted") },
  };
}

function order(tx: SqliteTransaction, event: string, expected?: { changes: number }): void {
  tx.write({ sql: "insert into orders (event, esim) values (?, ?)", parameters: [event, "e"] }, expected);
}

function processorOf(
  handler: NonNullable<Handlers<EsimEvents, SqliteTransaction>["*"]>,
  options: { leaseMs?: number } = {},
) {
  return createProcessor({ "*": handler }, { store, ...options });
}

describe("context.tx", () => {
  it("commits what the handler wrote together with the mark, and a redelivery runs nothing", async () => {
    const processor = processorOf(({ id }, { tx }) => order(tx, id, { changes: 1 }));
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "duplicate" });
    expect(shop.orders()).toEqual(["msg_1"]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no stock");
      },
      "failed",
    ],
    ["asks for a retry", ({ retryLater }: HandlerContext) => retryLater(1000), "retry_later"],
  ])("writes nothing when the handler %s after its write, and leaves the id free", async (_, end, code) => {
    let fails = true;
    const processor = processorOf(({ id }, context) => {
      order(context.tx, id);
      return fails ? end(context) : undefined;
    });
    expect((await processor.process(faulted("msg_1"))).code).toBe(code);
    expect(shop.orders()).toEqual([]);
    fails = false;
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(shop.orders()).toEqual(["msg_1"]);
  });

  it("commits with the mark when the handler discards, since the event is then done", async () => {
    const processor = processorOf(({ id }, context) => {
      order(context.tx, id);
      return context.discard("nothing to do");
    });
    expect((await processor.process(faulted("msg_1"))).code).toBe("discarded");
    expect((await processor.process(faulted("msg_1"))).code).toBe("duplicate");
    expect(shop.orders()).toEqual(["msg_1"]);
  });

  it("reads what is committed, and not yet what the handler writes", async () => {
    shop.run("insert into orders (event) values ('before')");
    const seen: unknown[] = [];
    const processor = processorOf(async ({ id }, { tx }) => {
      order(tx, id);
      seen.push(...(await tx.read("select event from orders where event <> ?", ["x"])));
    });
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(seen).toEqual([{ event: "before" }]);
    expect(shop.orders()).toEqual(["before", "msg_1"]);
  });

  it("keeps bytes, big numbers, text and null as they are", async () => {
    shop.run("create table kept (bytes blob, number integer, text text, empty)");
    const bytes = new Uint8Array(Buffer.from("a slice of a pool")).subarray(2, 7);
    const processor = processorOf((_, { tx }) =>
      tx.write({ sql: "insert into kept values (?, ?, ?, ?)", parameters: [bytes, 2n ** 62n, "🦓\n", null] }),
    );
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(
      shop.all("select hex(bytes) as hex, number = 4611686018427387904 as same, text, empty from kept"),
    ).toEqual([
      { hex: Buffer.from("slice").toString("hex").toUpperCase(), same: 1, text: "🦓\n", empty: null },
    ]);
  });

  it.each([
    ["breaks a constraint", "insert into seat values (1)", undefined, /UNIQUE constraint failed: seat.n/],
    ["breaks one that is checked at the end", "insert into child values (5)", undefined, /FOREIGN KEY/],
    [
      "changes another number of rows",
      "update seat set n = 9 where n = 8",
      1,
      /^Write 2 of the handler \(update seat set n = …\) changed 0 rows instead of 1\. Another program/,
    ],
    [
      "names a table that is not there",
      "insert into nowhere values (1)",
      undefined,
      /no such table: nowhere/,
    ],
    ["is two statements", "delete from seat; delete from seat", undefined, /more than one statement/],
  ])(
    "fails an event whose write %s, and does all the others of the same moment",
    async (_, sql, changes, message) => {
      shop.run(
        "create table seat (n unique); insert into seat values (1); create table parent (n integer primary key)",
      );
      shop.run("create table child (n references parent (n) deferrable initially deferred)");
      const processor = processorOf(({ id }, { tx }) => {
        order(tx, id);
        if (id === "bad") tx.write({ sql }, changes === undefined ? {} : { changes });
      });
      const ids = ["msg_1", "bad", "msg_2"];
      const outcomes = await Promise.all(ids.map((id) => processor.process(faulted(id))));
      expect(outcomes.map(({ code }) => code)).toEqual(["processed", "failed", "processed"]);
      expect(outcomes[1]).toMatchObject({ error: { message: expect.stringMatching(message) } });
      expect(shop.orders()).toEqual(["msg_1", "msg_2"]);
      expect((await store.claim(key("bad"), 1000)).status).toBe("claimed");
    },
  );

  it.each([
    "commit",
    "BEGIN",
    "/* a */ -- b\n pragma user_version = 1",
    "create table t (n)",
    "select 1",
    "vacuum",
    "with a as (select 1) select * from a",
    'insert into "esim_webhooks_event" (id) values (1)',
    "WITH a AS (SELECT 1) delete from main.Esim_Webhooks_State",
  ])("refuses to write by %j, which would change more than its own rows", async (sql) => {
    const processor = processorOf((_, { tx }) => tx.write({ sql }));
    const outcome = await processor.process(faulted("msg_1"));
    expect(outcome).toMatchObject({ code: "failed", error: { code: "invalid_input" } });
  });

  it.each([true, undefined, () => {}, { a: 1 }])(
    "refuses the parameter %o, and writes for the others",
    async (value) => {
      const processor = processorOf(({ id }, { tx }) => {
        order(tx, id);
        if (id === "bad")
          tx.write({ sql: "insert into orders values (?, null)", parameters: [value as never] });
      });
      const outcomes = await Promise.all(["msg_1", "bad"].map((id) => processor.process(faulted(id))));
      expect(outcomes).toMatchObject([
        { code: "processed" },
        { code: "failed", error: { code: "invalid_input" } },
      ]);
      expect(shop.orders()).toEqual(["msg_1"]);
    },
  );

  it.each([
    ["a count that is none", { sql: "delete from orders" }, { changes: () => 1 }],
    ["SQL that is no text", { sql: ["delete from orders"] }, {}],
  ])("refuses %s in the handler", async (_, statement, expected) => {
    const processor = processorOf((__, { tx }) => tx.write(statement as never, expected as never));
    const outcome = await processor.process(faulted("msg_1"));
    expect(outcome).toMatchObject({ code: "failed", error: { code: "invalid_input" } });
  });

  it("reads an integer that it wrote as a bigint", async () => {
    shop.run("create table big (n integer)");
    const big = 2n ** 62n;
    const seen: unknown[] = [];
    const processor = processorOf(async (_, { tx }) => {
      seen.push(...(await tx.read("select n, 5 as five, 0.5 as half from big")));
      tx.write({ sql: "insert into big values (?)", parameters: [big] });
    });
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect((await processor.process(faulted("msg_2"))).code).toBe("processed");
    expect(seen).toEqual([{ n: big, five: 5, half: 0.5 }]);
  });

  it.each([
    "insert into orders (event) values ('msg_1'); -- done",
    "/* a; */ insert into orders (event) values ('msg_1');;",
  ])("takes %j for the one statement that it is", async (sql) => {
    const processor = processorOf((_, { tx }) => tx.write({ sql }, { changes: 1 }));
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(shop.orders()).toEqual(["msg_1"]);
  });

  it("keeps the values that are written into a statement out of its error", async () => {
    const processor = processorOf((_, { tx }) =>
      tx.write({ sql: "update orders set esim = 'secret@mail' where event = 'x'" }, { changes: 1 }),
    );
    const outcome = await processor.process(faulted("msg_1"));
    expect(outcome).toMatchObject({
      code: "failed",
      error: { message: expect.stringContaining("(update orders set esim = …)") },
    });
    expect(JSON.stringify(outcome) + String((outcome as { error?: unknown }).error)).not.toContain("secret");
  });

  it("rejects a question that SQLite does not understand, and one that would write", async () => {
    const errors: unknown[] = [];
    const processor = processorOf(async (_, { tx }) => {
      for (const sql of ["select absent", "delete from orders", "with a as (select 1) delete from orders"])
        await tx.read(sql).catch((error) => errors.push(error.message));
    });
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(errors).toEqual([
      "no such column: absent",
      expect.stringContaining("read() takes SELECT"),
      expect.stringContaining("read() takes SELECT"),
    ]);
  });

  it("rejects what is written after the handler has returned, which would not be in the transaction", async () => {
    let late: SqliteTransaction | undefined;
    const processor = processorOf(({ id }, { tx }) => {
      order(tx, id);
      late = tx;
    });
    await processor.process(faulted("msg_1"));
    expect(() => late && order(late, "late")).toThrow("context.tx was used after its handler had returned.");
    expect(shop.orders()).toEqual(["msg_1"]);
  });

  it("holds nothing while a handler takes its time: others write, and a duplicate is busy immediately", async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const processor = processorOf(async ({ id }, { tx }) => {
      order(tx, id);
      if (id !== "slow") return;
      started.resolve();
      await finish.promise;
    });
    const working = processor.process(faulted("slow"));
    await started.promise;
    expect((await processor.process(faulted("slow"))).code).toBe("busy");
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    finish.resolve();
    expect(await working).toEqual({ code: "processed" });
    expect(shop.orders()).toEqual(["msg_1", "slow"]);
  });

  it("completes an event whose handler outlived its lease if no other process took it", async () => {
    const claim = await store.claim(key("msg_1"), 1);
    if (claim.status !== "claimed") throw new Error("not claimed");
    const result = await store.transact(key("msg_1"), claim.token, async (tx) => {
      await expect
        .poll(() =>
          shop.all("select 1 from esim_webhooks_event where leased_until < unixepoch('subsec') * 1000"),
        )
        .toHaveLength(1);
      order(tx, "msg_1");
      return true;
    });
    expect(result).toBe("committed");
    expect(shop.orders()).toEqual(["msg_1"]);
  });

  it("writes nothing for an owner whose lease went to another one meanwhile, and that one's writes stand", async () => {
    const first = await store.claim(key("msg_1"), 1);
    if (first.status !== "claimed") throw new Error("not claimed");
    const result = await store.transact(key("msg_1"), first.token, async (tx) => {
      order(tx, "late");
      const processor = processorOf(({ id }, context) => order(context.tx, id));
      await expect.poll(async () => (await processor.process(faulted("msg_1"))).code).toBe("processed");
      return true;
    });
    expect(result).toBe("rolled_back");
    expect(shop.orders()).toEqual(["msg_1"]);
  });

  it("writes nothing for an owner whose id an inbox on the file has stored meanwhile", async () => {
    const inbox = sqliteInbox({ path: join(folder.path, "events.db") });
    onTestFinished(() => inbox.close());
    const first = await store.claim(key("msg_1"), 1);
    if (first.status !== "claimed") throw new Error("not claimed");
    const result = await store.transact(key("msg_1"), first.token, async (tx) => {
      order(tx, "late");
      await expect.poll(() => inbox.put([entry("msg_1")])).toEqual(["stored"]);
      return true;
    });
    expect(result).toBe("rolled_back");
    expect(shop.orders()).toEqual([]);
    expect(await inbox.take({ limit: 1, leaseMs: 60_000 })).toMatchObject([{ id: "msg_1", attempt: 1 }]);
  });
});
