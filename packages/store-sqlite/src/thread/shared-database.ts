import { WebhookError } from "@esim-webhooks/core";
import { createDatabase, type Database, type DatabaseOptions } from "./database.ts";

interface Shared {
  readonly database: Database;
  readonly options: DatabaseOptions;
  users: number;
}

const sharedByPath = new Map<string, Shared>();

/** A database, and how to be done with it: the last one who is closes it. */
export interface DatabaseUse {
  readonly database: Database;
  release(): Promise<void>;
}

/**
 * The database of a path: one for all stores and inboxes of this process, so that they share their writer and its syncs.
 * Throws `invalid_option` when another one has it open with another durability, or another `allowNetworkMount`.
 */
export function useDatabase(caller: string, options: DatabaseOptions): DatabaseUse {
  const { path, durability, allowNetworkMount } = options;
  const shared = sharedByPath.get(path) ?? { database: createDatabase(options), options, users: 0 };
  if (shared.options.durability !== durability) {
    throw new WebhookError(
      "invalid_option",
      `${caller}: ${path} is open in this process with durability "${shared.options.durability}", not "${durability}".`,
      "Give both the same: they share one writer.",
    );
  }
  if (shared.options.allowNetworkMount !== allowNetworkMount) {
    throw new WebhookError(
      "invalid_option",
      `${caller}: ${path} is open in this process with allowNetworkMount ${shared.options.allowNetworkMount}, not ${allowNetworkMount}.`,
      "Give both the same: they share one writer.",
    );
  }
  sharedByPath.set(path, shared);
  shared.users += 1;
  return {
    database: shared.database,
    async release() {
      shared.users -= 1;
      if (shared.users > 0) return;
      sharedByPath.delete(path);
      await shared.database.close();
    },
  };
}
