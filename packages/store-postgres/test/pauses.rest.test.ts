import type { PostgresInbox } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { tablesIn } from "../src/database/tables.ts";
import { copyEvents } from "../src/sql/copy.ts";
import { inboxesOfEachTest } from "./inboxes.ts";

const given = inboxesOfEachTest();
const type = "esim.balance.updated";
const take = { limit: 20, leaseMs: 60_000 };
const reason = "the CRM is down";

/** Inserts due events in the order of their numbers. */
async function insert(
  rows: number,
  types: readonly string[] = [type],
  lane: string | null = null,
  prefix = "msg",
): Promise<void> {
  const { event, shop } = given();
  await sql`
    insert into ${event} (source, id, state, ends_at, type, body, received_at, occurred_at, lane)
    select 'default', ${prefix} || '_' || n, 'ready', clock_timestamp() - interval '1 hour' + n * interval '1 ms',
      (${[...types]}::text[])[1 + n % ${types.length}::int], '{}', clock_timestamp(), clock_timestamp(), ${lane} || n
    from generate_series(1, ${rows}::int) as n`.execute(shop.db);
}

async function parked(): Promise<number> {
  const { event, shop } = given();
  const { rows } = await sql<{ parked: number }>`
    select count(*)::int as parked from ${event} where due_at is not null and ends_at = 'infinity'`.execute(
    shop.db,
  );
  return rows[0]?.parked ?? Number.NaN;
}

async function pauseRows(): Promise<number> {
  const { rows } = await sql`select from ${sql.id(given().shop.schema, "pause")}`.execute(given().shop.db);
  return rows.length;
}

it.each([null, "lane "])(
  "parks what is due of a paused type, among events of other types, and releases it all (lane: %s)",
  async (lane) => {
    const inbox = given().open({ lane: ({ id }) => id });
    await insert(25_000, [type, "esim.enabled", "esim.enabled", "esim.enabled", "esim.enabled"], lane);
    const before = await inbox.get(key("msg_5"));
    await inbox.pause({ types: [type], reason });
    expect(await parked()).toBe(5000);
    expect((await inbox.get(key("msg_5")))?.endsAt).toEqual(before?.endsAt);
    expect(await inbox.count({ endedBy: new Date() })).toBe(25_000);
    expect((await inbox.stats()).oldestReadyMs).toBeGreaterThan(3_500_000);
    expect(await inbox.gauges()).toMatchObject({
      counts: { ready: 10_001, waiting: 0, paused: 5000 },
      capped: ["ready"],
    });
    expect(await inbox.resume()).toHaveLength(1);
    expect([await parked(), await pauseRows()]).toEqual([0, 0]);
    expect((await inbox.take({ ...take, only: [type] })).map(({ id }) => id).sort()).toContain("msg_5");
  },
);

it("vacuums the table after it has parked many events, so that takes do not read past what is left of them", async () => {
  const { schema, db } = given().shop;
  const vacuums = async () => {
    const { rows } = await sql<{ count: number }>`
      select vacuum_count::int as count from pg_stat_user_tables where schemaname = ${schema} and relname = 'event'`.execute(
      db,
    );
    return rows[0]?.count;
  };
  const inbox = given().open();
  await insert(1000);
  await inbox.pause({ types: [type], reason });
  expect(await vacuums()).toBe(0);
  await insert(25_000, ["esim.enabled"], null, "many");
  await inbox.pause({ types: ["esim.enabled"], reason });
  await expect.poll(vacuums).toBe(1); // the server reports it a little later
});

it("parks what takes meet, 1,000 events and more in each, and releases at most 1,000 in each once the pause has ended by itself", async () => {
  const inbox = given().open();
  await inbox.pause({ types: [type], reason, until: new Date(Date.now() + 3_600_000) });
  await insert(2500);
  expect(await inbox.take(take)).toEqual([]);
  expect(await parked()).toBeGreaterThanOrEqual(1000);
  while ((await parked()) < 2500) expect(await inbox.take(take)).toEqual([]);
  await sql`update ${sql.id(given().shop.schema, "pause")} set until = clock_timestamp()`.execute(
    given().shop.db,
  );
  expect(await inbox.paused()).toEqual([]);
  expect(await inbox.take(take)).toHaveLength(20);
  expect(await parked()).toBe(1500);
  while ((await pauseRows()) > 0) await inbox.take({ ...take, limit: 0 });
  expect(await parked()).toBe(0);
});

it("leaves no event parked without a pause, although takes park while the pause is ended", async () => {
  const inbox = given().open();
  for (let round = 0; round < 15; round += 1) {
    await inbox.pause({ types: [type], reason });
    await inbox.put(Array.from({ length: 60 }, (_, n) => entry(`msg_${round}_${n}`, { type })));
    const takes = () => Promise.all(Array.from({ length: 4 }, () => inbox.take({ ...take, limit: 5 })));
    const [first, , second] = await Promise.all([takes(), inbox.resume(), takes()]);
    let taken = [...first, ...second].flat().length;
    while (taken < 60) taken += (await inbox.take(take)).length;
    expect([await parked(), await pauseRows()]).toEqual([0, 0]);
  }
});

