// A worker process for tests: works the inbox of DATABASE_URL until it is stopped or killed. Each event has one
// effect, written by context.tx. OPTIONS are the worker's. With WAIT, handlers say where they are and wait there
// for SIGUSR2.
import { once } from "node:events";
import { createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import type { Transaction } from "kysely";
import { loggerWith } from "./support/loggers.ts";

export interface Effects {
  effect: { event: string; attempt: number };
}

const environment = process.env;
const url = environment["DATABASE_URL"] ?? "";
const schema = environment["SCHEMA"] ?? "esim_webhooks";
const goOn = environment["WAIT"] === undefined ? undefined : once(process, "SIGUSR2");
const say = (fields: object, message: string) => console.log(message, JSON.stringify(fields));

const inbox = postgresInbox<Effects>({ url, schema, timeoutMs: 10_000 });
await inbox.migrate();

const write = ({ id }: { id: string }, { tx, attempt }: { tx: Transaction<Effects>; attempt: number }) =>
  tx.withSchema(schema).insertInto("effect").values({ event: id, attempt }).execute();
/** Where a test may freeze this process. */
async function wait(id: string, where: string): Promise<void> {
  if (goOn === undefined) return;
  console.log(id, where);
  await goOn;
}

const handlers: Handlers<EsimEvents, Transaction<Effects>> = {
  "esim.enabled": async (event, context) => {
    await write(event, context);
    await wait(event.id, "has written");
  },
  "esim.disabled": async (event, context) => {
    await wait(event.id, "is about to write");
    await write(event, context);
  },
  "esim.deleted": ({ id }) => wait(id, "writes nothing"),
  "*": write,
};

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const logger = loggerWith({ warn: say });
const options = JSON.parse(environment["OPTIONS"] ?? "{}") as object;
const running = createWorker(inbox, handlers, { logger, ...options }).run({ signal: stopping.signal });
console.log("working");
await running;
await inbox.close();
