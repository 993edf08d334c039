import { createProcessor } from "@esim-webhooks/core";
import { watchTroubles } from "@esim-webhooks/core/health";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { postgresInbox, postgresState, postgresStore } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { request } from "../../dashboard/test/page-call.ts";
import { createSchema, faulted, type TestSchema } from "./schema.ts";
import { withDefaults } from "./settings.ts";

expectWarnings("event_dead");

/** What an application reads otherwise: each type that a statement of ours could select. */
const oids = [16, 17, 20, 21, 23, 114, 700, 701, 1009, 1016, 1082, 1114, 1184, 1186, 1700, 3802];
const registry = pg.types as unknown as {
  getTypeParser(oid: number, format?: string): (value: string) => unknown;
  setTypeParser(oid: number, parse: (value: string) => unknown): void;
};
const earlier = oids.map((oid) => registry.getTypeParser(oid, "text"));
beforeAll(() => {
  for (const oid of oids) registry.setTypeParser(oid, (value) => ({ parsed: value }));
});
afterAll(() => {
  for (const [index, oid] of oids.entries())
    registry.setTypeParser(oid, earlier[index] as (value: string) => unknown);
});

/** Defaults of a role or a database. */
const settings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "its own settings": {},
  "other output of values": {
    DateStyle: "SQL, DMY",
    IntervalStyle: "sql_standard",
    extra_float_digits: "-15",
    bytea_output: "escape",
    TimeZone: "Asia/Kathmandu",
    lc_monetary: "C",
  },
  "other rules for queries": {
    search_path: "nowhere",
    row_security: "off",
    standard_conforming_strings: "off",
    statement_timeout: "20s",
    lock_timeout: "20s",
    idle_in_transaction_session_timeout: "20s",
    default_transaction_isolation: "serializable",
    client_encoding: "UTF8",
  },
};

const openings = {
  url: (_shop: TestSchema, url: string) => ({ url }),
  pool: (shop: TestSchema, url: string) => ({ pool: shop.pool(4, url) }),
  kysely: (shop: TestSchema, url: string) => ({
    kysely: new Kysely<never>({ dialect: new PostgresDialect({ pool: shop.pool(4, url) }) }),
  }),
};

describe.each(Object.keys(openings) as (keyof typeof openings)[])(
  "a %s in a process whose type parsers were all replaced",
  (opening) => {
    it.each(Object.keys(settings))("reads what it has written, with %s", async (name) => {
      const shop = await createSchema();
      const given = {
        ...openings[opening](shop, withDefaults(shop, settings[name] ?? {})),
        schema: shop.schema,
        timeoutMs: 30_000,
      };
      const inbox = postgresInbox(given);
      const store = postgresStore(given);
      onTestFinished(async () => {
        await inbox.close();
        await store.close();
        await shop.drop();
      });
      await inbox.migrate();
      await inbox.ready();
      expect((await inbox.now()).getTime()).not.toBeNaN();

      const receivedAt = new Date(Date.now() - 60_000);
      const body = Buffer.from('{"text":"\\\\ \u00e9 \\u0001"}');
      const entries = ["a", "b", "c"].map((id) => ({ ...entry(id), body, receivedAt, source: id }));
      expect(await inbox.put(entries)).toEqual(Array(3).fill("stored"));
      expect(await inbox.put(entries)).not.toContain("stored");
      const taken = await inbox.take({ limit: 3, leaseMs: 60_000 });
      expect(taken).toHaveLength(3);
      for (const each of taken) {
        expect(each).toMatchObject({ attempt: 1, replayed: false, receivedAt });
        expect(Buffer.from(each.body)).toEqual(body);
      }
      const [first, second, third] = taken;
      if (!first || !second || !third) throw new Error("three were taken");
      expect(await inbox.extend([third], 60_000)).toEqual([true]);
      expect(
        await inbox.settle([
          { ...first, state: "dead", error: "no SIM" },
          { ...second, state: "done" },
          { ...third, state: "unhandled" },
        ]),
      ).toEqual([true, true, true]);

      expect(await inbox.gauges()).toMatchObject({ counts: { dead: 1 }, lastReceivedAt: receivedAt });
      expect(await inbox.stats()).toMatchObject({ states: { dead: 1, done: 1 } });
      const { rows } = await inbox.list();
      expect(rows).toHaveLength(3);
      expect(rows.every((row) => row.receivedAt?.getTime() === receivedAt.getTime())).toBe(true);
      const dead = await inbox.get({ ...key(first.id), source: first.source });
      expect(dead).toMatchObject({ state: "dead", error: "no SIM", receivedAt });
      expect(dead?.settledAt).toBeInstanceOf(Date);
      const dashboard = inboxDashboard(inbox, { authorize: async () => ({ role: "viewer", name: "vera" }) });
      const seen = async (call: string, input: object) => (await dashboard(request(call, input))).json();
      expect(await seen("now", {})).toMatchObject({ deadSearched: 1 });
      expect(await seen("list", { filter: {} })).toMatchObject({ rows: [{}, {}, {}] });
      const troubles = watchTroubles({ inbox });
      onTestFinished(() => troubles.close());
      expect((await troubles.check()).map(({ code }) => code)).toContain("events_dead");

      await inbox.pause({ types: ["esim.faulted"], reason: "a test" });
      expect((await inbox.paused())[0]?.since).toBeInstanceOf(Date);
      await inbox.resume();
      expect(await inbox.count()).toBe(3);
      expect(await inbox.redrive()).toBe(1);

      const processor = createProcessor({ "*": (_, { tx }) => sql`select 1`.execute(tx) }, { store });
      expect((await processor.process(faulted("inline"))).code).toBe("processed");
      expect((await processor.process(faulted("inline"))).code).toBe("duplicate");
      const state = postgresState(given);
      await state.write("name", { at: 1 }, undefined);
      expect(await state.read("name")).toMatchObject({ value: { at: 1 } });
      await state.close();
    });
  },
);
