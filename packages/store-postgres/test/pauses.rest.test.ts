import { setTimeout } from "node:timers/promises";
import type { TakenEvent } from "@esim-webhooks/core";
import type { PostgresInbox } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { tablesIn } from "../src/database/tables.ts";
import { copyEvents } from "../src/sql/copy.ts";
import { eventRecord } from "./event-record.ts";
import { inboxesOfEachTest } from "./inboxes.ts";

const given = inboxesOfEachTest();
const type = "esim.balance.updated";
const other = "esim.enabled";
const take = { limit: 20, leaseMs: 60_000 };
const reason = "the CRM is down";
const allDone = (taken: readonly TakenEvent[]) =>
  taken.map((lease) => ({ ...lease, state: "done" }) as const);

/** Inserts due events in the order of their numbers, as transactions that have not seen the pause. */
async function insert(
  rows: number,
  types: readonly string[] = [type],
  lane: string | null = null,
): Promise<void> {
  const { event, shop } = given();
  await sql`
    insert into ${event} (source, id, state, due_at, type, body, received_at, occurred_at, lane)
    select 'default', 'msg_' || n, 'ready', clock_timestamp() - interval '1 hour' + n * interval '1 ms',
      (${[...types]}::text[])[1 + n % ${types.length}::int], '{}', clock_timestamp(), clock_timestamp(), ${lane} || n
    from generate_series(1, ${rows}::int) as n`.execute(shop.db);
}

async function held(): Promise<number> {
  const { rows } = await sql<{ held: number }>`
    select count(*)::int as held from ${given().event} where held`.execute(given().shop.db);
  return rows[0]?.held ?? Number.NaN;
}

async function pauseRows(): Promise<number> {
  const { rows } = await sql`select from ${sql.id(given().shop.schema, "pause")}`.execute(given().shop.db);
  return rows.length;
}

/** Ends all pauses, as their time does. */
async function endPauses(): Promise<void> {
  await sql`update ${sql.id(given().shop.schema, "pause")} set until = clock_timestamp()`.execute(
    given().shop.db,
  );
}

it.each([null, "lane "])(
  "holds the ready events of a paused type, due or not, among events of other types, and lets them all go (lane: %s)",
  async (lane) => {
    const inbox = given().open({ lane: ({ id }) => id });
    await insert(12_500, [type, other, other, other, other], lane);
    await sql`update ${given().event} set due_at = due_at + interval '2 hours' where id = 'msg_10'`.execute(
      given().shop.db,
    );
    const before = await inbox.get(key("msg_5"));
    await inbox.pause({ types: [type], reason });
    expect(await held()).toBe(2500);
    expect((await inbox.get(key("msg_5")))?.dueAt).toEqual(before?.dueAt);
    expect((await inbox.gauges()).counts).toMatchObject({ ready: 10_000, waiting: 0, paused: 2500 });
    expect((await inbox.take({ ...take, limit: 500 })).every((event) => event.type === other)).toBe(true);
    expect(await inbox.resume()).toHaveLength(1);
    expect([await held(), await pauseRows()]).toEqual([0, 0]);
    expect((await inbox.gauges()).counts).toMatchObject({ waiting: 1, paused: 0 });
    expect((await inbox.take({ ...take, limit: 5000, only: [type] })).map(({ id }) => id)).toContain("msg_5");
  },
);

it("counts all ready events as paused while all types are, holds none of them, and is ready then", async () => {
  const inbox = given().open();
  await insert(3);
  await sql`update ${given().event} set due_at = due_at + interval '2 hours' where id = 'msg_1'`.execute(
    given().shop.db,
  );
  await inbox.pause({ reason });
  const { counts, oldestReadyMs } = await inbox.gauges();
  expect([counts.ready, counts.waiting, counts.paused, oldestReadyMs]).toEqual([0, 0, 3, null]);
  expect((await inbox.stats()).oldestReadyMs).toBeNull();
  expect([await held(), await inbox.take(take)]).toEqual([0, []]);
  await inbox.ready();
  expect(await inbox.paused()).toHaveLength(1);
});

