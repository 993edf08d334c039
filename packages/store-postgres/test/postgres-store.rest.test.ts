import { type AddressInfo, createServer } from "node:net";
import { createProcessor } from "@esim-webhooks/core";
import { postgresInbox, postgresMigrations, postgresStore } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { runNode } from "../../../test/run.ts";
import { privatePgBouncer, startProxy } from "../../../test/servers/index.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { migrations } from "../src/database/migrations.ts";
import { createSchema, faulted, type TestSchema } from "./schema.ts";

expectWarnings("invalid_option", "migration_missing", "schema_mismatch", "short_retention");

let shop: TestSchema;
beforeEach(async () => {
  shop = await createSchema();
});
afterEach(() => shop.drop());

const key = (id: string) => ({ source: "default", id });

describe("migrations", () => {
  it("are run once when ten processes start at the same time", async () => {
    const script = `
      import { postgresStore } from "@esim-webhooks/store-postgres";
      const store = postgresStore({ url: process.env.DATABASE_URL, schema: process.env.SCHEMA, timeoutMs: 60_000 });
      await store.migrate();
      console.log((await store.claim({ source: "default", id: "msg_1" }, 600_000)).status);
      await store.close();`;
    const environment = { DATABASE_URL: postgresUrl, SCHEMA: shop.schema };
    const runs = Array.from({ length: 10 }, () =>
      runNode(["--input-type=module", "--eval", script], environment),
    );
    const outputs = await Promise.all(runs.map(async ({ ended }) => (await ended).output.trim()));
    expect(outputs.sort()).toEqual([...Array(9).fill("busy"), "claimed"]);
    const { rows } = await sql`select number from ${sql.id(shop.schema, "migration")}`.execute(shop.db);
    expect(rows).toHaveLength(migrations.length);
  });

  it("can be run by another tool, and migrate() then has nothing to do", async () => {
    const pool = shop.pool(1);
    for (const text of postgresMigrations(shop.schema)) await pool.query(text);
    const store = postgresStore({ pool, schema: shop.schema });
    await store.ready();
    await store.migrate();
    expect((await store.claim(key("msg_1"), 1000)).status).toBe("claimed");
  });

  it("that are missing make every operation reject, until they were run", async () => {
    const store = postgresStore({ pool: shop.pool(2), schema: shop.schema });
    const processor = createProcessor({ "*": () => {} }, { store });
    await expect(store.ready()).rejects.toMatchObject({
      code: "migration_missing",
      message: `The schema "${shop.schema}" is at migration 0, and this version needs ${migrations.length}. Call migrate() at deployment, or run the later texts of postgresMigrations().`,
    });
    const outcome = await processor.process(faulted("msg_1"));
    expect(outcome).toMatchObject({ code: "store_unavailable", error: { code: "migration_missing" } });
    await store.migrate();
    expect((await processor.process(faulted("msg_1"))).code).toBe("processed");
  });
});

