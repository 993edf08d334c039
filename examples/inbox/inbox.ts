import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";

/** The tables that handlers write to by `context.tx`. */
export interface Database {
  orders: { esim: string; profile: string };
  esims: { esim: string; status: string };
}

export const url: string = process.env["DATABASE_URL"] ?? "postgres://postgres@localhost:5432/postgres";

/** Receiver and worker open it alike: lanes are written when an event is stored, and kept when it is taken. */
export function openInbox(): PostgresInbox<Database> {
  return postgresInbox<Database>({
    url,
    lane: ({ data }) => data.esimReference, // events of an eSIM: one at a time
    logger: console,
  });
}
