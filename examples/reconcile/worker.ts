// Handles the events of an inbox, and recovers those that the receiver has missed. Any number of processes may run it.
import { createClient } from "@esim-webhooks/client";
import { consoleLogger, createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { createRunner } from "@esim-webhooks/core/run";
import { createReconciler } from "@esim-webhooks/endpoint";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";

const logger = consoleLogger();

const path = `${process.env["DATA_DIR"] ?? "data"}/events.db`; // the receiver's file
const inbox = sqliteInbox({ path, logger });
const state = sqliteState({ path }); // in the same file: both are lost together, or neither

const handlers: Handlers<EsimEvents> = {
  "*": ({ id, type }, { replayed }) =>
    console.log("handled", type, id, replayed ? "from the listing" : "live"),
};

const api = createClient({ logger }); // ESIM_API_URL, ESIM_CLIENT_ID, ESIM_CLIENT_SECRET
const endpointReference = process.env["ESIM_ENDPOINT"] ?? "";
const worker = createWorker(inbox, handlers, { logger });
const reconciler = createReconciler(api, endpointReference, inbox, {
  state,
  eventTypes: Object.keys(handlers), // the endpoint must be subscribed to each type that has its own handler
  since: new Date(process.env["STORING_SINCE"] ?? "2026-11-20T00:00:00Z"), // for the first pass: when the receiver began
  logger,
});

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const runner = createRunner({ worker, reconciler, inbox, logger });
await runner.run({ signal: stopping.signal, close: [inbox, state] }); // until SIGTERM
