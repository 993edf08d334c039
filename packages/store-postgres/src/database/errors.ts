import { WebhookError } from "@esim-webhooks/core";
import type { Tables } from "./tables.ts";

/** Stable codes of the errors that these stores throw, in addition to those of core. */
export type PostgresErrorCode =
  /** A migration has not been run. Call `migrate()` at deployment, or run `esim-webhooks migrate`. */
  | "migration_missing"
  /** The tables are not those of this version: another version has made them, or they were changed. Undo the change, or run the version that made them. */
  | "schema_mismatch"
  /** A newer version of this package has migrated the schema, and this one cannot work with it. Run that version, or a newer one, in every process. */
  | "database_newer"
  /** The database's encoding cannot store every text. */
  | "database_not_utf8"
  /** Other transactions have kept the tables locked. */
  | "migration_blocked"
  /** The server is a standby, or refuses writes by its settings. Connect to the primary, with a client that reconnects after a failover. */
  | "read_only_store"
  /** The role or user lacks a right that the store needs. Grant what the message names. */
  | "missing_rights";

/** The meaning of a refusal of the server, by its SQLSTATE. */
export function refusalOf(
  error: unknown,
  { schema }: Tables,
): WebhookError<PostgresErrorCode | "store_full"> | undefined {
  switch ((error as { code?: unknown } | undefined)?.code) {
    case "25006":
      return new WebhookError<PostgresErrorCode>(
        "read_only_store",
        "The Postgres server, or this role on it, only reads: it is a standby, or default_transaction_read_only is on.",
        "Connect to the primary, or switch the setting off. After a failover, a kysely instance keeps its connections to the old primary: set maxLifetimeSeconds: 60 of its pg.Pool, or restart its process.",
        { cause: error },
      );
    case "42501":
      return new WebhookError<PostgresErrorCode>(
        "missing_rights",
        `The role may not do what the store does in the schema "${schema}": ${(error as Error).message}.`,
        "Grant it USAGE on the schema and on its sequence, and SELECT, INSERT, UPDATE and DELETE on its tables; to make the schema, CREATE on the database.",
        { cause: error },
      );
    case "53100":
      return new WebhookError(
        "store_full",
        "The disk of the Postgres server is full, so nothing can be stored.",
        "Free space on the disk of its data folder or tablespace. Nothing needs a restart.",
        { cause: error },
      );
    default:
      return undefined;
  }
}

/** SQLSTATEs of our own statements that mean other tables than ours: a missing or a second table, a missing column or function, a constraint. */
const misfits: ReadonlySet<unknown> = new Set(["42P01", "42P07", "42703", "42883", "23502", "23514"]);

/** The `schema_mismatch` that an error of the server means; undefined for any other error. */
export function misfitOf(error: unknown, tables: Tables): WebhookError<PostgresErrorCode> | undefined {
  if (!misfits.has((error as { code?: unknown } | undefined)?.code)) return undefined;
  return schemaMismatch(tables, (error as Error).message, { cause: error });
}

/** `reason` completes a sentence. */
export function schemaMismatch(
  { schema }: Tables,
  reason: string,
  options?: { readonly cause: unknown },
): WebhookError<PostgresErrorCode> {
  return new WebhookError<PostgresErrorCode>(
    "schema_mismatch",
    `The tables of the schema "${schema}" are not those of this version: ${reason}.`,
    "Run the version that made the schema. If you need nothing in it, drop it, and call migrate() or run esim-webhooks migrate.",
    options,
  );
}
