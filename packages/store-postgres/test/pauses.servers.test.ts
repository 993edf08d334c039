import { sql } from "kysely";
import { expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
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
