import type { Inbox, InboxOptions } from "@esim-webhooks/core";
import { type InboxSettings, inboxShape, type OptionsShape, parseOptions } from "@esim-webhooks/core/kit";
import type { Transaction } from "kysely";
import {
  type EmbeddedOptions,
  type EmbeddedSettings,
  embeddedShape,
  openEmbedded,
} from "./database/embedded-database.ts";
import { createSqlInbox, inboxRoles } from "./sql-inbox.ts";

export interface EmbeddedInboxOptions extends EmbeddedOptions, InboxOptions {}

const shape: OptionsShape<EmbeddedSettings & InboxSettings> = { ...embeddedShape, ...inboxShape };

/**
 * The Postgres inbox on PGlite, within this process: with the limits of `embeddedStore`, and its errors.
 */
export function embeddedInbox<Database = unknown>(
  options: EmbeddedInboxOptions = {},
): Inbox<Transaction<Database>> {
  const settings = parseOptions("embeddedInbox", shape, options);
  const { close, ...open } = openEmbedded<Database>("embeddedInbox", settings);
  return {
    ...createSqlInbox(open, settings),
    capabilities: {
      roles: inboxRoles,
      durable: settings.dataDir !== undefined,
      multiProcess: false,
      transactional: true,
      ordered: settings.lane !== undefined,
      retentionMs: settings.retentionMs,
    },
    close,
  };
}
