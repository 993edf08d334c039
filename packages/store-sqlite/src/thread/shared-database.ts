import { WebhookError } from "@esim-webhooks/core";
import { busyMsOf } from "../database/busy.ts";
import { createDatabase, type Database, type DatabaseOptions } from "./database.ts";

export interface UseOptions extends Omit<DatabaseOptions, "busyMs"> {
  readonly timeoutMs: number;
}

interface Shared {
  readonly database: Database;
  readonly options: UseOptions;
  /** How long each of its users waits. */
  readonly timeouts: number[];
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
export function useDatabase(caller: string, options: UseOptions): DatabaseUse {
  const { path, durability, allowNetworkMount, timeoutMs } = options;
  const shared = sharedByPath.get(path) ?? share(options);
  if (shared.options.durability !== durability) {
    throw new WebhookError(
      "invalid_option",
      `${path} is open in this process with durability "${shared.options.durability}", not "${durability}".`,
      "Pass the same value to both: they share one writer.",
      { where: caller },
    );
  }
  if (shared.options.allowNetworkMount !== allowNetworkMount) {
    throw new WebhookError(
      "invalid_option",
      `${path} is open in this process with allowNetworkMount ${shared.options.allowNetworkMount}, not ${allowNetworkMount}.`,
      "Pass the same value to both: they share one writer.",
      { where: caller },
    );
  }
  sharedByPath.set(path, shared);
  shared.timeouts.push(timeoutMs);
  return {
    database: shared.database,
    async release() {
      shared.timeouts.splice(shared.timeouts.indexOf(timeoutMs), 1);
      if (shared.timeouts.length > 0) return;
      sharedByPath.delete(path);
      await shared.database.close();
    },
  };
}

function share(options: UseOptions): Shared {
  const timeouts: number[] = [];
  return {
    database: createDatabase({ ...options, busyMs: () => busyMsOf(Math.max(...timeouts)) }),
    options,
    timeouts,
  };
}
