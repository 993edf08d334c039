// Handles the events of the inbox, and recovers those that the receiver has missed.
import { createClient } from "@esim-webhooks/client";
import {
  consoleLogger,
  createWorker,
  type EsimEvents,
  type Handlers,
  idempotencyKeyOf,
} from "@esim-webhooks/core";
import { createReconciler } from "@esim-webhooks/endpoint";
import { sql, type Transaction } from "kysely";
import pg from "pg";
import { inbox, state, url } from "./inbox.ts";
import { monitor } from "./monitor.ts";

const logger = consoleLogger();

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const { signal } = stopping;

const api = createClient({ logger }); // ESIM_API_URL, ESIM_CLIENT_ID, ESIM_CLIENT_SECRET

// normally part of your own migrations
const db = new pg.Client({ connectionString: url });
await db.connect();
await db.query("create table if not exists replacement (key text primary key)");
await db.end();

const handlers: Handlers<EsimEvents, Transaction<unknown>> = {
  "esim.faulted": async (event, { signal, tx }) => {
    if (event.data.reason !== "download_order_expired") return; // the device may try again
    const key = idempotencyKeyOf(event, "reorder");
    const { rows } =
      await sql`insert into replacement values (${key}) on conflict do nothing returning key`.execute(tx);
    if (rows.length === 0) return; // ordered under another id, perhaps days ago
    await api.esims.order({ esimVariant: "standard" }, { idempotencyKey: key, signal }); // the service knows the key for 48 hours
  },
  "esim.lifecycle.*": ({ id, type }) => console.log("handled", type, id),
};

const worker = createWorker(inbox, handlers, { timeoutMs: 60_000, logger });
const reconciler = createReconciler(api, process.env["ESIM_ENDPOINT"] ?? "", inbox, {
  state,
  since: new Date(process.env["STORING_SINCE"] ?? "2026-11-20T00:00:00Z"), // for the first pass: when the receiver began
  logger,
});

const stopMonitor = await monitor({ worker, signal });
console.log("working");
await Promise.all([worker.run({ signal }), reconciler.run({ signal })]); // until SIGTERM
await stopMonitor();
await inbox.close();
await state.close();
