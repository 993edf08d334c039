import { createProcessor } from "@esim-webhooks/core";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import type { Kysely } from "kysely";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { privatePostgres, type TestServer } from "../../../test/servers/index.ts";
import { madeReady } from "./made-ready.ts";
import { faulted, type Shop } from "./schema.ts";

let server: TestServer;
let admin: pg.Client;
beforeAll(async () => {
  server = await privatePostgres();
  admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await server.close();
});

afterEach(() => waitForStandby("")); // a commit that waits for the standby hangs indefinitely

async function waitForStandby(name: string): Promise<void> {
  await admin.query(`alter system set synchronous_standby_names = '${name}'`);
  await admin.query("select pg_reload_conf()");
  await expect.poll(commitWaits).toBe(name !== "");
}

/** Whether a commit waits for the standby: that begins and ends when the checkpointer has read the setting, not this session. */
async function commitWaits(): Promise<boolean> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query("select pg_backend_pid() as pid");
  const pid: number = rows[0].pid;
  let isCommitted = false;
  const committed = client.query("select pg_logical_emit_message(true, 'a commit', '')").then(() => {
    isCommitted = true;
  });
  let waits = false;
  while (!waits && !isCommitted) {
    const { rowCount } = await admin.query(
      "select from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'",
      [pid],
    );
    waits = rowCount === 1;
  }
  if (waits) await admin.query("select pg_cancel_backend($1)", [pid]); // it is committed here, and waits no longer
  await committed;
  await client.end();
  return waits;
}

it("reports no event as stored before the synchronous standby has it, even if the event is delivered again", async () => {
  const event = entry("msg_1");
  const inbox = postgresInbox({ url: server.url, timeoutMs: 3000 });
  await inbox.migrate();
  await inbox.ready();

  await waitForStandby("away");
  for (let attempt = 1; attempt <= 3; attempt++) {
    await expect(inbox.put([event])).rejects.toMatchObject({ code: "store_unavailable" });
  }
  await waitForStandby("");
  await expect.poll(() => inbox.put([event]).catch(() => "away")).toEqual(["already_stored"]);
  await inbox.close();
});

it("acknowledges no event whose handler's transaction the synchronous standby does not have, and runs it once in the end", async () => {
  const store = postgresStore<Shop>({ url: server.url, timeoutMs: 3000 });
  await store.migrate();
  await store.ready();
  await admin.query('create table "order" (event text, esim text)');
  const handlers = {
    "*": async ({ id }: { id: string }, { tx }: { tx: Kysely<Shop> }) => {
      await tx.insertInto("order").values({ event: id, esim: "e1" }).execute();
    },
  };
  const processor = createProcessor(handlers, { store, leaseMs: 2000 });
  const event = faulted("msg_2");
  await store.claim({ source: "default", id: "other" }, 1000); // a connection that has begun before

  await waitForStandby("away");
  for (let attempt = 1; attempt <= 3; attempt++) {
    expect((await processor.process(event)).code).not.toMatch(/processed|duplicate/);
  }
  await waitForStandby("");
  await expect
    .poll(async () => (await processor.process(event)).code, { interval: 200 })
    .toMatch(/processed|duplicate/);
  const { rows } = await admin.query('select event from "order"');
  expect(rows).toEqual([{ event: "msg_2" }]);
  await store.close();
});

it("holds no more backends than a pool has places, and one, while commits wait for the synchronous standby, and stores events after", async () => {
  const url = new URL(server.url);
  url.searchParams.set("application_name", "waiting");
  const inbox = postgresInbox({ url: url.href, timeoutMs: 800 });
  await madeReady(inbox);
  const backends = async () => {
    const { rows } = await admin.query(
      "select count(*)::int as n from pg_stat_activity where application_name = 'waiting'",
    );
    return rows[0].n as number;
  };

  await waitForStandby("away");
  for (let round = 0; round < 8; round++) {
    const puts = [1, 2, 3].map((n) => inbox.put([entry(`many_${round}_${n}`)]));
    for (const put of await Promise.allSettled(puts))
      expect(put).toMatchObject({ status: "rejected", reason: { code: "store_unavailable" } });
    expect(await backends()).toBeLessThanOrEqual(11);
  }
  await waitForStandby("");
  const stored = () => inbox.put([entry("many_after")]).catch(() => "away");
  await expect.poll(stored).toEqual([expect.stringMatching(/stored|duplicate/)]);
  await inbox.close();
});
