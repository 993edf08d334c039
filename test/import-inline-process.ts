// A process for tests: imports the file of DUMP into handlers, which write to the orders of DATABASE_URL and SCHEMA in the
// transaction of their event. Says "worked" after each one, and at the end the report.
import { createReadStream } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createProcessor, type EsimEvents } from "@esim-webhooks/core";
import { type ImportOptions, importDeliveries } from "@esim-webhooks/import";
import { postgresStore } from "@esim-webhooks/store-postgres";
import type { Transaction } from "kysely";
import type { Shop } from "../packages/store-postgres/test/schema.ts";

const environment = process.env;
const schema = environment["SCHEMA"] ?? "";
const store = postgresStore<Shop>({ url: environment["DATABASE_URL"] ?? "", schema });
const processor = createProcessor<EsimEvents, Transaction<Shop>>(
  {
    "esim.enabled": async ({ id, data: { esimReference: esim } }, { tx }) => {
      await tx.withSchema(schema).insertInto("order").values({ event: id, esim }).execute();
      await pause(20);
      console.log("worked");
    },
  },
  { store, leaseMs: 1000 },
);
const options = JSON.parse(environment["OPTIONS"] ?? "{}") as ImportOptions;
const report = await importDeliveries(createReadStream(environment["DUMP"] ?? ""), processor, options);
console.log(`report ${JSON.stringify(report)}`);
await store.close();
