import { type Inbox, type InboxOptions, WebhookError } from "@esim-webhooks/core";
import {
  type InboxSettings,
  inboxShape,
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/kit";
import type { Transaction } from "kysely";
import * as z from "zod/mini";
import {
  openPostgres,
  type PostgresOptions,
  type PostgresSettings,
  postgresShape,
} from "./database/postgres-database.ts";
import { createSqlInbox, inboxRoles } from "./sql-inbox.ts";

export interface PostgresInboxOptions<Database = unknown>
  extends PostgresOptions<Database>,
    StoreOptions,
    InboxOptions {
  /**
   * Tell workers in other processes at once that there is something to take (LISTEN and NOTIFY). A worker then holds a
   * connection of the pool, and a transaction pooler will not do. Default false: they find it at their next look.
   */
  notify?: boolean;
}

export interface PostgresInbox<Database = unknown> extends Inbox<Transaction<Database>> {
  /** Creates or updates the tables. Safe when many processes do it at the same time. */
  migrate(): Promise<void>;
  /** The time of the server. Answers also while migrations are missing. */
  now(): Promise<Date>;
}

const shape: OptionsShape<PostgresSettings & Required<StoreOptions> & InboxSettings & { notify: boolean }> = {
  ...postgresShape,
  ...storeShape,
  ...inboxShape,
  notify: z._default(z.boolean(), false),
};

/**
 * The inbox on Postgres 12 or newer, on the table of `postgresStore`: an id that was done inline is done here too.
 * `put` resolves after the commit; concurrent calls share one. Any number of processes may put and work.
 *
 * Throws `invalid_option`; operations reject with `store_unavailable`, or `migration_missing` until `migrate()` was run.
 */
export function postgresInbox<Database = unknown>(
  options: PostgresInboxOptions<Database>,
): PostgresInbox<Database> {
  const settings = parseOptions("postgresInbox", shape, options);
  warnOfShortRetention("postgresInbox", settings);
  const { migrate, now, close, pool, ...open } = openPostgres("postgresInbox", options, settings);
  if (settings.notify && pool === undefined) {
    throw new WebhookError(
      "invalid_option",
      "postgresInbox cannot listen on the connections of a kysely instance.",
      "Pass its pool in place of it, or leave notify out.",
    );
  }
  if (settings.notify && (pool?.options as { max?: number } | undefined)?.max === 1) {
    throw new WebhookError(
      "invalid_option",
      "postgresInbox with notify has a pool of one connection, which a worker would listen on and nothing else could use.",
      "Give the pool two or more, or leave notify out.",
    );
  }
  return {
    ...createSqlInbox(open, settings, settings.notify ? pool : undefined),
    capabilities: {
      roles: inboxRoles,
      durable: true,
      multiProcess: true,
      transactional: true,
      ordered: settings.lane !== undefined,
      retentionMs: settings.retentionMs,
    },
    migrate,
    now,
    close,
  };
}
