import { WebhookError } from "@esim-webhooks/core";
import { createDatabase, type Database, type DatabaseOptions } from "./database.ts";
import { busyMsOf } from "./protocol.ts";

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

/** A use of a database. The release of its last use closes it. */
export interface DatabaseUse {
  readonly database: Database;
  release(): Promise<void>;
}

/**
 * The database of a path: one for all stores and inboxes of this process, so that they share their writer and its syncs.
 * Throws `invalid_option` if it is open with another `durability` or `allowNetworkMount`.
 */
export function useDatabase(caller: string, options: UseOptions): DatabaseUse {
  const { path, durability, allowNetworkMount, timeoutMs } = options;
  const shared = sharedByPath.get(path) ?? share(options);
  refuseOther(caller, shared, "durability", durability);
  refuseOther(caller, shared, "allowNetworkMount", allowNetworkMount);
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

function refuseOther(
  caller: string,
  { options }: Shared,
  option: "durability" | "allowNetworkMount",
  value: string | boolean,
): void {
  if (options[option] === value) return;
  throw new WebhookError(
    "invalid_option",
    `${options.path} is open in this process with ${option} ${JSON.stringify(options[option])}, not ${JSON.stringify(value)}.`,
    "Pass the same value to both: they share one writer.",
    { where: caller },
  );
}

function share(options: UseOptions): Shared {
  const timeouts: number[] = [];
  return {
    database: createDatabase({ ...options, busyMs: () => busyMsOf(Math.max(...timeouts)) }),
    options,
    timeouts,
  };
}