it("decides at every way to become ready whether an event is held: stored, retried, reaped, redriven, run again and copied", async () => {
  const { shop, open } = given();
  const inbox = open({ keepBodies: true });
  const ids = ["retried", "reaped", "redriven", "run_again"];
  await inbox.put(ids.map((id) => entry(id, { type })));
  const leases = new Map((await inbox.take(take)).map((lease) => [lease.id, lease]));
  const lease = (id: string) => leases.get(id) as TakenEvent;
  await inbox.settle([
    { ...lease("redriven"), state: "dead", error: "no" },
    { ...lease("run_again"), state: "done" },
  ]);
  await inbox.pause({ types: [type], reason });
  await inbox.put([entry("stored", { type }), entry("free", { type: other })]);
  await inbox.settle([{ ...lease("retried"), state: "retry", afterMs: 0, error: "no" }]);
  await inbox.extend([lease("reaped")], 0);
  await inbox.redrive();
  await inbox.rerun([{ ...entry("run_again", { type }), replay: { run: "run_1", rebuilt: false } }]);
  await copyEvents(shop.db as never, tablesIn(shop.schema), [
    eventRecord("copied", { type }),
    eventRecord("copied_done", { type, state: "done", dueAtMs: null }),
  ]);
  expect((await open().take(take)).map(({ id }) => id)).toEqual(["free"]); // another inbox: it looks for ended leases at its first take
  const { rows } = await sql<{ id: string }>`
    select id from ${given().event} where held order by id`.execute(shop.db);
  expect(rows.map(({ id }) => id)).toEqual(["copied", ...ids, "stored"].sort());
  await inbox.resume();
  const taken = [...(await inbox.take(take)), ...(await inbox.take({ ...take, suspects: true }))];
  expect(taken.map(({ id }) => id).sort()).toEqual(["copied", ...ids, "stored"].sort());
});

it("takes none of the events that were stored while the pause began, does not see them as due, and holds them by and by", async () => {
  const inbox = given().open();
  await inbox.pause({ types: [type], reason });
  await insert(2500, [type, other]);
  for (let taken = 0; taken < 1250; ) {
    const found = await inbox.take({ ...take, limit: 500 });
    expect(found.length > 0 && found.every((each) => each.type === other)).toBe(true);
    taken += found.length;
  }
  expect(await inbox.take(take)).toEqual([]);
  expect((await inbox.gauges()).oldestReadyMs).toBe(null);
  expect(await held()).toBeGreaterThan(0);
  await inbox.pause({ types: [type], reason: "again" });
  expect(await held()).toBe(1250);
});

it("lets go in takes, at most 1,000 in each, when a pause has ended by itself, or its resume was killed", async () => {
  const inbox = given().open();
  await insert(2500);
  await inbox.pause({ types: [type], reason, until: new Date(Date.now() + 3_600_000) });
  expect(await inbox.take(take)).toEqual([]);
  await endPauses();
  expect(await inbox.paused()).toEqual([]);
  expect(await inbox.gauges()).toMatchObject({ counts: { ready: 2500, paused: 0 } });
  expect((await inbox.gauges()).oldestReadyMs).toBeLessThan(3_500_000); // no worker could have taken them an hour ago
  const later = given().open(); // it looks at its first take, and at the next ones as long as it finds many
  for (const left of [1500, 500, 0]) {
    expect(await later.take(take)).toHaveLength(20);
    expect([await held(), await pauseRows()]).toEqual([left, 0]);
  }
  await inbox.pause({ types: [type], reason });
  await sql`delete from ${sql.id(given().shop.schema, "pause")}`.execute(given().shop.db); // as a resume that dies then
  expect(
    await given()
      .open()
      .take({ ...take, limit: 100 }),
  ).toHaveLength(100);
});

it("leaves no event held without a pause, and takes none while it is paused, although puts overlap pauses and resumes", async () => {
  const inbox = given().open();
  const writers = Array.from({ length: 4 }, () => given().open());
  for (let round = 0; round < 10; round += 1) {
    const taker = given().open(); // it looks at its first take for what is still held
    await taker.ready();
    const puts = writers.map(async (writer, n) => {
      for (let put = 0; put < 5; put += 1) await writer.put([entry(`msg_${round}_${n}_${put}`, { type })]);
    });
    await inbox.pause({ types: [type], reason });
    const during = await Promise.all(Array.from({ length: 4 }, () => inbox.take(take)));
    expect(during.flat()).toEqual([]);
    await Promise.all([inbox.resume(), ...puts]);
    let taken = 0;
    while (taken < 20) taken += (await taker.take(take)).length;
    expect([await held(), await pauseRows()]).toEqual([0, 0]);
  }
});

it("lets go an event whose put saw the pause, but was committed after the resume", async () => {
  const { shop, open } = given();
  const inbox = open();
  await inbox.pause({ types: [type], reason });
  const client = await shop.pool(1).connect();
  await client.query("begin");
  await client.query(
    `insert into "${shop.schema}".event (source, id, state, due_at, held, type, body, received_at)
    select 'default', 'late', 'ready', now(), type = any ("${shop.schema}".paused_types(now())), type, '{}', now()
    from (values ('${type}')) as given (type)`,
  );
  await inbox.resume();
  await client.query("commit");
  client.release();
  expect(await held()).toBe(1);
  expect((await open().take(take)).map(({ id }) => id)).toEqual(["late"]);
});

