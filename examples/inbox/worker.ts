import { createWorker, discard, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { latestOnly } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import pg from "pg";
import { type Database, openInbox, url } from "./inbox.ts";

const inbox = openInbox();
await inbox.migrate();

// these are for your own migrations, as a rule
const db = new Kysely<Database>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
});
await sql`create table if not exists orders (esim text, profile text)`.execute(db);
await sql`create table if not exists esims (esim text primary key, status text)`.execute(db);
await db.destroy();

const handlers: Handlers<EsimEvents, Transaction<Database>> = {
  // the order commits together with the mark that the event is done, so there is exactly one
  "esim.faulted": async ({ data: { reason, esimReference: esim, profileReference: profile } }, { tx }) => {
    if (reason !== "download_order_expired") return discard("the device may still succeed");
    await tx.insertInto("orders").values({ esim, profile }).execute();
    return console.log(`reordering ${esim}`);
  },
  // an event that is older than what the table shows changes nothing
  "esim.lifecycle.*": latestOnly(
    async ({ data: { esimReference: esim, lifecycleStatus: status } }, { tx }) => {
      await tx
        .insertInto("esims")
        .values({ esim, status })
        .onConflict((conflict) => conflict.column("esim").doUpdateSet({ status }))
        .execute();
      console.log(`${esim} is ${status}`);
    },
  ),
};

const worker = createWorker(inbox, handlers, { concurrency: 20, logger: console });
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
console.log("working");

await worker.run({ signal: stopping.signal }); // until SIGTERM; handlers that still run finish first
await inbox.close();
