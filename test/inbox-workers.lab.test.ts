import { setTimeout as pause } from "node:timers/promises";
import { createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import { sql, type Transaction } from "kysely";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { createData, type Data, openInbox, start } from "./inbox-data.ts";
import { entry } from "./inbox-entry.ts";
import type { Effects } from "./inbox-worker.ts";
import { privatePgBouncer } from "./servers/index.ts";
import { postgresUrl } from "./servers/shared.ts";

describe("a worker that was frozen", () => {
  it.each([
    ["while another one works its events", { WAIT: "" }],
    ["when another one has done its events", {}],
  ])(
    "takes nothing from a process that was frozen past its leases and continues %s: it settles nothing, and no effect happens twice",
    async (_, whileOtherWorks: Record<string, string>) => {
      const data = await createData(postgresUrl);
      const inbox = openInbox(postgresUrl, { schema: data.schema });
      await inbox.migrate();
      await inbox.put([
        entry("msg_1", { type: "esim.enabled" }),
        entry("msg_2", { type: "esim.disabled" }),
        entry("msg_3", { type: "esim.deleted" }),
      ]);
      const options = JSON.stringify({ leaseMs: 10_000, pollMs: 50 });
      const environment = { DATABASE_URL: postgresUrl, SCHEMA: data.schema, OPTIONS: options };
      const frozen = start({ ...environment, WAIT: "" });
      const places = [/^msg_1 has written/, /^msg_2 is about to write/, /^msg_3 writes nothing/];
      await Promise.all(places.map((place) => frozen.line(place)));
      frozen.child.kill("SIGSTOP");
      const other = start({ ...environment, ...whileOtherWorks });
      if ("WAIT" in whileOtherWorks) await Promise.all(places.map((place) => other.line(place)));
      else await expect.poll(() => data.states()).toEqual({ done: 3 });
      const rows = () =>
        sql`select id, state, fence, attempts, error from ${sql.id(data.schema, "event")} order by id`.execute(
          data.db,
        );
      const before = await rows();
      frozen.child.kill("SIGCONT");
      frozen.child.kill("SIGUSR2");
      await Promise.all(
        [1, 2, 3].map((n) => frozen.line(new RegExp(`^webhook event .*msg_${n}.*"outcome":"lost"`))),
      );
      expect((await rows()).rows).toEqual(before.rows);
      if ("WAIT" in whileOtherWorks) other.child.kill("SIGUSR2");
      await expect.poll(() => data.states()).toEqual({ done: 3 });
      const effects = await data.db.selectFrom("effect").selectAll().orderBy("event").execute();
      expect(effects).toEqual([
        { event: "msg_1", attempt: 2 },
        { event: "msg_2", attempt: 2 },
      ]);
      for (const { child, ended } of [frozen, other]) {
        child.kill("SIGTERM");
        expect((await ended).code).toBe(0);
      }
    },
  );
});

describe("an inbox and its workers", () => {
  it("start in ten processes concurrently, which migrate, work each event once and end by themselves", async () => {
    const data = await createData(postgresUrl);
    const environment = { DATABASE_URL: postgresUrl, SCHEMA: data.schema, OPTIONS: '{"pollMs":50}' };
    const runs = Array.from({ length: 10 }, () => start(environment));
    await Promise.all(runs.map((run) => run.line(/^working/)));
    const inbox = openInbox(postgresUrl, { schema: data.schema });
    await inbox.put(Array.from({ length: 1000 }, (_, n) => entry(`msg_${n}`)));
    await expect.poll(() => data.states()).toEqual({ done: 1000 });
    expect(await data.effects()).toEqual({ effects: 1000, events: 1000 });
    for (const { child } of runs) child.kill("SIGTERM");
    const codes = await Promise.all(runs.map(async ({ ended }) => (await ended).code));
    expect(codes).toEqual(Array(10).fill(0));
    const { rows } = await sql`
      select id from ${sql.id(data.schema, "event")} where attempts <> 1`.execute(data.db);
    expect(rows).toEqual([]);
  });

  /** Puts 500 events while a worker with transactional handlers works them. */
  async function putAndWork(inbox: PostgresInbox<Effects>, data: Data): Promise<void> {
    const handlers: Handlers<EsimEvents, Transaction<Effects>> = {
      "*": async ({ id }, { tx, attempt }) => {
        await tx.withSchema(data.schema).insertInto("effect").values({ event: id, attempt }).execute();
        await pause(Math.random() * 3);
      },
    };
    const stopping = new AbortController();
    const running = createWorker(inbox, handlers, { pollMs: 50 }).run({ signal: stopping.signal });
    const puts = Array.from({ length: 500 }, async (_, n) => {
      await pause(n);
      return inbox.put([entry(`msg_${n}`)]);
    });
    const results = (await Promise.all(puts)).flat();
    expect(new Set(results)).toEqual(new Set(["stored"]));
    await expect.poll(() => data.states()).toEqual({ done: 500 });
    expect(await data.effects()).toEqual({ effects: 500, events: 500 });
    stopping.abort();
    await running;
  }

  it("do with a pool of one connection, with twenty transactional handlers at the same time and puts between", async () => {
    const data = await createData(postgresUrl);
    const pool = new pg.Pool({ connectionString: postgresUrl, max: 1 });
    onTestFinished(() => pool.end());
    const inbox = postgresInbox<Effects>({ pool, schema: data.schema, timeoutMs: 60_000 });
    await inbox.migrate();
    await putAndWork(inbox, data);
  });

  it("do with a transaction pooler", async () => {
    const data = await createData(postgresUrl);
    const pooler = await privatePgBouncer(postgresUrl, 3);
    onTestFinished(() => pooler.close());
    const inbox = openInbox(pooler.url, { schema: data.schema, timeoutMs: 60_000 });
    await inbox.migrate();
    await putAndWork(inbox, data);
  });
});
