import { once } from "node:events";
import { createProcessor, type HandlerContext, type Handlers } from "@esim-webhooks/core";
import { type PostgresStore, postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { CamelCasePlugin, Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { createSchema, faulted, type Shop, type TestSchema } from "./schema.ts";

let shop: TestSchema;
let store: PostgresStore<Shop>;

/** A store with a pool of `max` connections, which see the table of orders. */
function storeOf(max: number): PostgresStore<Shop> {
  const kysely = new Kysely<Shop>({ dialect: new PostgresDialect({ pool: shop.pool(max) }) });
  return postgresStore({ kysely: kysely.withSchema(shop.schema), schema: shop.schema });
}

beforeEach(async () => {
  shop = await createSchema();
  store = storeOf(5);
  await store.migrate();
});

afterEach(async () => {
  await store.close();
  await shop.drop();
});

const key = (id: string) => ({ source: "default", id });

function order(tx: Transaction<Shop>, event: string) {
  return tx.insertInto("order").values({ event, esim: "e" }).execute();
}

describe("context.tx", () => {
  it("commits the handler's writes together with the done mark, and a redelivery runs no handler", async () => {
    const processor = createProcessor({ "esim.faulted": ({ id }, { tx }) => order(tx, id) }, { store });
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "duplicate" });
    expect(await shop.orders()).toEqual(["msg_1"]);
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
  ])("writes nothing when the handler %s after its insert, and leaves the id free", async (_, end, code) => {
    let fails = true;
    const handlers: Handlers<{ "esim.faulted": unknown }, Transaction<Shop>> = {
      "esim.faulted": async ({ id }, context) => {
        await order(context.tx, id);
        return fails ? end(context) : undefined;
      },
    };
    const processor = createProcessor(handlers as never, { store });
    expect((await processor.process(faulted("msg_1"))).code).toBe(code);
    expect(await shop.orders()).toEqual([]);
    fails = false;
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("commits together with the done mark when the handler discards the event", async () => {
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id }, context) => {
          await order(context.tx, id);
          return context.discard("nothing to do");
        },
      },
      { store },
    );
    expect((await processor.process(faulted("msg_1"))).code).toBe("discarded");
    expect((await processor.process(faulted("msg_1"))).code).toBe("duplicate");
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("gives its connection back when the transaction has begun after the timeout", async () => {
    const pool = shop.pool(1);
    const timedOut = Promise.withResolvers<void>();
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<unknown>;
      const late = async (text: string, values?: unknown[]) => {
        const answer = await query(text, values);
        if (text.includes("'300s'")) await timedOut.promise; // the last query of its beginning
        return answer;
      };
      Object.assign(client, { query: late });
    });
    const slow = postgresStore<Shop>({ pool, schema: shop.schema, timeoutMs: 1000 });
    await store.ready();
    const claim = await store.claim(key("msg_1"), 600_000);
    if (claim.status !== "claimed") throw new Error(claim.status);
    const transacted = slow.transact(key("msg_1"), claim.token, async (tx) => {
      await sql`select 1`.execute(tx).finally(timedOut.resolve);
      return true;
    });
    await expect(transacted).rejects.toMatchObject({ code: "store_unavailable" });
    const extend = async () => slow.extend(key("msg_1"), claim.token, 600_000);
    await expect.poll(() => extend().catch(() => false)).toBe(true); // on the only connection
    await slow.close();
  });

  it("takes no connection from a handler that does not use it", async () => {
    const alone = storeOf(1);
    const pool = shop.pool(1);
    const processor = createProcessor(
      { "esim.faulted": () => Promise.all([1, 2, 3].map(() => pool.query("select 1"))) },
      { store: alone },
    );
    const outcomes = await Promise.all([1, 2, 3, 4].map((n) => processor.process(faulted(`msg_${n}`))));
    expect(outcomes).toEqual(Array(4).fill({ code: "processed" }));
    expect(await shop.orders()).toEqual([]);
  });

  it("rejects a query after the handler has returned, since it would not be in the transaction", async () => {
    let late: Transaction<Shop> | undefined;
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id }, { tx }) => {
          await order(tx, id);
          late = tx;
        },
      },
      { store },
    );
    await processor.process(faulted("msg_1"));
    await expect(late && order(late, "late")).rejects.toThrow(
      "context.tx was used after its handler had returned. Await every query before returning.",
    );
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("does not report an event as done when a swallowed error has aborted its transaction", async () => {
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id }, { tx }) => {
          await order(tx, id);
          await sql`select 1 / 0`.execute(tx).catch(() => {});
        },
      },
      { store },
    );
    const outcome = await processor.process(faulted("msg_1"));
    expect(outcome).toMatchObject({ code: "failed", error: { message: expect.stringContaining("aborted") } });
    expect(await shop.orders()).toEqual([]);
  });

  it("reports the event, not the store, as failed when its writes violate a deferred constraint", async () => {
    await sql`create table ${sql.id(shop.schema, "seat")} (n int unique deferrable initially deferred)`.execute(
      shop.db,
    );
    const insert = sql`insert into ${sql.id(shop.schema, "seat")} values (1)`;
    const processor = createProcessor({ "*": (_, { tx }) => insert.execute(tx) }, { store });
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    const outcome = await processor.process(faulted("msg_2"));
    expect(outcome).toMatchObject({ code: "failed", error: { code: "23505" } });
  });

  it("completes an event whose handler outlived its lease if no other process took it, also with a pool of one", async () => {
    const alone = storeOf(1);
    await alone.ready();
    const leaseMs = 2500; // longer than the claim takes on a machine that stalls
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id }, { tx, signal }) => {
          await order(tx, id);
          if (!signal.aborted) await once(signal, "abort");
        },
      },
      { store: alone, leaseMs },
    );
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect((await processor.process(faulted("msg_1"))).code).toBe("duplicate");
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("writes nothing for an owner that has lost its lease, and keeps the new owner's writes", async () => {
    const first = await store.claim(key("msg_1"), 30);
    if (first.status !== "claimed") throw new Error("not claimed");
    const result = await store.transact(key("msg_1"), first.token, async (tx) => {
      await order(tx, "late");
      const processor = createProcessor(
        { "esim.faulted": ({ id }, context) => order(context.tx, id) },
        { store },
      );
      await expect.poll(async () => (await processor.process(faulted("msg_1"))).code).toBe("processed");
      return true;
    });
    expect(result).toBe("rolled_back");
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("writes nothing for an owner whose id an inbox on the tables has stored meanwhile", async () => {
    const inbox = postgresInbox({ pool: shop.pool(1), schema: shop.schema });
    const first = await store.claim(key("msg_1"), 30);
    if (first.status !== "claimed") throw new Error("not claimed");
    const result = await store.transact(key("msg_1"), first.token, async (tx) => {
      await order(tx, "late");
      await expect.poll(() => inbox.put([entry("msg_1")])).toEqual(["stored"]);
      return true;
    });
    expect(result).toBe("rolled_back");
    expect(await shop.orders()).toEqual([]);
    expect(await inbox.take({ limit: 1, leaseMs: 60_000 })).toMatchObject([{ id: "msg_1", attempt: 1 }]);
    await inbox.close();
  });

  it("answers busy to a duplicate immediately, although the handler's transaction stays open", async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id }, { tx }) => {
          await order(tx, id);
          started.resolve();
          await finish.promise;
        },
      },
      { store: storeOf(2) },
    );
    const working = processor.process(faulted("msg_1"));
    await started.promise;
    const codes: string[] = [];
    for (let i = 0; i < 20; i++) codes.push((await processor.process(faulted("msg_1"))).code);
    finish.resolve();
    expect(codes).toEqual(Array(20).fill("busy"));
    expect(await working).toEqual({ code: "processed" });
  });

  it("loses nothing and repeats nothing when the connection is lost between the insert and the done mark", async () => {
    let attempts = 0;
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id }, { tx }) => {
          attempts += 1;
          await order(tx, id);
          if (attempts > 1) return;
          const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
          await sql`select pg_terminate_backend(${rows[0]?.pid}, 5000)`.execute(shop.db);
        },
      },
      { store: postgresStore<Shop>({ pool: shop.pool(3, urlInSchema()), schema: shop.schema }) },
    );
    expect((await processor.process(faulted("msg_1"))).code).toBe("store_unavailable");
    expect(await shop.orders()).toEqual([]);
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("keeps the plugins of the caller's kysely instance, but does not use them for its own queries", async () => {
    const plain = new Kysely<Shop & { stockLevel: { esimReference: string } }>({
      dialect: new PostgresDialect({ pool: shop.pool(2) }),
      plugins: [new CamelCasePlugin()],
    }).withSchema(shop.schema);
    await plain.schema.createTable("stockLevel").addColumn("esimReference", "text").execute();
    const processor = createProcessor(
      {
        "esim.faulted": async ({ data }, { tx }) =>
          tx.insertInto("stockLevel").values({ esimReference: data.esimReference }).execute(),
      },
      { store: postgresStore({ kysely: plain, schema: shop.schema }) },
    );
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect((await processor.process(faulted("msg_1"))).code).toBe("duplicate");
    expect(await plain.selectFrom("stockLevel").select("esimReference").execute()).toHaveLength(1);
  });
});

/** A connection string whose search path includes the test's schema. */
function urlInSchema(): string {
  const url = new URL(String((shop.pool(1).options as { connectionString?: string }).connectionString));
  url.searchParams.set("options", `-c search_path=${shop.schema}`);
  return url.href;
}
