import {
  createProcessor,
  createWorker,
  type EsimEvents,
  type Handlers,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { latestOnly, postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { pgSchema, text } from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm/sql";
import { Kysely, PostgresDialect } from "kysely";
import type { PoolClient } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { createSchema, faulted, type TestSchema } from "./schema.ts";

expectWarnings("handler_failed");

let shop: TestSchema;

beforeEach(async () => {
  shop = await createSchema();
  await storeOf(1).migrate();
});

afterEach(() => shop.drop());

/** A store whose handlers get a client of `pg`. */
function storeOf(max: number) {
  return postgresStore({ pool: shop.pool(max), schema: shop.schema, tx: (client) => client });
}

function insertInto({ schema }: TestSchema): string {
  return `insert into "${schema}"."order" (event, esim) values ($1, 'e')`;
}

function drizzleOrder() {
  return pgSchema(shop.schema).table("order", { event: text().notNull(), esim: text().notNull() });
}

describe("tx: (client) => client", () => {
  it("gives handlers a client of pg, whose writes commit with the done mark", async () => {
    const insert = insertInto(shop);
    const processor = createProcessor(
      { "esim.faulted": ({ id }, { tx }) => tx.query(insert, [id]) },
      { store: storeOf(1) },
    );
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "duplicate" });
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("takes queries as pg does: with a name, with rows as arrays, and with a callback", async () => {
    const answers: unknown[] = [];
    const processor = createProcessor(
      {
        "*": async (_, { tx }) => {
          answers.push((await tx.query({ name: "one", text: "select $1::int as n", values: [1] })).rows);
          answers.push((await tx.query({ text: "select $1::int as n", rowMode: "array" }, [2])).rows);
          await new Promise<void>((resolve) => {
            tx.query("select $1::int as n", [3], (_error, { rows }) => resolve(void answers.push(rows)));
          });
          await new Promise<void>((resolve) => {
            tx.query("select 4 as n", (_error, { rows }) => resolve(void answers.push(rows)));
          });
        },
      },
      { store: storeOf(1) },
    );
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    expect(answers).toEqual([[{ n: 1 }], [[2]], [{ n: 3 }], [{ n: 4 }]]);
  });

  it("writes nothing when the handler throws, or has swallowed an error of Postgres", async () => {
    const insert = insertInto(shop);
    const throws = {
      "*": ({ id }: { id: string }, { tx }: { tx: PoolClient }) => tx.query(insert, [id, id]),
    };
    expect((await createProcessor(throws, { store: storeOf(1) }).process(faulted("msg_1"))).code).toBe(
      "failed",
    );
    const swallows = createProcessor(
      {
        "*": async ({ id }, { tx }) => {
          await tx.query(insert, [id]);
          await tx.query("select 1 / 0").catch(() => {});
        },
      },
      { store: storeOf(1) },
    );
    expect(await swallows.process(faulted("msg_1"))).toMatchObject({
      code: "failed",
      error: { message: expect.stringContaining("aborted") },
    });
    expect(await shop.orders()).toEqual([]);
  });

  it("takes no connection from a handler that makes no query", async () => {
    const pool = shop.pool(1);
    const store = postgresStore({ pool, schema: shop.schema, tx: (client) => client });
    const processor = createProcessor({ "*": () => pool.query("select 1") }, { store });
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
  });

  it("rejects a query after the handler has returned", async () => {
    let late: PoolClient | undefined;
    const processor = createProcessor(
      {
        "*": async (_, { tx }) => {
          await tx.query("select 1");
          late = tx;
        },
      },
      { store: storeOf(1) },
    );
    await processor.process(faulted("msg_1"));
    await expect(late?.query("select 1")).rejects.toThrow(
      "context.tx was used after its handler had returned.",
    );
  });

  it("rejects a query that the handler did not await and that had not begun: it would be outside the transaction", async () => {
    const insert = insertInto(shop);
    const late: unknown[] = [];
    const processor = createProcessor(
      {
        "*": ({ id }, { tx }) => {
          for (const n of [1, 2]) tx.query(insert, [`${id} ${n}`]).catch((error) => late.push(error));
        },
      },
      { store: storeOf(1) },
    );
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    await expect.poll(() => late).toMatchObject([lateQuery, lateQuery]);
    expect(await shop.orders()).toEqual([]);
  });

  const lateQuery = {
    message: expect.stringMatching(/^context\.tx was used after its handler had returned\./),
  };

  it.each<[string, (client: PoolClient) => Promise<unknown>]>([
    ["COMMIT", (client) => client.query("COMMIT")],
    ["commit in a prepared statement", (client) => client.query({ name: "c", text: "commit" })],
    ["commit with values", (client) => client.query("commit", [])],
    ["commit in the second statement of a text", (client) => client.query("select 1; /* so */ commit")],
    ["rollback", (client) => client.query({ text: "rollback", values: [] })],
    ["begin", (client) => client.query("begin")],
    [
      "commit with a callback",
      (client) =>
        new Promise((resolve, reject) => client.query("commit", (e) => (e ? reject(e) : resolve(0)))),
    ],
    ["a query without a text", (client) => client.query({ name: "c" } as never)],
    ["a query object", async (client) => client.query({ text: "commit", submit() {} } as never)],
  ])("refuses %s, and a handler that ignores it still commits with the done mark", async (_, refused) => {
    const insert = insertInto(shop);
    let ignores = false;
    const processor = createProcessor(
      {
        "*": async ({ id }, { tx }) => {
          await tx.query(insert, [id]);
          await refused(tx).catch((error: Error) => {
            if (!ignores) throw error;
          });
        },
      },
      { store: storeOf(1) },
    );
    expect(await processor.process(faulted("msg_1"))).toMatchObject({
      code: "failed",
      error: { code: "invalid_input", message: expect.stringContaining("context.tx") },
    });
    expect(await shop.orders()).toEqual([]);
    ignores = true;
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("loses nothing and repeats nothing when the connection is lost before the done mark", async () => {
    const insert = insertInto(shop);
    let attempts = 0;
    const processor = createProcessor(
      {
        "*": async ({ id }, { tx }) => {
          attempts += 1;
          await tx.query(insert, [id]);
          if (attempts > 1) return;
          const { rows } = await tx.query("select pg_backend_pid() as pid");
          await shop.pool(1).query("select pg_terminate_backend($1, 5000)", [rows[0].pid]);
        },
      },
      { store: storeOf(2) },
    );
    expect((await processor.process(faulted("msg_1"))).code).toBe("store_unavailable");
    expect(await shop.orders()).toEqual([]);
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("is refused with a kysely instance, whose clients are not available", () => {
    const kysely = new Kysely({ dialect: new PostgresDialect({ pool: shop.pool(1) }) });
    expect(() => postgresStore({ kysely, tx: (client) => client })).toThrow(
      "postgresStore cannot use tx with a kysely instance. Pass its pool instead, or remove tx.",
    );
  });
});

describe("tx: (client) => drizzle(client)", () => {
  const open = () =>
    postgresStore({ pool: shop.pool(1), schema: shop.schema, tx: (client) => drizzle(client) });

  it("commits what a handler writes with drizzle together with the done mark, or not at all", async () => {
    const order = drizzleOrder();
    let fails = true;
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id, data }, { tx }) => {
          await tx.insert(order).values({ event: id, esim: data.esimReference });
          expect(await tx.select({ event: order.event }).from(order)).toEqual([{ event: id }]);
          if (fails) throw new Error("no stock");
        },
      },
      { store: open() },
    );
    expect((await processor.process(faulted("msg_1"))).code).toBe("failed");
    expect(await shop.orders()).toEqual([]);
    fails = false;
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "duplicate" });
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("refuses drizzle's own transaction, which would commit before the event is done", async () => {
    const order = drizzleOrder();
    const processor = createProcessor(
      {
        "*": ({ id }, { tx }) => tx.transaction((own) => own.insert(order).values({ event: id, esim: "e" })),
      },
      { store: open() },
    );
    expect(await processor.process(faulted("msg_1"))).toMatchObject({
      code: "failed",
      error: {
        cause: { code: "invalid_input", message: expect.stringMatching(/^context\.tx was given BEGIN/) },
      },
    });
    expect(await shop.orders()).toEqual([]);
  });

  it("lets a part fail by itself in a savepoint", async () => {
    const order = drizzleOrder();
    const processor = createProcessor(
      {
        "*": async ({ id }, { tx }) => {
          await tx.insert(order).values({ event: id, esim: "e" });
          await tx.execute(sql`savepoint part`);
          await tx.insert(order).values({ event: "part", esim: "e" });
          await tx.execute(sql`select 1 / 0`).catch(() => tx.execute(sql`rollback to savepoint part`));
        },
      },
      { store: open() },
    );
    expect(await processor.process(faulted("msg_1"))).toEqual({ code: "processed" });
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("goes with an inbox and its workers, too", async () => {
    const order = drizzleOrder();
    const inbox = postgresInbox({
      pool: shop.pool(3),
      schema: shop.schema,
      tx: (client) => drizzle(client),
    });
    await inbox.put([entry("msg_1"), entry("msg_2")]);
    const worker = createWorker(
      inbox,
      {
        "*": async ({ id }, { tx, attempt }) => {
          await tx.insert(order).values({ event: id, esim: "e" });
          if (attempt === 1 && id === "msg_2") throw new Error("once more");
        },
      },
      { backoff: () => 1 },
    );
    const stop = new AbortController();
    const running = worker.run({ signal: stop.signal });
    await expect.poll(() => inbox.count({ state: "done" })).toBe(2);
    stop.abort();
    await running;
    expect(await shop.orders()).toEqual(["msg_1", "msg_2"]);
  });
});

describe("latestOnly", () => {
  const enabled = (id: string): WebhookEvent => ({ ...faulted(id), type: "esim.enabled" });

  it("skips events older than the newest one in any form of context.tx, in the same transaction", async () => {
    const { schema } = shop;
    const order = drizzleOrder();
    const at = (id: string, second: number): WebhookEvent => ({
      ...enabled(id),
      timestamp: `2026-01-01T00:00:0${second}Z`,
    });
    const store = postgresStore({ pool: shop.pool(1), schema, tx: (client) => drizzle(client) });
    let fails = true;
    const handler = latestOnly<WebhookEvent, NodePgDatabase>(
      { state: "profile", schema },
      async ({ id }, { tx }) => {
        await tx.insert(order).values({ event: id, esim: "e" });
        if (fails) throw new Error("no stock");
      },
    );
    const processor = createProcessor({ "esim.enabled": handler }, { store });
    expect((await processor.process(at("at 5, failed", 5))).code).toBe("failed");
    fails = false;
    for (const second of [3, 2, 4]) await processor.process(at(`at ${second}`, second));
    expect(await shop.orders()).toEqual(["at 3", "at 4"]);
  });

  it("takes a function for a form, too", async () => {
    const { schema } = shop;
    const insert = insertInto(shop);
    const run = (client: PoolClient) => (text: string, values: unknown[]) => client.query(text, values);
    const store = postgresStore({ pool: shop.pool(1), schema, tx: run });
    const handler = latestOnly<WebhookEvent, ReturnType<typeof run>>(
      { state: "profile", schema },
      ({ id }, { tx }) => tx(insert, [id]),
    );
    const processor = createProcessor({ "esim.enabled": handler }, { store });
    expect(await processor.process(enabled("msg_1"))).toEqual({ code: "processed" });
    expect(await shop.orders()).toEqual(["msg_1"]);
  });

  it("says what it needs when there is no Postgres store", async () => {
    const handler = latestOnly({ state: "profile" }, () => {});
    const processor = createProcessor({ "esim.enabled": handler } as Handlers<EsimEvents>);
    expect(await processor.process(enabled("msg_1"))).toMatchObject({
      code: "failed",
      error: { code: "invalid_input", message: expect.stringMatching(/^latestOnly was given a context\.tx/) },
    });
  });
});