describe("connections", () => {
  it.each([1, 3])("never exceed the pool of %i, and 200 concurrent events all succeed", async (max) => {
    const pool = shop.pool(max);
    let most = 0;
    pool.on("connect", () => {
      most = Math.max(most, pool.totalCount);
    });
    const store = postgresStore({ pool, schema: shop.schema, timeoutMs: 60_000 });
    await store.migrate();
    const options = { store, leaseMs: 600_000 };
    const processor = createProcessor({ "*": (_, { tx }) => sql`select 1`.execute(tx) }, options);
    const codes = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => (await processor.process(faulted(`msg_${n}`))).code),
    );
    expect(new Set(codes)).toEqual(new Set(["processed"]));
    expect(most).toBe(max);
    await expect.poll(() => pool.idleCount).toBe(pool.totalCount);
  });

  it("that are too few for a burst are kept: what they have no time for is refused, and claimed when it is sent again", async () => {
    const pool = shop.pool(2);
    let removed = 0;
    pool.on("remove", () => {
      removed += 1;
    });
    const store = postgresStore({ pool, schema: shop.schema, timeoutMs: 4000 });
    await store.migrate();
    await store.ready();
    const slowly = sql.id(shop.schema, "slowly");
    await sql`create function ${slowly}() returns trigger language plpgsql as 'begin perform pg_sleep(0.3); return new; end'`.execute(
      shop.db,
    );
    await sql`create trigger slowly before insert on ${sql.id(shop.schema, "event")} for each row execute function ${slowly}()`.execute(
      shop.db,
    );
    const waiting = Array.from({ length: 30 }, (_, n) => key(`msg_${n}`));
    while (waiting.length > 0) {
      const claims = await Promise.allSettled(waiting.map((each) => store.claim(each, 600_000)));
      const refused = waiting.filter((_, n) => claims[n]?.status === "rejected");
      expect(refused.length).toBeLessThan(waiting.length);
      waiting.splice(0, waiting.length, ...refused);
    }
    expect(removed).toBe(0);
  });

  it("that are all in use make an operation reject in time, and leave no id claimed", async () => {
    const pool = shop.pool(1);
    const store = postgresStore({ pool, schema: shop.schema, timeoutMs: 2500 });
    await store.migrate();
    await store.ready();
    const taken = await pool.connect();
    await expect(store.claim(key("msg_1"), 60_000)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("did not answer within 2500 ms"),
    });
    taken.release();
    expect((await store.claim(key("msg_1"), 60_000)).status).toBe("claimed");
  });

  it("that the server drops right after accepting them do not end the process", async () => {
    const fields = ["SFATAL", "C57P01", "Mterminating connection due to administrator command", ""];
    const message = (type: string, body: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(body.length + 4);
      return Buffer.concat([Buffer.from(type), length, body]);
    };
    const stopping = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        const welcome = [message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))];
        socket.end(Buffer.concat([...welcome, message("E", Buffer.from(`${fields.join("\0")}\0`))]));
      });
    });
    await new Promise<void>((resolve) => stopping.listen(0, "127.0.0.1", resolve));
    const { port } = stopping.address() as AddressInfo;
    const store = postgresStore({ url: `postgres://postgres@127.0.0.1:${port}/postgres`, timeoutMs: 5000 });
    for (let n = 0; n < 5; n++) {
      await expect(store.claim(key("msg_1"), 1000)).rejects.toMatchObject({ code: "store_unavailable" });
    }
    await store.close();
    await new Promise((resolve) => stopping.close(resolve));
  });

  it.each(["the store's own pool", "the caller's pool"])(
    "of %s that go silent are cut: operations reject in time, and the next ones get new connections",
    async (which) => {
      const proxy = await startProxy({ url: postgresUrl });
      const given = which === "the store's own pool" ? { url: proxy.url } : { pool: shop.pool(3, proxy.url) };
      const store = postgresStore({ ...given, schema: shop.schema, timeoutMs: 2500 });
      await store.migrate();
      let isSilent = false;
      const processor = createProcessor(
        {
          "*": async (_, { tx }) => {
            await sql`select 1`.execute(tx);
            proxy.silence(); // every connection, including this one
            isSilent = true;
          },
        },
        { store, leaseMs: 60_000 },
      );
      await Promise.all([1, 2, 3].map((n) => store.claim(key(`warm_${n}`), 1000)));
      for (
        let tries = 0;
        !isSilent;
        tries++ // not if its claim took too long
      )
        expect((await processor.process(faulted(`msg_${tries}`))).code).toBe("store_unavailable");
      await expect
        .poll(() => Promise.resolve(store.claim(key("other"), 1000)).catch(() => undefined)) // one whose answer is late ends in a second
        .toMatchObject({ status: "claimed" });
      proxy.silence();
      await store.close();
      await proxy.close();
    },
  );

  it("can come from a transaction pooler, which shares two between many clients", async () => {
    const bouncer = await privatePgBouncer(postgresUrl, 2);
    const stores = [1, 2, 3, 4].map(() =>
      postgresStore({ pool: shop.pool(5, bouncer.url), schema: shop.schema, timeoutMs: 60_000 }),
    );
    try {
      await Promise.all(stores.map((store) => store.migrate()));
      let runs = 0;
      const processors = stores.map((store) =>
        createProcessor(
          {
            "*": async (_, { tx }) => {
              await sql`select 1`.execute(tx);
              runs += 1;
            },
          },
          { store, leaseMs: 600_000 },
        ),
      );
      const codes = await Promise.all(
        Array.from({ length: 200 }, async (_, n) => {
          const processor = processors[n % 4];
          return (await processor?.process(faulted(`msg_${n % 100}`)))?.code;
        }),
      );
      expect(codes.filter((code) => code === "processed")).toHaveLength(100);
      expect(runs).toBe(100);
    } finally {
      await bouncer.close();
    }
  });

  it("that the server drops while idle do not end the process, and the next operation gets a new one", async () => {
    const store = postgresStore({ pool: shop.pool(2), schema: shop.schema });
    await store.migrate();
    await store.claim(key("msg_1"), 60_000);
    const { rows } = await sql`
      select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where application_name = ${shop.schema} and pid <> pg_backend_pid()`.execute(shop.db);
    expect(rows.length).toBeGreaterThan(0);
    await expect
      .poll(() => Promise.resolve(store.claim(key("msg_1"), 1000)).catch(() => undefined))
      .toMatchObject({ status: "busy" });
  });
});

