import { sql } from "kysely";
import { expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { tablesIn } from "../src/database/tables.ts";
import { report } from "../src/sql/workers.ts";
import { inboxesOfEachTest } from "./inboxes.ts";

expectWarnings("schema_mismatch");

const given = inboxesOfEachTest();
const take = { limit: 100, leaseMs: 60_000 };
const times = { startedMsAgo: 0, sinceLastTakeMs: null };
const worker = { host: "host", pid: 1, version: "0.1.0", concurrency: 20, running: 0, ...times };

it("counts up to 10,001 events of a state, in lanes and out of them, and says which counts stopped there", async () => {
  const { event, shop, open } = given();
  const insert = (state: string, lane: string | null, rows: number) =>
    sql`
      insert into ${event} (source, id, state, due_at, type, body, received_at, lane)
      select 'default', ${`${state}${lane}`} || n, ${state}, '2026-01-01', 'esim.enabled', '{}', clock_timestamp(), ${lane}
      from generate_series(1, ${rows}::int) as n`.execute(shop.db);
  await insert("ready", null, 6000);
  await insert("ready", "a", 6000);
  await insert("dead", null, 10_000);
  await insert("unhandled", null, 10_002);
  await insert("done", null, 20_000);
  expect(await open().gauges()).toMatchObject({
    counts: { ready: 10_001, waiting: 0, paused: 0, leased: 0, unhandled: 10_001, dead: 10_000 },
    capped: ["ready", "unhandled"],
  });
});

it("forgets a worker that has not reported for 30 seconds", async () => {
  const { shop, open } = given();
  const table = sql.id(shop.schema, "worker");
  const idsOf = async () =>
    (await sql<{ id: string }>`select id from ${table} order by id`.execute(shop.db)).rows.map(
      ({ id }) => id,
    );
  const inbox = open();
  for (const id of ["gone", "late"]) await inbox.report?.({ id, ...worker });
  await sql`
    update ${table} set seen_at = clock_timestamp() - case id when 'gone' then interval '30 s' else interval '10 s' end`.execute(
    shop.db,
  );
  expect((await inbox.workers()).map(({ id }) => id)).toEqual(["late"]);
  expect(await idsOf()).toEqual(["gone", "late"]);
  await inbox.report?.({ id: "new", ...worker });
  expect(await idsOf()).toEqual(["late", "new"]);
});

it("reports of all workers after a pause of more than 30 seconds do not deadlock", async () => {
  const { shop } = given();
  const tables = tablesIn(shop.schema);
  const ids = Array.from({ length: 8 }, (_, n) => `worker ${n}`);
  const db = shop.db;
  for (let round = 0; round < 20; round += 1) {
    await sql`update ${tables.worker} set seen_at = clock_timestamp() - interval '1 minute'`.execute(db);
    await Promise.all(
      ids.map((id) => db.transaction().execute((tx) => report(tx as never, tables, { id, ...worker }))),
    );
  }
});

it("settles a batch although the report of a foreign worker has a NUL or a lone surrogate in its name", async () => {
  const inbox = given().open();
  await inbox.put([entry("msg_1"), entry("msg_2")]);
  const taken = await inbox.take(take);
  const settlements = taken.map((lease, index) => {
    const report = {
      reason: "failed",
      durationMs: 1,
      error: "no",
      worker: index === 0 ? "a\0" : "\ud800",
    } as const;
    return { ...lease, state: "dead", error: "no", report } as const;
  });
  expect(await inbox.settle(settlements)).toEqual([true, true]);
  expect((await inbox.get(taken[0] ?? key("")))?.history[0]?.worker).toBe("a\uFFFD");
});

it("settles a lease once, if a batch has it twice", async () => {
  const inbox = given().open();
  await inbox.put([entry("msg_1")]);
  const [lease] = await inbox.take(take);
  if (lease === undefined) throw new Error("nothing was taken");
  const done = { ...lease, state: "done" } as const;
  expect(await inbox.settle([done, { ...lease, state: "dead", error: "no" }, done])).toEqual([
    true,
    false,
    false,
  ]);
  expect((await inbox.get(lease))?.state).toBe("done");
});

it("removes trace and key of a done event with its body, and keeps them with keepBodies", async () => {
  const { open } = given();
  const traced = { key: "key:1a2b3c4d", trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
  for (const [id, keepBodies] of [
    ["msg_1", false],
    ["msg_2", true],
  ] as const) {
    const inbox = open({ keepBodies });
    await inbox.put([{ ...entry(id), ...traced }]);
    await inbox.settle((await inbox.take(take)).map((lease) => ({ ...lease, state: "done" }) as const));
    const { key: kept, trace, subject } = (await inbox.get(key(id))) ?? {};
    expect({ kept, trace, subject }).toEqual({
      kept: keepBodies ? traced.key : null,
      trace: keepBodies ? traced.trace : null,
      subject: `esim ${id}`,
    });
  }
});

it("counts a committed transaction as done, and forgets minutes that are older than a day", async () => {
  const { open, shop } = given();
  const table = sql.id(shop.schema, "minute");
  await sql`
    insert into ${table} (at, stored, done, retried, dead)
    select date_trunc('minute', clock_timestamp()) - n * interval '12 hours', 1, 1, 1, 1 from generate_series(1, 3) as n`.execute(
    shop.db,
  );
  const inbox = open({ minuteCounts: true });
  await inbox.put([entry("msg_1")]);
  const [lease] = await inbox.take(take);
  if (lease === undefined) throw new Error("nothing was taken");
  await inbox.transact?.(lease, async (tx) => {
    await sql`select 1`.execute(tx as typeof shop.db);
    return true;
  });
  await inbox.close();
  const [earlier, now, ...others] = await open().minutes();
  expect([earlier, now, others]).toMatchObject([
    { done: 1 },
    { stored: 1, done: 1, retried: 0, dead: 0 },
    [],
  ]);
  expect((await sql`select from ${table}`.execute(shop.db)).rows).toHaveLength(2);
});

it("acknowledges no event that a trigger of the user's own discards", async () => {
  const { event, shop, open } = given();
  const discard = sql`${sql.id(shop.schema)}.discard`;
  const running = open();
  await running.ready();
  await sql`create function ${discard}() returns trigger language plpgsql as 'begin return null; end'`.execute(
    shop.db,
  );
  await sql`create trigger discard before insert on ${event} for each row execute function ${discard}()`.execute(
    shop.db,
  );
  const discarded = { code: "schema_mismatch", message: expect.stringContaining("discards rows") };
  await expect(running.put([entry("msg_1")])).rejects.toMatchObject(discarded);
  await expect(open().ready()).rejects.toMatchObject(discarded);
});

it("closes once the note of a delivery is written, so that nothing of it runs in a pool that others use", async () => {
  const { shop, open } = given();
  const inbox = open();
  await inbox.ready();
  const lastDelivery = sql.id(shop.schema, "last_delivery");
  const { closing } = await shop.db.transaction().execute(async (tx) => {
    await sql`lock table ${lastDelivery} in access exclusive mode`.execute(tx);
    await inbox.put([entry("msg_1")]);
    let isClosed = false;
    const closing = inbox.close().then(() => (isClosed = true));
    const waiting = () =>
      sql`select from pg_locks where relation = ${`${shop.schema}.last_delivery`}::regclass and not granted`.execute(
        tx,
      );
    await expect.poll(async () => (await waiting()).rows.length).toBe(1);
    expect(isClosed).toBe(false);
    return { closing };
  });
  await closing;
  expect((await sql`select from ${lastDelivery}`.execute(shop.db)).rows).toHaveLength(1);
});
