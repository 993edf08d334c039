import { createProcessor } from "@esim-webhooks/core";
import { postgresInbox, postgresState, postgresStore } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { privatePostgres } from "../../../test/servers/index.ts";
import { createSchema, faulted, type TestSchema } from "./schema.ts";
import { withDefaults } from "./settings.ts";

let shop: TestSchema;
beforeEach(async () => {
  shop = await createSchema();
  await postgresStore({ pool: shop.pool(1), schema: shop.schema }).migrate();
});
afterEach(() => shop.drop());

/** Makes each write of an event note the value of a setting. */
async function noteSetting(name: string): Promise<() => Promise<string[]>> {
  const schema = sql.raw(`"${shop.schema}"`);
  await sql`create table ${schema}.noted (value text)`.execute(shop.db);
  await sql`
    create function ${schema}.note() returns trigger language plpgsql as $$
      begin insert into ${schema}.noted values (current_setting(${sql.lit(name)})); return null; end $$`.execute(
    shop.db,
  );
  for (const table of ["event", "state"]) {
    await sql`
      create constraint trigger note after insert or update on ${schema}.${sql.raw(table)}
      deferrable initially deferred for each row execute function ${schema}.note()`.execute(shop.db);
  }
  return async () => {
    const { rows } = await sql<{ value: string }>`select distinct value from ${schema}.noted`.execute(
      shop.db,
    );
    return rows.map(({ value }) => value);
  };
}

/** Lets every kind of store write, with `defaults` of its role. */
async function writeAll(defaults: Readonly<Record<string, string>>): Promise<void> {
  const given = { pool: shop.pool(2, withDefaults(shop, defaults)), schema: shop.schema };
  const inbox = postgresInbox(given);
  await inbox.put([entry("put")]);
  const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
  if (taken === undefined) throw new Error("nothing was taken");
  await inbox.settle([{ ...taken, state: "done" }]);
  const store = postgresStore(given);
  const processor = createProcessor({ "*": () => {} }, { store });
  expect((await processor.process(faulted("plain"))).code).toBe("processed");
  const transactional = createProcessor({ "*": (_, { tx }) => sql`select 1`.execute(tx) }, { store });
  expect((await transactional.process(faulted("transactional"))).code).toBe("processed");
  await postgresState(given).write("name", 1, undefined);
}

describe("a role with synchronous_commit = off", () => {
  it("gets on for every write whose acknowledgement is promised, inside context.tx too", async () => {
    const noted = await noteSetting("synchronous_commit");
    await writeAll({ synchronous_commit: "off" });
    expect(await noted()).toEqual(["on"]);
  });

  it("keeps any other value, such as that of a cluster whose standbys must have applied a commit", async () => {
    const noted = await noteSetting("synchronous_commit");
    await writeAll({ synchronous_commit: "remote_apply" });
    expect(await noted()).toEqual(["remote_apply"]);
  });

  it("loses no acknowledged put when the server is killed right after it", async () => {
    const server = await privatePostgres({ synchronous_commit: "off", wal_writer_delay: "10s" });
    const inbox = postgresInbox({ url: server.url });
    try {
      await inbox.migrate();
      for (let n = 1; n <= 30; n++) await inbox.put([entry(`msg_${n}`)]);
      await server.kill();
      await server.start();
      await expect.poll(() => inbox.count().catch(() => undefined)).toBe(30);
    } finally {
      await inbox.close();
      await server.close();
    }
  });
});

