import { createProcessor } from "@esim-webhooks/core";
import { type PostgresStore, postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cancelHoldingProxy } from "../../../test/adversary/tools/postgres-proxies.ts";
import { entry } from "../../../test/inbox-entry.ts";
import { privatePgBouncer } from "../../../test/servers/index.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { madeReady } from "./made-ready.ts";
import { createSchema, faulted, type TestSchema } from "./schema.ts";

let shop: TestSchema;
beforeEach(async () => {
  shop = await createSchema();
});
afterEach(() => shop.drop());

const max = 3;
const key = (id: string) => ({ source: "default", id });

/** Waits until the id can be claimed. Claims it for a second only: a claim whose answer is late keeps it that long. */
async function canClaim(store: Pick<PostgresStore, "claim">, id: string): Promise<void> {
  const claim = () => Promise.resolve(store.claim(key(id), 1000)).catch(() => undefined);
  await expect.poll(claim).toMatchObject({ status: "claimed" });
}

/** The backends whose name is that of the schema and which wait for a lock. */
async function waiting(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity
    where application_name = ${shop.schema} and wait_event_type = 'Lock'`.execute(shop.db);
  return rows[0]?.n ?? 0;
}

/** Runs `work` while another transaction has locked the table of events. */
async function whileLocked(work: () => Promise<void>): Promise<void> {
  await shop.db.transaction().execute(async (tx) => {
    await sql`lock table ${sql.id(shop.schema, "event")} in access exclusive mode`.execute(tx);
    await work();
  });
}

function urlOfName(url = postgresUrl): string {
  const named = new URL(url);
  named.searchParams.set("application_name", shop.schema);
  return named.href;
}

describe("a locked table", () => {
  it.each([
    ["the store's own pool", () => ({ url: urlOfName() })],
    ["the caller's pool", () => ({ pool: shop.pool(max) })],
    [
      "the caller's kysely",
      () => ({ kysely: new Kysely<object>({ dialect: new PostgresDialect({ pool: shop.pool(max) }) }) }),
    ],
  ])("holds no more backends than %s has places, each for the store's time only", async (_, database) => {
    const given = database();
    const store = postgresStore({ ...given, schema: shop.schema, timeoutMs: 1500 });
    await madeReady(store);
    const most = "url" in given ? 10 : max;
    await whileLocked(async () => {
      for (let round = 0; round < 3; round++) {
        const claims = Array.from({ length: 40 }, (_, n) => store.claim(key(`msg_${round}_${n}`), 60_000));
        for (const claim of await Promise.allSettled(claims)) {
          expect(claim).toMatchObject({ status: "rejected", reason: { code: "store_unavailable" } });
        }
        expect(await waiting()).toBeLessThanOrEqual(most);
      }
      await expect.poll(waiting).toBe(0); // though the table is still locked
    });
    await canClaim(store, "msg_0_0");
    await store.close();
  });

  it.each([
    ["the store's own pool", (url: string) => ({ url })],
    ["the caller's pool", (url: string) => ({ pool: shop.pool(max, url) })],
  ])(
    "behind a transaction pooler and in %s holds no connection for longer, and lends no limit to other clients",
    async (_, database) => {
      const bouncer = await privatePgBouncer(postgresUrl, 1);
      try {
        const store = postgresStore({ ...database(bouncer.url), schema: shop.schema, timeoutMs: 1500 });
        await madeReady(store);
        const other = shop.pool(1, bouncer.url);
        other.on("error", () => {}); // the pooler ends first
        await whileLocked(async () => {
          const claims = Array.from({ length: 10 }, (_, n) => store.claim(key(`msg_${n}`), 60_000));
          await Promise.allSettled(claims);
          const { rows } = await other.query("show statement_timeout");
          expect(rows).toEqual([{ statement_timeout: "0" }]);
        });
        await canClaim(store, "msg_0");
        await store.close();
      } finally {
        await bouncer.close();
      }
    },
  );
});

describe("limits", () => {
  it("leave the settings of the caller's pool as they were", async () => {
    const pool = shop.pool(1);
    const shown = async () => {
      const { rows } = await pool.query(
        `select name, setting from pg_settings where name in
           ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'synchronous_commit', 'transaction_isolation')`,
      );
      return rows;
    };
    const before = await shown();
    const store = postgresStore({ pool, schema: shop.schema });
    await store.migrate();
    await store.claim(key("msg_1"), 60_000);
    expect(await shown()).toEqual(before);
  });

  it("do not hold for the queries of a handler, which may take as long as the handler", async () => {
    const store = postgresStore({ pool: shop.pool(2), schema: shop.schema, timeoutMs: 1000 });
    await madeReady(store);
    const processor = createProcessor(
      { "*": (_, { tx }) => sql`select pg_sleep(1.5)`.execute(tx) },
      { store },
    );
    let tries = 0;
    const process = async () => (await processor.process(faulted(`msg_${tries++}`))).code;
    await expect.poll(process).toBe("processed"); // its claim and its mark have a second each
  });

  it("have the server end a transaction whose process is frozen: ours after timeoutMs, that of a handler after 5 minutes", async () => {
    const inbox = postgresInbox({ pool: shop.pool(1), schema: shop.schema, timeoutMs: 7000 });
    await inbox.migrate();
    const schema = sql.id(shop.schema);
    await sql`create table ${schema}.seen (idle_limit text)`.execute(shop.db);
    await sql`create function ${schema}.see() returns trigger language plpgsql as $$ begin
      execute format('insert into %I.seen values (current_setting(''idle_in_transaction_session_timeout''))', tg_table_schema);
      return null; end $$`.execute(shop.db);
    await sql`create trigger see after insert on ${schema}.event execute function ${schema}.see()`.execute(
      shop.db,
    );
    await inbox.put([entry("msg_1")]);
    expect((await sql`select * from ${schema}.seen`.execute(shop.db)).rows).toEqual([{ idle_limit: "7s" }]);

    const shown: unknown[] = [];
    const store = postgresStore({ pool: shop.pool(1), schema: shop.schema });
    const handlers = {
      "*": async (_: unknown, { tx }: { tx: Kysely<unknown> }) => {
        shown.push(...(await sql`show idle_in_transaction_session_timeout`.execute(tx)).rows);
      },
    };
    expect((await createProcessor(handlers, { store }).process(faulted("msg_2"))).code).toBe("processed");
    expect(shown).toEqual([{ idle_in_transaction_session_timeout: "5min" }]);
  });

  it("end on the server the query that a handler has left behind, and free its connection", async () => {
    const pool = shop.pool(1);
    const store = postgresStore({ pool, schema: shop.schema, timeoutMs: 1000 });
    await madeReady(store);
    let hasBegun = false;
    const handlers = {
      "*": async (_: unknown, { tx }: { tx: Kysely<unknown> }) => {
        hasBegun = true;
        await sql`select 1`.execute(tx);
        sql`select pg_sleep(600)`.execute(tx).catch(() => {}); // not awaited
      },
    };
    const processor = createProcessor(handlers, { store });
    for (
      let tries = 0;
      !hasBegun;
      tries++ // not if a second was too short for the claim
    )
      expect((await processor.process(faulted(`msg_${tries}`))).code).not.toBe("processed");
    await canClaim(store, "other");
    await expect.poll(() => pool.idleCount).toBe(1);
    expect(pool.totalCount).toBe(1);
    const { rows } = await sql`
      select pid from pg_stat_activity
      where application_name = ${shop.schema} and query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`.execute(
      shop.db,
    );
    expect(rows).toEqual([]);
  });

  it("free its connection once the query has ended, also behind a proxy that leaves requests to cancel unanswered", async () => {
    const proxy = await cancelHoldingProxy(postgresUrl);
    const blocker = await shop.pool(1).connect();
    await blocker.query("select pg_advisory_lock(hashtext($1))", [shop.schema]);
    const pool = shop.pool(1, proxy.url);
    pool.on("error", () => {}); // the proxy ends first
    const store = postgresStore({ pool, schema: shop.schema, timeoutMs: 1000 });
    await madeReady(store);
    const handlers = {
      "*": async (_: unknown, { tx }: { tx: Kysely<unknown> }) => {
        await sql`select 1`.execute(tx);
        sql`select pg_advisory_xact_lock(hashtext(${shop.schema}))`.execute(tx).catch(() => {}); // not awaited
      },
    };
    const processor = createProcessor(handlers, { store });
    let tries = 0;
    const held = async () => {
      expect((await processor.process(faulted(`msg_${tries++}`))).code).not.toBe("processed");
      return proxy.held();
    };
    try {
      await expect.poll(held).toBeGreaterThan(0); // not if a second was too short for the claim
    } finally {
      blocker.release(true); // the query ends, and the proxy still holds the request
    }
    await canClaim(store, "other");
    await store.close();
    await pool.end();
    await proxy.close();
  });

  it("undo an operation that the caller no longer waits for", async () => {
    const inbox = postgresInbox({ pool: shop.pool(1), schema: shop.schema, timeoutMs: 1000 });
    await madeReady(inbox);
    await whileLocked(async () => {
      await expect(inbox.put([entry("msg_1")])).rejects.toMatchObject({ code: "store_unavailable" });
    });
    await expect.poll(() => inbox.count().catch(() => undefined)).toBe(0);
  });
});
