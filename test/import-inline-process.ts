// A process for tests: imports the file of DUMP into handlers, which write to the orders of DATABASE_URL and SCHEMA in the
// transaction of their event. Says at the end the report. Kills itself KILL_AFTER_MS after its first event, where that is
// given.
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
const killAfterMs = environment["KILL_AFTER_MS"];
let worked = 0;
const processor = createProcessor<EsimEvents, Transaction<Shop>>(
  {
    "esim.enabled": async ({ id, data: { esimReference: esim } }, { tx }) => {
      await tx.withSchema(schema).insertInto("order").values({ event: id, esim }).execute();
      await pause(20);
      worked += 1;
      if (worked === 1 && killAfterMs !== undefined) {
        setTimeout(() => process.kill(process.pid, "SIGKILL"), Number(killAfterMs));
      }
    },
  },
  { store, leaseMs: killAfterMs === undefined ? 60_000 : 1000 }, // after a kill, the next process waits for it
);
const options = JSON.parse(environment["OPTIONS"] ?? "{}") as ImportOptions;
const report = await importDeliveries(createReadStream(environment["DUMP"] ?? ""), processor, options);
console.log(`report ${JSON.stringify(report)}`);
await store.close();
