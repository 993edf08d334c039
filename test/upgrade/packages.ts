import * as core from "@esim-webhooks/core";
import * as postgres from "@esim-webhooks/store-postgres";
import * as sqlite from "@esim-webhooks/store-sqlite";

export type Version = "previous" | "present";

/** What tests and benches use of a version. The types are those of this version, which the previous one has too. */
export type Packages = Pick<typeof core, "createReceiver" | "createWorker"> &
  Pick<typeof postgres, "postgresInbox"> &
  Pick<typeof sqlite, "sqliteInbox">;

/** Loads the packages of this version, or the bundle that `freeze.ts` has made of the previous one. */
export function packagesOf(version: Version): Promise<Packages> {
  return version === "previous"
    ? import(new URL("previous/index.mjs", import.meta.url).href)
    : Promise.resolve({ ...core, ...postgres, ...sqlite });
}
