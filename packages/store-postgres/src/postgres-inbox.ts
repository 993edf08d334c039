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
   * Wake workers in other processes at once when there is work (LISTEN and NOTIFY). Each worker then holds a connection of
   * the pool, and a transaction pooler does not work. Default false: workers find it at their next poll.
   */
  notify?: boolean;
}

export interface PostgresInbox<Database = unknown> extends Inbox<Transaction<Database>> {
  /** Creates or updates the tables. Safe when many processes do it at the same time. */
  migrate(): Promise<void>;
  /** The server's time. Works before the migrations were run, too. */
  now(): Promise<Date>;
}

const shape: OptionsShape<PostgresSettings & Required<StoreOptions> & InboxSettings & { notify: boolean }> = {
  ...postgresShape,
  ...storeShape,
  ...inboxShape,
  notify: z._default(z.boolean(), false),
};

/**
 * The inbox on Postgres 12 or newer, for any number of processes. It shares a table with `postgresStore`, so an id that was
 * done inline is done here too. `put` resolves after the commit; concurrent calls share one.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, or with `migration_missing` until `migrate()` was run.
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
      "postgresInbox cannot use notify with a kysely instance.",
      "Pass its pool instead, or remove notify.",
    );
  }
  if (settings.notify && (pool?.options as { max?: number } | undefined)?.max === 1) {
    throw new WebhookError(
      "invalid_option",
      "postgresInbox with notify needs more than one connection, since a worker keeps one to listen.",
      "Set the pool's max to 2 or more, or remove notify.",
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
