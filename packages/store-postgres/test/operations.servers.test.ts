import { type Kysely, sql } from "kysely";
import { expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { tablesIn } from "../src/database/tables.ts";
import { take as takeEvents } from "../src/sql/take.ts";
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

it.each(["failing", "paused", "dead"] as const)(
  "counts what is due behind a %s event in up to 1,000 lanes and 10,001 events, and says whether there are more",
  async (head) => {
    const { shop, open } = given();
    const inbox = open({ laneHeldByDead: true });
    await inbox.ready();
    await inbox.pause({ types: ["esim.faulted"], reason: "the CRM is down" });
    const table = sql.id(shop.schema, "event");
    const storeLanes = async (lanes: number, rows: number, first: string) => {
      await sql`
        insert into ${table} (source, id, state, due_at, held, type, occurred_at, lane, body)
        select 'default', ${first}::text || l || '-' || n, case when n = 0 and ${first}::text = 'dead' then 'dead' else 'ready' end,
          case when n = 0 and ${first}::text = 'failing' then now() + interval '1 hour' else now() end, n = 0 and ${first}::text = 'paused',
          case n when 0 then 'esim.faulted' else 'esim.enabled' end, now() + n * interval '1 second', ${first}::text || l, ''
        from generate_series(1, ${lanes}::integer) as l, generate_series(0, ${rows - 1}::integer) as n`.execute(
        shop.db,
      );
    };
    const blocked = async () => {
      const { counts, capped, blockedBy } = await inbox.gauges();
      return [counts.ready, counts.blocked, blockedBy[head], capped.includes("blocked")];
    };
    await storeLanes(1000, 3, head);
    await sql`insert into ${table} (source, id, state, due_at, lane, occurred_at, body) values ('default', 'a', 'ready', now(), 'a', now(), '')`.execute(
      shop.db,
    );
    expect(await blocked()).toEqual([1, 2000, 2000, false]);
    await sql`truncate ${table}`.execute(shop.db);
    await storeLanes(1001, 3, head);
    expect(await blocked()).toEqual([2, 2000, 2000, true]);
    await sql`truncate ${table}`.execute(shop.db);
    await storeLanes(3, 4000, head);
    expect(await blocked()).toEqual([0, 10_001, 10_001, true]);
  },
);

it("says of an event that was behind others that it has been due since its turn came, and of all since their pause ended", async () => {
  const { shop, open } = given();
  const inbox = open();
  await inbox.ready();
  const table = sql.id(shop.schema, "event");
  await sql`
    insert into ${table} (source, id, state, due_at, type, occurred_at, received_at, lane, body)
    select 'default', 'msg_' || n, 'ready', now() - interval '1 hour', 'esim.enabled', now() + n * interval '1 second', now(), 'a', ''
    from generate_series(1, 3) as n`.execute(shop.db);
  const oldestMs = async () => (await inbox.gauges()).oldestReadyMs ?? 0;
  expect(await oldestMs()).toBeGreaterThan(3_500_000);
  const settledNext = async (state: "done" | "unhandled") => {
    const taken = await inbox.take({ limit: 10, leaseMs: 60_000 });
    await inbox.settle(taken.map((lease) => ({ ...lease, state })));
    return taken.map(({ id }) => id);
  };
  for (const [id, state] of [
    ["msg_1", "done"],
    ["msg_2", "unhandled"],
  ] as const) {
    expect(await settledNext(state)).toEqual([id]);
    expect(await oldestMs()).toBeLessThan(1_800_000);
    await sql`update ${table} set due_at = now() - interval '1 hour' where state = 'ready'`.execute(shop.db);
  }
  await inbox.pause({ reason: "maintenance" });
  await inbox.resume();
  expect(await oldestMs()).toBeLessThan(1_800_000);
});

it("says of an event that was behind an erased one that it has been due since the erasure", async () => {
  const { shop, open } = given();
  const inbox = open();
  await inbox.ready();
  await sql`
    insert into ${sql.id(shop.schema, "event")} (source, id, state, due_at, type, occurred_at, received_at, lane, subject, body)
    select 'default', 'msg_' || n, 'ready', now() - interval '1 hour', 'esim.enabled', now() + n * interval '1 second', now(), 'a', 'esim_' || n, ''
    from generate_series(1, 2) as n`.execute(shop.db);
  expect(await inbox.erase("esim_1")).toMatchObject({ ready: 1 });
  expect((await inbox.gauges()).oldestReadyMs).toBeLessThan(1_800_000);
});

it.each([
  ["", false],
  [" of suspects", true],
])(
  "a take%s passes over the lanes that another one has just taken, and does not wait for it",
  async (_, suspects) => {
    const { event, shop, open } = given();
    const inbox = open({ lane: ({ id }) => id.slice(0, 1) });
    await inbox.put([entry("a1"), entry("a2"), entry("b1"), entry("b2")]);
    await sql`update ${event} set suspect = ${suspects}`.execute(shop.db);
    const tables = tablesIn(shop.schema);
    const takeIn = (tx: typeof shop.db) =>
      takeEvents(tx as Kysely<unknown>, tables, { ...take, suspects }, false, "");
    await shop.db.transaction().execute(async (first) => {
      const { taken } = await takeIn(first);
      expect(taken.map(({ id }) => id).sort()).toEqual(["a1", "b1"]);
      await shop.db.transaction().execute(async (second) => {
        await sql`set local lock_timeout = '2s'`.execute(second);
        expect((await takeIn(second)).taken).toEqual([]);
      });
    });
  },
);

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
  const [earlier, ...now] = await open().minutes(); // a minute may have ended meanwhile
  expect(earlier).toMatchObject({ done: 1 });
  const sums = (["stored", "done", "retried", "dead"] as const).map((count) =>
    now.reduce((sum, minute) => sum + minute[count], 0),
  );
  expect(sums).toEqual([1, 1, 0, 0]);
  expect((await sql`select from ${table}`.execute(shop.db)).rows).toHaveLength(1 + now.length);
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