it("counts what is due as paused while all types are paused, and is ready then", async () => {
  const inbox = given().open();
  await insert(3);
  await inbox.pause({ reason });
  expect(await inbox.gauges()).toMatchObject({ counts: { ready: 0, paused: 3 }, oldestReadyMs: null });
  await inbox.ready();
  expect(await inbox.paused()).toHaveLength(1);
});

it("pauses and resumes although parking and releasing fail, and logs that", async () => {
  const logged: unknown[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => logged.push(fields) };
  const inbox = given().open({ logger });
  const { schema, db } = given().shop;
  const rename = (name: string, args: string, to: string) =>
    sql`alter function ${sql.id(schema, name)}${sql.raw(args)} rename to ${sql.id(to)}`.execute(db);
  await insert(2);
  await rename("park_due", "(timestamptz, timestamptz, integer)", "broken");
  await inbox.pause({ types: [type], reason });
  expect(await inbox.paused()).toHaveLength(1);
  expect(logged).toEqual([expect.objectContaining({ code: "parking_failed" })]);
  await rename("broken", "(timestamptz, timestamptz, integer)", "park_due");
  expect(await inbox.take(take)).toEqual([]);
  await rename("release_parked", "(timestamptz, integer)", "broken");
  expect(await inbox.resume()).toHaveLength(1);
  expect(await inbox.paused()).toEqual([]);
  expect(logged).toHaveLength(2);
  await rename("broken", "(timestamptz, integer)", "release_parked");
  expect(await inbox.take(take)).toHaveLength(2);
});

