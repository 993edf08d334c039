import type { InboxFilter, TakenEvent } from "@esim-webhooks/core";
import { type PostgresInboxOptions, postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { expectIndexed, type Plan, readPlan } from "./read-plan.ts";
import { createSchema, type Shop, type TestSchema } from "./schema.ts";

let shop: TestSchema;
let plans: Plan[] = [];
let db: Kysely<Shop>;
let inboxOptions: PostgresInboxOptions<Shop>;

const laneOf = ({ data }: { data: unknown }) => (data as { esimReference: string }).esimReference;

/** The plans of the statements of `work` on the table of events, including those inside database functions. */
async function plansOf(work: () => Promise<unknown>): Promise<Plan[]> {
  plans = [];
  await work();
  const made = plans.filter(({ scans }) => scans.some((scan) => /Seq Scan|event_/.test(scan)));
  expect(made.length).toBeGreaterThan(0);
  return made;
}

/** Vacuums the events until all of them are known to be visible, so that a scan of an index alone need not read the table. An older transaction of another test delays that. */
async function vacuum(schema: string): Promise<void> {
  const event = sql.id(schema, "event");
  const table = `${schema}.event`;
  await vi.waitFor(
    async () => {
      await sql`vacuum ${event}`.execute(shop.db);
      const { rows } = await sql<{ hidden: number }>`
        select relpages - relallvisible as hidden from pg_class where oid = ${table}::regclass`.execute(
        shop.db,
      );
      expect(rows).toEqual([{ hidden: 0 }]);
    },
    { timeout: 300_000 },
  );
}

/** Tests that every statement uses an index in a table of that many rows. */
export function goesByIndexes(rows: number): void {
  beforeAll(async () => {
    shop = await createSchema();
    const pool = shop.pool(1);
    pool.on("connect", (client) => {
      client.on("notice", ({ message = "" }) => {
        const plan = readPlan(message);
        if (plan !== undefined) plans.push(plan);
      });
      void client.query(
        `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_buffers = on;
       set auto_explain.log_nested_statements = on;
       set auto_explain.log_format = json; set client_min_messages = log`,
      );
    });
    db = new Kysely<Shop>({ dialect: new PostgresDialect({ pool }) });
    inboxOptions = { kysely: db, schema: shop.schema, timeoutMs: 60_000 }; // a busy machine is no fault of the inbox
    await postgresInbox(inboxOptions).migrate();
    const event = sql.id(shop.schema, "event");
    // mostly done; 20,000 ready, half of them in lanes and half of them due; 500 leased, 100 of them ended; some dead, some
    // unhandled
    await sql`
    insert into ${event}
      (source, id, state, due_at, leased_until, kept_until, type, body, fingerprint, received_at, occurred_at, lane, subject)
    select 'default', 'old_' || n, state,
      case
        when state not in ('ready', 'leased') then null
        when n % 5 = 0 then clock_timestamp() - interval '1 second'
        when n % 2 = 0 then clock_timestamp() - n * interval '1 millisecond'
        else clock_timestamp() + interval '1 hour' end,
      case when state = 'leased' then clock_timestamp() + case when n % 5 = 0 then interval '-1 second' else interval '1 hour' end end,
      case when state in ('done', 'unhandled') then clock_timestamp() + n * interval '1 second' end,
      'esim.enabled', case when state = 'done' then null else '{}'::bytea end, 1,
      clock_timestamp(), clock_timestamp() + n * interval '1 second',
      case when n % 2 = 0 then 'lane ' || case when state = 'leased' then 'leased ' || n else (n % 500)::text end end, 'esim_' || n % 50000
    from (
      select n, case when n > ${rows}::int - 20000 then 'ready' when n > ${rows}::int - 20500 then 'leased' when n > ${rows}::int - 21000 then 'dead' when n > ${rows}::int - 22000 then 'unhandled' else 'done' end as state
      from generate_series(1, ${rows}::int) as n
    ) as given`.execute(shop.db);
    await sql`analyze ${event}`.execute(shop.db);
    await vacuum(shop.schema);
  });
  afterAll(() => shop.drop());

  describe(`with ${rows.toLocaleString("en")} rows in the table`, () => {
    const open = () => postgresInbox(inboxOptions);
    const spread = Math.floor((rows - 22_000) / 500);
    const take = { limit: 20, leaseMs: 60_000 };

    it("take, also of ended leases, uses the indexes of due and of leased events", async () => {
      const plans = await plansOf(() => open().take(take));
      expectIndexed(plans, "event_due", "event_leased", "event_pkey", "event_lane", "event_lane_leased");
    });

    it.each([
      ["out of lanes", {}, 500, 3000], // once it read all that were ready
      ["in lanes", { lane: ({ id }: { id: string }) => `lane ${Number(id.slice(4)) % 100}` }, 100, 10_000], // once it read them all for each event
    ])(
      "take %s reads each event a few times, also if the statistics are of a time without ready events",
      async (_, options, wanted, most) => {
        const { schema, drop } = await createSchema();
        const inbox = postgresInbox({ ...inboxOptions, schema, ...options });
        await inbox.migrate();
        const event = sql.id(schema, "event");
        await sql`
      insert into ${event} (source, id, state, kept_until, type, received_at)
      select 'default', 'old_' || n, 'done', 'infinity', 'esim.enabled', clock_timestamp() from generate_series(1, 5000) as n`.execute(
          db,
        );
        await sql`vacuum analyze ${event}`.execute(shop.db);
        await inbox.put(Array.from({ length: 5000 }, (_, n) => entry(`new_${n}`)));
        let taken: readonly TakenEvent[] = [];
        const plans = await plansOf(async () => {
          taken = await inbox.take({ ...take, limit: 500 });
        });
        expect(taken).toHaveLength(wanted);
        for (const plan of plans) expect(plan.rows).toBeLessThan(most);
        await drop();
      },
    );

    it("take of suspects uses their index", async () => {
      const plans = await plansOf(() => open().take({ ...take, suspects: true }));
      expectIndexed(plans, "event_suspect", "event_pkey");
    });

    it("take with only or except uses the index of due events", async () => {
      const plans = await plansOf(async () => {
        await open().take({ ...take, only: ["esim.enabled"] });
        await open().take({ ...take, except: ["esim.faulted"] });
      });
      expectIndexed(plans, "event_due", "event_pkey");
    });

    it.each([false, true])(
      "take in lanes, with laneHeldByDead %s, also uses the indexes of lanes",
      async (laneHeldByDead) => {
        const inbox = postgresInbox({ ...inboxOptions, lane: laneOf, laneHeldByDead });
        const plans = await plansOf(() => inbox.take(take));
        expectIndexed(plans, "event_due_in_lane", "event_pkey", "event_lane", "event_lane_leased");
      },
    );

    it("take reads a few thousand rows, even if many more wait behind a blocked lane, and finds events of other lanes", async () => {
      const event = sql.id(shop.schema, "event");
      await sql`
      insert into ${event} (source, id, state, due_at, type, body, received_at, occurred_at, lane)
      select 'default', 'behind_' || n, 'ready',
        clock_timestamp() + case when n = 0 then interval '1 hour' else interval '-1 day' end,
        'esim.behind', '{}'::bytea, clock_timestamp(), clock_timestamp() + n * interval '1 second', 'held'
      from generate_series(0, 30000) as n
      union all
      select 'default', 'beside_' || n, 'ready', clock_timestamp(), 'esim.behind', '{}'::bytea, clock_timestamp(),
        clock_timestamp(), 'beside ' || n
      from generate_series(1, 10) as n`.execute(shop.db);
      let taken: readonly TakenEvent[] = [];
      const plans = await plansOf(async () => {
        taken = await open().take({ ...take, only: ["esim.behind"] });
      });
      expect(taken.map(({ id }) => id).sort()).toEqual(
        Array.from({ length: 10 }, (_, n) => `beside_${n + 1}`).sort(),
      );
      expectIndexed(plans, "event_due_in_lane", "event_lane");
      expect(Math.max(...plans.map(({ rows }) => rows))).toBeLessThan(10_000);
    });

    it("take looks each lane up, and compares it with none of those that are being worked", async () => {
      const event = sql.id(shop.schema, "event");
      await sql`
      insert into ${event} (source, id, state, due_at, leased_until, type, body, received_at, occurred_at, lane)
      select 'default', state || n, state, clock_timestamp() - interval '2 days',
        case state when 'leased' then clock_timestamp() + interval '1 hour' end,
        'esim.free', '{}'::bytea, clock_timestamp(), clock_timestamp(), state || n
      from generate_series(1, 1000) as n cross join unnest(array['leased', 'ready']) as state`.execute(
        shop.db,
      );
      let taken: readonly TakenEvent[] = [];
      const plans = await plansOf(async () => {
        taken = await open().take({ ...take, limit: 500, only: ["esim.free"] });
      });
      expect(taken).toHaveLength(500);
      expectIndexed(plans, "event_due_in_lane", "event_lane_leased");
      expect(Math.max(...plans.map(({ rows }) => rows))).toBeLessThan(10_000);
    });

    it("ready() reads a thousand rows, even if many more wait", async () => {
      const plans = await plansOf(() => open().ready());
      expectIndexed(plans, "event_due", "event_due_in_lane", "event_pkey");
      expect(Math.max(...plans.map(({ rows }) => rows))).toBeLessThan(1500);
    });

    it("put of new events, duplicates and conflicts uses the primary key", async () => {
      const inbox = open();
      const entries = Array.from({ length: 500 }, (_, n) => entry(`old_${n * spread + 1}`));
      const plans = await plansOf(() => inbox.put([entry("new_1"), entry("new_2"), ...entries]));
      expectIndexed(plans, "event_pkey");
    });

    it.each([1, 500])("rerun of %i uses the primary key", async (count) => {
      const inbox = open();
      const replay = { run: `of ${count}`, rebuilt: true };
      const entries = Array.from({ length: count }, (_, n) => ({
        ...entry(`old_${n * spread + 2}`),
        replay,
      }));
      const plans = await plansOf(() => inbox.rerun(entries));
      expectIndexed(plans, "event_pkey");
    });

    it.each([1, 500])("settle and extend of %i use the primary key", async (limit) => {
      const inbox = open();
      const taken = await inbox.take({ ...take, limit });
      expect(taken).toHaveLength(limit);
      const plans = await plansOf(async () => {
        await inbox.extend(taken, 60_000);
        await inbox.settle(taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
      });
      const [extended, settled, next, ...none] = plans;
      for (const plan of [extended, settled]) expectIndexed(plan === undefined ? [] : [plan], "event_pkey");
      expectIndexed(next === undefined ? [] : [next], "event_lane"); // of each lane
      expect(none).toEqual([]);
    });

    it("get, purge, redrive, and counts of unhandled, dead or expired events use their indexes", async () => {
      const inbox = open();
      expectIndexed(await plansOf(() => inbox.get(key("old_1"))), "event_pkey");
      expectIndexed(await plansOf(() => inbox.purge()), "event_forgettable", "event_kept_body");
      expectIndexed(await plansOf(() => inbox.redrive({}, 10)), "event_");
      expectIndexed(await plansOf(() => inbox.redrive({ state: "unhandled" }, 10)), "event_");
      expectIndexed(await plansOf(() => inbox.redrive({ state: "ready" }, 10)), "event_");
      expectIndexed(await plansOf(() => inbox.giveUp({}, { reason: "test" }, 10)), "event_");
      const types = ["esim.enabled", "esim.faulted"];
      expectIndexed(await plansOf(() => inbox.count({ state: "unhandled", types })), "event_unhandled");
      expectIndexed(await plansOf(() => inbox.count({ state: "dead" })), "event_dead");
      expectIndexed(
        await plansOf(() => inbox.count({ state: "done", expiredBy: new Date() })),
        "event_forgettable",
      );
    });

    it("every page of a list reads a bounded part of the table, by the index of each state", async () => {
      const inbox = open();
      const first = await inbox.list({}, { limit: 1000 });
      const cursor = { cursor: first.nextCursor ?? "" };
      const filters: readonly [InboxFilter, ...string[]][] = [
        [
          {},
          "event_done",
          "event_ready",
          "event_dead",
          "event_unhandled",
          "event_leased",
          "event_lane_leased",
        ],
        [{ types: ["none"] }, "event_done", "event_ready"],
        [{ idPrefix: "none", since: new Date(0) }, "event_done", "event_ready"],
        [{ state: "dead", error: "none" }, "event_dead"],
        [{ state: "leased" }, "event_leased", "event_lane_leased"],
        [{ subject: "esim_7" }, "event_done", "event_ready"],
        [{ ids: ["old_1", "old_2"] }, "event_pkey"],
      ];
      for (const [filter, ...indexes] of filters) {
        for (const page of [{}, cursor]) {
          const plans = await plansOf(() => inbox.list(filter, { limit: 50, ...page }));
          expectIndexed(plans, ...indexes);
          for (const plan of plans) expect(plan.rows).toBeLessThan(25_000);
        }
      }
    });

    it("a page of an eSIM's done events reads a bounded part of their index, and of the table only those", async () => {
      const inbox = open();
      const filter = { subject: "esim_7", state: "done" } as const;
      for (let cursor: string | undefined, pages = 0; pages < 3; pages += 1) {
        const plans = await plansOf(async () => {
          cursor = (await inbox.list(filter, { ...(cursor !== undefined && { cursor }) })).nextCursor ?? "";
        });
        expectIndexed(plans, "event_done");
        for (const { rows, pages } of plans) {
          expect(rows).toBeLessThanOrEqual(10_000);
          expect(pages).toBeLessThan(500); // the index has thousands
        }
      }
    });

    it.each<[InboxFilter, number]>([
      [{ types: ["none"] }, 10_500],
      [{ state: "dead", types: ["none"] }, 10_500],
      [{ state: "done", subject: "esim_7" }, 500],
      [{ subject: "esim_7" }, 10_500],
    ])(
      "a page for %j reads %i pages at most, although all events were received at the same time",
      async (filter, most) => {
        const { schema, drop } = await createSchema();
        const inbox = postgresInbox({ ...inboxOptions, schema });
        await inbox.migrate();
        const event = sql.id(schema, "event");
        await sql`
        insert into ${event} (source, id, state, kept_until, type, received_at, subject)
        select 'default', 'old_' || n, ${filter.state ?? "done"}, 'infinity', 'esim.enabled', timestamptz '2026-01-01', 'esim_' || n % 50000
        from generate_series(1, 100000) as n`.execute(db);
        await vacuum(schema);
        const found: string[] = [];
        for (let cursor: string | undefined, after: string | null = ""; after !== null; cursor = after) {
          const plans = await plansOf(async () => {
            const page = await inbox.list(filter, { limit: 1, ...(cursor !== undefined && { cursor }) });
            found.push(...page.rows.map(({ id }) => id));
            after = page.nextCursor;
          });
          for (const plan of plans) {
            expect(plan.rows).toBeLessThanOrEqual(20_000);
            expect(plan.pages).toBeLessThan(most);
          }
        }
        expect(found).toEqual(filter.subject === undefined ? [] : ["old_7", "old_50007"]);
        await drop();
      },
    );

    it("gauges read their indexes, up to a limit", async () => {
      const plans = await plansOf(() => open().gauges());
      expectIndexed(
        plans,
        ...["event_due", "event_due_in_lane", "event_leased", "event_lane_leased", "event_held"],
        ...["event_unhandled", "event_dead"],
      );
      for (const plan of plans) expect(plan.rows).toBeLessThan(60_000);
      expect(plans.filter(({ sorts }) => sorts)).toEqual([]);
    });

    it("holding and letting go read a bounded part of what is due, and takes read nothing of what is held", async () => {
      const inbox = open();
      const held = await plansOf(() => inbox.pause({ types: ["esim.enabled"], reason: "test" }));
      expectIndexed(held, "event_due", "event_due_in_lane");
      for (const plan of held) expect(plan.rows).toBeLessThan(10_000);
      const took = await plansOf(() => open().take({ ...take, only: ["esim.faulted"] }));
      expectIndexed(took, "event_due", "event_due_in_lane");
      for (const plan of took) expect(plan.pages).toBeLessThan(3000); // 12,000 that were due are held
      const released = await plansOf(() => inbox.resume());
      expectIndexed(released, "event_held");
      for (const plan of released) expect(plan.rows).toBeLessThan(10_000);
    });

    it("redrive, count and erase of an eSIM use the index of its state", async () => {
      const inbox = open();
      expectIndexed(await plansOf(() => inbox.count({ subject: "none" })), "event_done", "event_ready");
      expectIndexed(await plansOf(() => inbox.erase("none")), "event_done", "event_ready");
      const redriven = await plansOf(() => inbox.redrive({ subject: "none" }));
      expectIndexed(redriven, "event_");
    });

    it("claim, extend, complete and release of a store use the primary key", async () => {
      const store = postgresStore({ kysely: db, schema: shop.schema });
      await store.ready();
      const plans = await plansOf(async () => {
        const claim = await store.claim(key("inline"), 60_000);
        if (claim.status !== "claimed") throw new Error("not claimed");
        await store.extend(key("inline"), claim.token, 60_000);
        await store.complete(key("inline"), claim.token);
        await store.claim(key("old_1"), 60_000);
        await store.release(key("inline"), "0");
      });
      for (const plan of plans.filter(({ query }) => !query.trim().startsWith("insert"))) {
        expectIndexed([plan], "event_pkey");
      }
    });
  });
}