describe("a server whose clock jumped ahead", () => {
  const ids = Array.from({ length: 20 }, (_, n) => `msg_${n}`);

  /** Moves all times of ours by `days`, as if the server's clock had been set back by as much. */
  async function moveTimes(days: number): Promise<void> {
    await sql`update ${sql.id(shop.schema, "event")} 
      set due_at = due_at + ${days} * interval '1 day', leased_until = leased_until + ${days} * interval '1 day',
        kept_until = kept_until + ${days} * interval '1 day'`.execute(shop.db);
    const ms = days * 86_400_000;
    await sql`
      update ${sql.id(shop.schema, "purge_clock")}
      set seen_ms = seen_ms + ${ms}, held_until_ms = held_until_ms + ${ms}`.execute(shop.db);
  }

  it("forgets no handled id, inline or in an inbox, before it has purged and after", async () => {
    const given = { pool: shop.pool(3), schema: shop.schema };
    let store = postgresStore(given);
    await store.migrate();
    const complete = async (id: string) => {
      const claim = await store.claim(key(id), 60_000);
      if (claim.status === "claimed") await store.complete(key(id), claim.token);
      return claim.status;
    };
    expect(await postgresInbox(given).purge()).toBe(0);
    for (const id of ids) expect(await complete(id)).toBe("claimed");
    await moveTimes(-32);
    for (const id of ids) expect(await complete(id)).toBe("done");
    const inbox = postgresInbox(given); // as after a restart: a running process compares its own clock, which the test cannot set
    for (let purged = 0; purged < 2; purged += 1) expect(await inbox.purge()).toBe(0);
    store = postgresStore(given);
    for (const id of ids) expect(await complete(id)).toBe("done");
    await moveTimes(32);
    for (const id of ids) expect(await complete(id)).toBe("done");
    expect(await inbox.put(ids.map((id) => entry(id)))).toEqual(ids.map(() => "already_stored"));
  });

  it("ends leases early, and a late owner settles nothing", async () => {
    const given = { pool: shop.pool(1), schema: shop.schema };
    const [store, inbox] = [postgresStore(given), postgresInbox(given)];
    await store.migrate();
    await inbox.put([entry("msg_1")]);
    const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    const claim = await store.claim(key("msg_2"), 60_000);
    if (taken === undefined || claim.status !== "claimed") throw new Error("nothing was leased");
    await moveTimes(-1);
    const other = postgresInbox(given); // the first one looks for ended leases once a second
    const [again] = await other.take({ limit: 1, leaseMs: 60_000, suspects: true });
    expect(again).toMatchObject({ id: "msg_1", attempt: 2 });
    expect(await inbox.settle([{ ...taken, state: "done" }])).toEqual([false]);
    expect((await store.claim(key("msg_2"), 60_000)).status).toBe("claimed");
    expect(await store.complete(key("msg_2"), claim.token)).toBe(false);
  });
});

describe("a server whose clock was set back", () => {
  it("keeps leases and events that wait for longer, by as much", async () => {
    const inbox = postgresInbox({ pool: shop.pool(1), schema: shop.schema });
    await inbox.migrate();
    await inbox.put([entry("msg_leased"), entry("msg_waits")]);
    await inbox.take({ limit: 1, leaseMs: 1 });
    await sql`update ${sql.id(shop.schema, "event")} 
      set due_at = due_at + interval '1 hour', leased_until = leased_until + interval '1 hour'`.execute(
      shop.db,
    );
    for (const suspects of [false, true])
      expect(await inbox.take({ limit: 10, leaseMs: 60_000, suspects })).toEqual([]);
  });
});

