import { postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { expect, it } from "vitest";
import { privatePostgres } from "../../../test/servers/index.ts";
import { entry } from "./entry.ts";

it("tells nobody that an event is stored before the synchronous standby has it, however often the event comes", async () => {
  const server = await privatePostgres();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  const event = entry("msg_1");
  const inbox = postgresInbox({ url: server.url, timeoutMs: 1000 });
  await inbox.migrate();
  await inbox.ready();

  await admin.query("alter system set synchronous_standby_names = 'away'");
  await admin.query("select pg_reload_conf()");
  await expect
    .poll(async () => (await admin.query("show synchronous_standby_names")).rows[0])
    .toEqual({ synchronous_standby_names: "away" });
  for (let attempt = 1; attempt <= 3; attempt++) {
    await expect(inbox.put([event])).rejects.toMatchObject({ code: "store_unavailable" });
  }
  await admin.query("alter system reset synchronous_standby_names");
  await admin.query("select pg_reload_conf()");
  await expect.poll(() => inbox.put([event]).catch(() => "away")).toEqual(["duplicate"]);

  await inbox.close();
  await admin.end();
  await server.close();
});