describe.each(["serializable", "repeatable read"])("a role whose default isolation is %s", (isolation) => {
  const pool = (max: number) =>
    shop.pool(max, withDefaults(shop, { default_transaction_isolation: isolation }));

  it("lets all concurrent puts, claims and marks succeed", async () => {
    const given = { schema: shop.schema, timeoutMs: 120_000 }; // what waits for a place in the pool is to succeed, however slowly
    const inboxes = [1, 2, 3].map(() => postgresInbox({ ...given, pool: pool(4) }));
    const ids = Array.from({ length: 600 }, (_, n) => `msg_${n}`);
    const puts = ids.flatMap((id) => inboxes.map((inbox) => inbox.put([entry(id)])));
    const results = (await Promise.all(puts)).flat();
    expect(results.filter((result) => result === "stored")).toHaveLength(600);
    const store = postgresStore({ ...given, pool: pool(8) });
    const options = { store, leaseMs: 600_000 };
    const processor = createProcessor({ "*": (_, { tx }) => sql`select 1`.execute(tx) }, options);
    const outcomes = await Promise.all(ids.map((id) => processor.process(faulted(`inline ${id}`))));
    expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set(["processed"]));
  });

  it("lets ten stores migrate at the same time", async () => {
    await sql`drop schema ${sql.id(shop.schema)} cascade`.execute(shop.db);
    const migrating = Array.from({ length: 10 }, () =>
      postgresStore({ pool: pool(1), schema: shop.schema }).migrate(),
    );
    await Promise.all(migrating);
  });

  it("lets a handler raise the isolation of its own transaction", async () => {
    const store = postgresStore({ pool: pool(2), schema: shop.schema });
    const seen: string[] = [];
    const processor = createProcessor(
      {
        "*": async ({ id }, { tx }) => {
          if (id === "raised") await sql`set transaction isolation level serializable`.execute(tx);
          const { rows } = await sql<{ transaction_isolation: string }>`show transaction_isolation`.execute(
            tx,
          );
          seen.push(rows[0]?.transaction_isolation ?? "");
        },
      },
      { store },
    );
    expect((await processor.process(faulted("plain"))).code).toBe("processed");
    expect((await processor.process(faulted("raised"))).code).toBe("processed");
    expect(seen).toEqual(["read committed", "serializable"]);
  });
});

describe.each(["40001", "40P01"])("a transaction that the server ends with %s", (code) => {
  /** Makes the first `times` writes of an event fail. Resolves to how many were tried. */
  async function failFirst(times: number): Promise<() => Promise<number>> {
    const schema = sql.raw(`"${shop.schema}"`);
    await sql`create sequence ${schema}.tried`.execute(shop.db); // which no rollback sets back
    await sql`
      create function ${schema}.fail() returns trigger language plpgsql as $$
        begin
          if nextval(${sql.lit(`"${shop.schema}".tried`)}) <= ${sql.lit(times)} then
            raise exception 'made to fail' using errcode = ${sql.lit(code)};
          end if;
          return new;
        end $$`.execute(shop.db);
    return async () => {
      const { rows } = await sql<{ last_value: string; is_called: boolean }>`
        select last_value, is_called from ${schema}.tried`.execute(shop.db);
      return rows[0]?.is_called ? Number(rows[0].last_value) : 0;
    };
  }

  async function arm(on: "insert" | "update"): Promise<void> {
    const schema = sql.raw(`"${shop.schema}"`);
    await sql`
      create trigger fail before ${sql.raw(on)} on ${schema}.event
      for each row execute function ${schema}.fail()`.execute(shop.db);
  }

  it("is tried again inside, so that its caller notices nothing", async () => {
    const inbox = postgresInbox({ pool: shop.pool(1), schema: shop.schema });
    await inbox.ready();
    const tried = await failFirst(2);
    await arm("insert");
    expect(await inbox.put([entry("msg_1")])).toEqual(["stored"]);
    expect(await tried()).toBe(3);
  });

  it("is tried a bounded number of times", async () => {
    const inbox = postgresInbox({ pool: shop.pool(1), schema: shop.schema });
    await inbox.ready();
    const tried = await failFirst(1000);
    await arm("insert");
    await expect(inbox.put([entry("msg_1")])).rejects.toMatchObject({
      code: "store_unavailable",
      cause: { code },
    });
    expect(await tried()).toBe(5);
  });

  it("and has run a handler fails its event, and does not run the handler again by itself", async () => {
    const store = postgresStore({ pool: shop.pool(2), schema: shop.schema });
    let runs = 0;
    const processor = createProcessor(
      {
        "*": async (_, { tx }) => {
          await sql`select 1`.execute(tx);
          runs += 1;
        },
      },
      { store },
    );
    await store.ready();
    await failFirst(1);
    await arm("update");
    expect((await processor.process(faulted("msg_1"))).code).toBe("failed");
    expect(runs).toBe(1);
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
    expect(runs).toBe(2);
  });
});