it("does not wait for events that another transaction has locked, and takes none of them during the pause", async () => {
  const { shop, open } = given();
  const inbox = open();
  await insert(3);
  const client = await shop.pool(1).connect();
  await client.query("begin");
  await client.query(`update "${shop.schema}".event set conflicts = conflicts + 1 where id = 'msg_1'`); // as a redelivery does
  await inbox.pause({ types: [type], reason });
  await client.query("commit");
  client.release();
  expect([await held(), await inbox.take(take)]).toEqual([2, []]);
  await inbox.resume();
  expect(await inbox.take(take)).toHaveLength(3);
});

it("pauses and resumes although holding and letting go fail, and logs that", async () => {
  const logged: unknown[] = [];
  const logger = loggerWith({ warn: (fields) => logged.push(fields) });
  const inbox = given().open({ logger });
  const { schema, db } = given().shop;
  const rename = (name: string, args: string, to: string) =>
    sql`alter function ${sql.id(schema, name)}${sql.raw(args)} rename to ${sql.id(to)}`.execute(db);
  await insert(2);
  await rename("hold", "(timestamptz, timestamptz, integer)", "broken");
  await inbox.pause({ types: [type], reason });
  expect(await inbox.paused()).toHaveLength(1);
  expect(logged).toEqual([expect.objectContaining({ code: "holding_failed" })]);
  await rename("broken", "(timestamptz, timestamptz, integer)", "hold");
  expect(await inbox.take(take)).toEqual([]);
  await rename("let_go", "(timestamptz, integer)", "broken");
  expect(await inbox.resume()).toHaveLength(1);
  expect(await inbox.paused()).toEqual([]);
  expect(logged).toHaveLength(2);
  await rename("broken", "(timestamptz, integer)", "let_go");
  let taken = 0;
  await expect
    .poll(async () => {
      taken += (await inbox.take(take)).length; // they are let go once a second
      return taken;
    })
    .toBe(2);
});

