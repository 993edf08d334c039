import {
  consoleLogger,
  createWorker,
  type EsimEvents,
  type EsimLifecycleData,
  type Handlers,
  idempotencyKeyOf,
  type LifecycleStatus,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { latestOnly } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import pg from "pg";
import { type Database, openInbox, url } from "./inbox.ts";

const inbox = openInbox();
await inbox.migrate();

// normally part of your own migrations
const db = new Kysely<Database>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
});
await sql`create table if not exists orders (key text primary key, esim text, profile text)`.execute(db);
await sql`create table if not exists esims (esim text primary key, status text)`.execute(db);
await db.destroy();

type StatusEvent = WebhookEvent<string, EsimLifecycleData<LifecycleStatus>>;

// ignores an event that is older than the state in the table
const storeStatus = latestOnly<StatusEvent, Transaction<Database>>(
  { state: "lifecycle" },
  async ({ data }, { tx }) => {
    const { esimReference: esim, lifecycleStatus: status } = data;
    await tx
      .insertInto("esims")
      .values({ esim, status })
      .onConflict((conflict) => conflict.column("esim").doUpdateSet({ status }))
      .execute();
    console.log(`${esim} is ${status}`);
  },
);

const handlers: Handlers<EsimEvents, Transaction<Database>> = {
  // the order commits together with the done mark of the delivery, or not at all
  "esim.faulted": async (event, context) => {
    const { reason, esimReference: esim, profileReference: profile } = event.data;
    if (reason !== "download_order_expired") return context.discard("the device may still succeed");
    const key = idempotencyKeyOf(event, "reorder"); // the same under every id of the event, and another one for other data
    const order = await context.tx
      .insertInto("orders")
      .values({ key, esim, profile })
      .onConflict((conflict) => conflict.column("key").doNothing())
      .returning("key")
      .executeTakeFirst();
    if (order === undefined) return context.discard("ordered before, under another id");
    return console.log(`reordering ${esim}`);
  },
  "esim.lifecycle.suspended": storeStatus,
  "esim.lifecycle.activated": storeStatus,
  "esim.lifecycle.terminated": storeStatus,
};

const worker = createWorker(inbox, handlers, { concurrency: 20, logger: consoleLogger() });
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
console.log("working");

await worker.run({ signal: stopping.signal }); // until SIGTERM, after the running handlers have finished
await inbox.close();
