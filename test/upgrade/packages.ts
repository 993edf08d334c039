import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as core from "@esim-webhooks/core";
import * as express from "@esim-webhooks/express";
import * as fastify from "@esim-webhooks/fastify";
import * as postgres from "@esim-webhooks/store-postgres";
import * as sqlite from "@esim-webhooks/store-sqlite";

export type Version = "previous" | "present";

/** The exports of a version that tests and benches use, with the types that they have in this version. */
export type Packages = Pick<
  typeof core,
  "createKeyring" | "createReceiver" | "createWorker" | "esimCatalog" | "memoryStore" | "verify"
> &
  Pick<typeof express, "webhookRouter"> &
  Pick<typeof fastify, "webhookPlugin"> &
  Pick<typeof postgres, "postgresInbox"> &
  Pick<typeof sqlite, "sqliteInbox">;

/** The packages of this version. */
export const presentPackages: Packages = { ...core, ...express, ...fastify, ...postgres, ...sqlite };

/** Loads the packages that `freezePrevious` has bundled into this folder. */
export function frozenPackages(folder: string): Promise<Packages> {
  return import(pathToFileURL(join(folder, "index.mjs")).href);
}