describe("events that wait in their lanes behind one of a paused type", () => {
  /** Lanes, each with one event of the paused type, about an eSIM of its own, and then that many of another type. */
  async function insertLanes(lanes: number, behind: number): Promise<void> {
    const { event, shop } = given();
    await sql`
      insert into ${event} (source, id, state, due_at, type, body, received_at, occurred_at, lane, subject)
      select 'default', concat_ws('_', lane, n), 'ready', clock_timestamp() - interval '1 hour' + n * interval '1 s',
        case n when 0 then ${type} else ${other} end, '{}', clock_timestamp(), clock_timestamp() + n * interval '1 s',
        'lane ' || lane, case n when 0 then 'esim_' || lane end
      from generate_series(1, ${lanes}::int) as lane, generate_series(0, ${behind}::int) as n`.execute(
      shop.db,
    );
  }

  async function settled(inbox: PostgresInbox, most: number): Promise<string[]> {
    const types: string[] = [];
    for (let empty = 0; types.length < most && empty < 5; ) {
      const taken = await inbox.take({ limit: 100, leaseMs: 60_000 });
      empty = taken.length === 0 ? empty + 1 : 0;
      await inbox.settle(allDone(taken));
      types.push(...taken.map(({ type }) => String(type)));
    }
    return types;
  }

  /** The ids of that many events, as soon as takes find them: after a visit of lanes in vain, the next one is made later. */
  async function taken(inbox: PostgresInbox, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (; ids.length < count; await setTimeout(20))
      ids.push(...(await inbox.take(take)).map(({ id }) => id));
    return ids;
  }

  it.each([1500, 3000])(
    "leave the event of a free lane to be found soon, although %i lanes are before it",
    async (lanes) => {
      const inbox = given().open({ lane: ({ id }) => id });
      await insertLanes(lanes, 3);
      await inbox.pause({ types: [type], reason });
      expect(await held()).toBe(lanes);
      await inbox.put([entry("z_free", { type: other }), entry("a_free", { type: other })]);
      expect((await taken(inbox, 2)).sort()).toEqual(["a_free", "z_free"]);
      await inbox.put([entry("a_later", { type: other })]); // before where the last visit has ended
      expect(await taken(inbox, 1)).toEqual(["a_later"]);
    },
  );

  it("do not keep back the event of a free lane, although many others are due, in lanes and out of them", async () => {
    const inbox = given().open({ lane: ({ id }) => id });
    const { event, shop } = given();
    await insertLanes(1, 1200);
    await inbox.pause({ types: [type], reason });
    await sql`
      insert into ${event} (source, id, state, due_at, type, body, received_at, occurred_at, lane)
      select 'default', concat_ws('_', 'many', lane, n), 'ready', clock_timestamp() - interval '10 s', ${other}::text, '{}'::bytea, clock_timestamp(),
        clock_timestamp() + n * interval '1 s', 'many ' || lane
      from generate_series(1000, 3100) as lane, generate_series(1, 3) as n
      union all
      select 'default', 'single_' || n, 'ready', clock_timestamp() - interval '20 s', ${other}::text, '{}'::bytea, clock_timestamp(), clock_timestamp(), null::text
      from generate_series(1, 300) as n
      union all
      select 'default', 'z', 'ready', clock_timestamp() - interval '30 s', ${other}::text, '{}'::bytea, clock_timestamp(), clock_timestamp(), 'z'`.execute(
      shop.db,
    );
    expect((await inbox.gauges()).oldestReadyMs).toBeGreaterThan(15_000);
    const ids: string[] = [];
    for (let call = 0; call < 400 && !ids.includes("z"); call += 1) {
      const taken = await inbox.take(take);
      ids.push(...taken.map(({ id }) => id));
      await inbox.settle(allDone(taken));
    }
    expect(ids).toContain("z");
  });

  it("are taken after the pause, in the order of their lanes", async () => {
    const inbox = given().open({ lane: ({ id }) => id });
    await insertLanes(1500, 3);
    await inbox.pause({ types: [type], reason });
    await inbox.resume();
    const order = new Map<string, number>();
    for (let count = 0; count < 6000; ) {
      const taken = await inbox.take({ limit: 500, leaseMs: 60_000 });
      for (const { id } of taken) {
        const [lane = "", place] = id.split("_");
        expect(Number(place)).toBe(order.get(lane) ?? 0);
        order.set(lane, Number(place) + 1);
      }
      await inbox.settle(allDone(taken));
      count += taken.length;
    }
    expect([await held(), await inbox.take(take)]).toEqual([0, []]);
  });

  it("are taken by many takers that visit lanes at the same time, each once", async () => {
    const inboxes = Array.from({ length: 4 }, () => given().open({ lane: ({ id }) => id }));
    const [inbox] = inboxes as [PostgresInbox];
    await insertLanes(1500, 1);
    await inbox.pause({ types: [type], reason });
    const { event, shop } = given();
    await sql`
      insert into ${event} (source, id, state, due_at, type, body, received_at, occurred_at, lane)
      select 'default', 'free_' || n, 'ready', clock_timestamp(), ${other}, '{}', clock_timestamp(), clock_timestamp(), 'lane ' || n || ' free'
      from generate_series(1, 300) as n`.execute(shop.db);
    const ids: string[] = [];
    const taking = inboxes.map(async (each) => {
      for (; ids.length < 300; await setTimeout(1)) ids.push(...(await each.take(take)).map(({ id }) => id));
      ids.push(...(await each.take(take)).map(({ id }) => id));
    });
    await Promise.all(taking);
    expect([ids.length, new Set(ids).size]).toEqual([300, 300]);
  });

  it("are taken once the pauses of their lane have ended, if it has events of two paused types", async () => {
    const inbox = given().open({ lane: ({ id }) => id });
    await insertLanes(1, 3);
    await sql`update ${given().event} set type = 'esim.faulted' where id = '1_1'`.execute(given().shop.db);
    await inbox.pause({ types: [type, "esim.faulted"], reason });
    await inbox.resume({ types: ["esim.faulted"] });
    expect([await inbox.take(take), await held(), await pauseRows()]).toEqual([[], 1, 1]);
    await inbox.resume();
    expect(await settled(inbox, 4)).toEqual([type, "esim.faulted", other, other]);
  });

  it("are taken once their first event is erased, or a copy of another inbox has made it done", async () => {
    const { shop, open } = given();
    const inbox = open({ lane: ({ id }) => id });
    await insertLanes(2, 2);
    await inbox.pause({ types: [type], reason });
    expect([await held(), await inbox.take(take)]).toEqual([2, []]);
    expect((await inbox.erase("esim_1", 10)).ready).toBe(1);
    expect(await settled(inbox, 2)).toEqual([other, other]);
    const done = eventRecord("2_0", { type, state: "done", body: null, dueAtMs: null });
    expect(await copyEvents(shop.db as never, tablesIn(shop.schema), [done])).toMatchObject({ updated: 1 });
    expect(await settled(inbox, 2)).toEqual([other, other]);
    expect(await held()).toBe(0);
  });
});
