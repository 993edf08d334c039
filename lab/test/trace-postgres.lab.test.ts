import { postgresStore } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { createData, openInbox } from "../../test/inbox-data.ts";
import { postgresUrl } from "../../test/servers/shared.ts";
import { expectInTable, hourMs, laneOf } from "./random-use.ts";

async function watchedPostgres() {
  const { schema, db, watch, changes } = await createData(postgresUrl);
  const inbox = openInbox(postgresUrl, { schema, lane: laneOf, retentionMs: hourMs, timeoutMs: 60_000 });
  await inbox.migrate();
  const store = postgresStore({ url: postgresUrl, schema, retentionMs: hourMs, timeoutMs: 60_000 });
  onTestFinished(() => store.close());
  await watch();
  const event = sql.id(schema, "event");
  return {
    inbox,
    store,
    changes,
    async endShortLeases() {
      const isLive = sql`select 1 from ${event}
        where state = 'leased' and leased_until > clock_timestamp() and leased_until < clock_timestamp() + interval '1 minute'`;
      await expect.poll(async () => (await isLive.execute(db)).rows).toEqual([]);
    },
    async endRetentions() {
      await sql`update ${event} set kept_until = 'epoch' where state in ('done', 'unhandled')`.execute(db);
    },
  };
}

it("what happens to the rows of a Postgres inbox that is used at random, inline as well, is in the table of the states", () =>
  expectInTable(watchedPostgres, [
    ...(["lease end", "claim"] as const),
    ...(["claim ends", "hold", "let go", "run now", "give up"] as const),
  ]));
