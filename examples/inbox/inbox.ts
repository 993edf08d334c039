import { consoleLogger } from "@esim-webhooks/core";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";

/** The tables that handlers write with `context.tx`. */
export interface Database {
  orders: { key: string; esim: string; profile: string };
  esims: { esim: string; status: string };
}

export const url: string = process.env["DATABASE_URL"] || "postgres://postgres@localhost:5432/postgres";

/** Receiver and worker open the inbox with the same options: the receiver writes the lane, the worker respects it. */
export function openInbox(): PostgresInbox<Database> {
  return postgresInbox<Database>({
    url,
    lane: ({ data }) => data.esimReference, // the events of an eSIM run one at a time
    logger: consoleLogger(),
  });
}