describe("postgresStore", () => {
  it("deletes ids whose retention has expired, so that the table stops growing", async () => {
    const store = postgresStore({ pool: shop.pool(2), schema: shop.schema, retentionMs: 1 });
    await store.migrate();
    const old = async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from ${sql.id(shop.schema, "event")} where id like 'old%'`.execute(
        shop.db,
      );
      return rows[0]?.count;
    };
    await sql`
      insert into ${sql.id(shop.schema, "event")} (source, id, state, leased_until, kept_until)
      select 'default', 'old_' || n, case when n <= 900 then 'done' else 'leased' end, now() - interval '1 second', now() - interval '1 second'
      from generate_series(1, 901) n`.execute(shop.db);
    let completed = 0;
    const complete = async () => {
      const next = key(`new_${++completed}`);
      const claim = await store.claim(next, 60_000);
      await store.complete(next, claim.status === "claimed" ? claim.token : "");
    };
    await complete();
    await expect.poll(old).toBe(401); // a slice, and the next one later
    await expect.poll(() => complete().then(old)).toBe(1); // the leased one
  });

  it("does not let ids that are done in a short time expire all at the same time, inline or in the transaction of a handler", async () => {
    const dayMs = 86_400_000;
    const store = postgresStore({ pool: shop.pool(2), schema: shop.schema, retentionMs: 10 * dayMs });
    await store.migrate();
    for (let n = 0; n < 16; n += 1) {
      const claim = await store.claim(key(`msg_${n}`), 60_000);
      const token = claim.status === "claimed" ? claim.token : "";
      if (n % 2 === 0) await store.complete(key(`msg_${n}`), token);
      else await store.transact(key(`msg_${n}`), token, (tx) => sql`select`.execute(tx).then(() => true));
    }
    const { rows } = await sql<{ leftMs: number }>`
      select (extract(epoch from kept_until - now()) * 1000)::float8 as "leftMs"
      from ${sql.id(shop.schema, "event")} where state = 'done'`.execute(shop.db);
    const leftMs = rows.map((row) => row.leftMs);
    expect(leftMs).toHaveLength(16);
    expect(Math.min(...leftMs)).toBeGreaterThan(10 * dayMs - 60_000);
    expect(Math.max(...leftMs) - Math.min(...leftMs)).toBeGreaterThan(60_000);
  });

  it("says what is wrong with its options", () => {
    expect(() => postgresStore({})).toThrow("needs exactly one database. Pass one of url, pool and kysely.");
    expect(() => postgresStore({ pool: undefined })).toThrow('postgresStore: "pool" is undefined.');
    expect(() => postgresStore({ url: "postgres://x/y", pool: shop.pool(1) })).toThrow("Pass one of url");
    expect(() => postgresStore({ url: "mysql://x/y" })).toThrow('"url": expected a postgres:// URL');
    for (const url of [
      "host=db password=hunter2",
      "postgres://me:1/hunter2@db/x",
      "postgres://me:hunter2@db:99999/x",
    ]) {
      expect(() => postgresStore({ url })).toThrow(/"url": expected a postgres:\/\/ URL.*percent-encoded/);
      expect(() => postgresStore({ url })).not.toThrow("hunter2");
    }
    expect(() => postgresStore({ pool: shop.pool(1), schema: 'a"; drop' })).toThrow(
      /"schema": expected lower-case/,
    );
    expect(() => postgresStore({ pool: shop.pool(1), shcema: "a" } as never)).toThrow(
      'Did you mean "schema"?',
    );
  });

  it("can be made with an undefined url, as in a build, and says what to set when it is used", async () => {
    const store = postgresStore({ url: undefined });
    const unset =
      'postgresStore: "url" is undefined. If it comes from a variable such as DATABASE_URL, set that variable.';
    await expect(store.ready()).rejects.toThrow(unset);
    await expect(store.migrate()).rejects.toThrow(unset);
    await expect(store.claim(key("msg_1"), 60_000)).rejects.toMatchObject({ code: "invalid_option" });
    await store.close();
  });

  it("closes its own pool, but not the caller's", async () => {
    const pool = shop.pool(1);
    const store = postgresStore({ pool, schema: shop.schema });
    await store.migrate();
    await store.close();
    expect(pool.ended).toBe(false);
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });
});