describe("events that wait in their lanes behind one of a paused type", () => {
  const other = "esim.enabled";

  /** Lanes, each with one event of the paused type, about an eSIM of its own, and then that many of another type. */
  async function insertLanes(lanes: number, behind: number, round = 0): Promise<void> {
    const { event, shop } = given();
    await sql`
      insert into ${event} (source, id, state, ends_at, type, body, received_at, occurred_at, lane, subject)
      select 'default', concat_ws('_', ${round}::int, lane, n), 'ready', clock_timestamp() - interval '1 hour' + n * interval '1 s',
        case n when 0 then ${type} else ${other} end, '{}', clock_timestamp(), clock_timestamp() + n * interval '1 s',
        concat_ws('_', ${round}::int, lane), case n when 0 then concat_ws('_', 'esim', ${round}::int, lane) end
      from generate_series(1, ${lanes}::int) as lane, generate_series(0, ${behind}::int) as n`.execute(
      shop.db,
    );
  }

  async function settled(inbox: PostgresInbox, most: number): Promise<string[]> {
    const types: string[] = [];
    for (let empty = 0; types.length < most && empty < 3; ) {
      const taken = await inbox.take({ limit: 100, leaseMs: 60_000 });
      empty = taken.length === 0 ? empty + 1 : 0;
      await inbox.settle(taken.map((lease) => ({ ...lease, state: "done" }) as const));
      types.push(...taken.map(({ type }) => String(type)));
    }
    return types;
  }

  it("are parked by the pause or by takes that meet them, and released with the pause, in the order of their lanes", async () => {
    const inbox = given().open({ lane: ({ id }) => id });
    await inbox.pause({ types: [type], reason });
    await insertLanes(1500, 3);
    await inbox.put([entry("free", { type: other })]);
    let free: readonly { readonly id: string }[] = [];
    while (free.length === 0) free = await inbox.take(take);
    expect(free.map(({ id }) => id)).toEqual(["free"]);
    await inbox.pause({ types: [type], reason: "again" });
    expect(await parked()).toBe(6000);
    expect(await inbox.take(take)).toEqual([]);
    await inbox.resume();
    expect([await parked(), await pauseRows()]).toEqual([0, 0]);
    expect(await settled(inbox, 1500)).toEqual(Array(1500).fill(type));
    expect((await settled(inbox, 4500)).length).toBe(4500);
  });

  it("are parked again by the pause that is left, if their lane has events of two paused types", async () => {
    const inbox = given().open({ lane: ({ id }) => id });
    await insertLanes(1, 3);
    await sql`update ${given().event} set type = 'esim.faulted' where id = '0_1_1'`.execute(given().shop.db);
    await inbox.pause({ types: [type, "esim.faulted"], reason });
    expect(await parked()).toBe(4);
    await inbox.resume({ types: ["esim.faulted"] });
    expect([await inbox.take(take), await parked(), await pauseRows()]).toEqual([[], 4, 1]);
    await inbox.resume();
    expect(await settled(inbox, 4)).toEqual([type, "esim.faulted", other, other]);
  });

  it("are taken once their first event is erased, although a take was parking them at that moment", async () => {
    const { shop, open } = given();
    const inbox = open({ lane: ({ id }) => id });
    await inbox.pause({ types: [type], reason });
    await insertLanes(1, 3);
    const client = await shop.pool(1).connect();
    const park = () => client.query(`select "${shop.schema}".park_due('-infinity', clock_timestamp(), 2000)`);
    await park();
    await sql`
      update ${given().event} set ends_at = due_at, due_at = null, parked_by = null where type = ${other}`.execute(
      shop.db,
    );
    await client.query("begin");
    await park();
    const erased = inbox.erase("esim_0_1", 10);
    await expect
      .poll(async () => (await client.query("select from pg_locks where not granted")).rowCount)
      .not.toBe(0);
    await client.query("commit");
    client.release();
    expect((await erased).ready).toBe(1);
    expect(await settled(inbox, 3)).toEqual([other, other, other]);
  });

  it("are all taken, although their first events are erased while they are parked, paused and taken", async () => {
    const inbox = given().open({ lane: ({ id }) => id });
    for (let round = 0; round < 15; round += 1) {
      await insertLanes(20, 3, round);
      const erasures = Array.from({ length: 20 }, (_, n) => `esim_${round}_${n + 1}`);
      const [settledThen] = await Promise.all([
        settled(inbox, 10),
        inbox.pause({ types: [type], reason }),
        inbox.pause({ types: [type], reason }),
        ...erasures.map((subject) => inbox.erase(subject, 10)),
        ...Array.from({ length: 4 }, () => inbox.take({ ...take, limit: 0 })),
      ]);
      for (const subject of erasures) await inbox.erase(subject, 10);
      const types = [...settledThen, ...(await settled(inbox, 100))].filter((each) => each === other);
      expect(types).toHaveLength(60);
      await inbox.resume();
    }
  });

  it("are taken if the type is paused again before all are released, but events before them were taken", async () => {
    const inbox = given().open({ lane: ({ id }) => id });
    await insertLanes(600, 3);
    await inbox.pause({ types: [type], reason });
    await sql`update ${sql.id(given().shop.schema, "pause")} set until = clock_timestamp()`.execute(
      given().shop.db,
    );
    const first = await inbox.take({ limit: 100, leaseMs: 60_000 });
    await inbox.settle(first.map((lease) => ({ ...lease, state: "done" }) as const));
    await inbox.pause({ types: [type], reason: "again" });
    expect(await settled(inbox, 400)).toHaveLength(300);
  });

  it("are taken once their first event is erased, also those without a type, and one whose row a redelivery has locked", async () => {
    const { shop, event } = given();
    const inbox = given().open({ lane: ({ id }) => id });
    await insertLanes(1, 3);
    await sql`update ${event} set type = null where id = '0_1_2'`.execute(shop.db);
    await inbox.pause({ types: [type], reason });
    expect(await parked()).toBe(4);
    const client = await shop.pool(1).connect();
    await client.query("begin");
    await client.query(`update "${shop.schema}".event set conflicts = conflicts + 1 where id = '0_1_1'`);
    expect((await inbox.erase("esim_0_1", 10)).ready).toBe(1);
    expect(await inbox.take(take)).toEqual([]);
    await client.query("commit");
    client.release();
    expect(await settled(inbox, 3)).toEqual([other, "null", other]);
  });

  it("are taken once a copy of another inbox has made their first event done", async () => {
    const { shop } = given();
    const inbox = given().open({ lane: ({ id }) => id });
    await insertLanes(1, 2);
    await inbox.pause({ types: [type], reason });
    const now = Date.now();
    const nothing = {
      body: null,
      occurredAtMs: null,
      lane: null,
      error: null,
      replay: null,
      fingerprint: null,
    };
    const unknown = { subject: null, key: null, trace: null, erasedAtMs: null, history: null, runs: [] };
    const times = { endsAtMs: now + 1e9, receivedAtMs: now, takenAtMs: now, settledAtMs: now };
    const record = {
      ...key("0_1_0"),
      state: "done",
      type,
      attempts: 1,
      tries: 1,
      conflicts: 0,
      ...nothing,
      ...unknown,
      ...times,
    } as const;
    expect(await copyEvents(shop.db as never, tablesIn(shop.schema), [record])).toMatchObject({ updated: 1 });
    expect(await settled(inbox, 2)).toEqual([other, other]);
  });

  it("are parked by takes, although the oldest due events wait for another one in a busy lane", async () => {
    const { event, shop } = given();
    const inbox = given().open({ lane: ({ id }) => id });
    await sql`
      insert into ${event} (source, id, state, ends_at, type, body, received_at, occurred_at, lane)
      select 'default', 'busy_' || n, 'ready', clock_timestamp() + case n when 0 then interval '1 hour' else interval '-2 hours' end,
        ${other}, '{}', clock_timestamp(), clock_timestamp() + n * interval '1 ms', 'busy'
      from generate_series(0, 30) as n`.execute(shop.db);
    await inbox.pause({ types: [type], reason });
    await insertLanes(2000, 3);
    for (let call = 0; call < 8; call += 1) expect(await inbox.take(take)).toEqual([]);
    expect(await parked()).toBeGreaterThan(7000);
  });
});
