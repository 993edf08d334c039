import { consoleLogger } from "@esim-webhooks/core";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { type PostgresInbox, postgresInbox, postgresState } from "@esim-webhooks/store-postgres";

const logger = consoleLogger();

export const url: string = process.env["DATABASE_URL"] || "postgres://postgres@localhost:5432/postgres";

/** How far reconcile has come, and the signing keys: `esim-webhooks rotate` changes them for all receivers. */
export const state = postgresState({ url, logger });
export const keys = stateKeySource(state);

/** Receiver and worker open the inbox with the same options. */
export const inbox: PostgresInbox<unknown> = postgresInbox({
  url,
  lane: ({ data }) => data.esimReference, // the events of an eSIM run one at a time
  logger,
});
await inbox.migrate(); // with the tables of the state
