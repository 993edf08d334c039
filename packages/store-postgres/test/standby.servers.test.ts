import { createProcessor } from "@esim-webhooks/core";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import type { Kysely } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { privatePostgres, type TestServer } from "../../../test/servers/index.ts";
import { entry } from "./entry.ts";
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

async function waitForStandby(name: string): Promise<void> {
  await admin.query(`alter system set synchronous_standby_names = '${name}'`);
  await admin.query("select pg_reload_conf()");
  await expect
    .poll(async () => (await admin.query("show synchronous_standby_names")).rows[0])
    .toEqual({ synchronous_standby_names: name });
}

it("tells nobody that an event is stored before the synchronous standby has it, however often the event comes", async () => {
  const event = entry("msg_1");
  const inbox = postgresInbox({ url: server.url, timeoutMs: 1000 });
  await inbox.migrate();
  await inbox.ready();

  await waitForStandby("away");
  for (let attempt = 1; attempt <= 3; attempt++) {
    await expect(inbox.put([event])).rejects.toMatchObject({ code: "store_unavailable" });
  }
  await waitForStandby("");
  await expect.poll(() => inbox.put([event]).catch(() => "away")).toEqual(["duplicate"]);
  await inbox.close();
});

it("acknowledges no event whose handler's transaction the synchronous standby does not have, and runs it once in the end", async () => {
  const store = postgresStore<Shop>({ url: server.url, timeoutMs: 1000 });
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
