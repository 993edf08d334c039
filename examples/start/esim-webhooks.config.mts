import { defineConfig } from "@esim-webhooks/cli";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";

process.loadEnvFile("sandbox.env"); // the address and the credentials of the partner API
const path = "events.db"; // for all processes of this machine

export default defineConfig({
  secret: fileKeySource("signing-keys.json"),
  target: sqliteInbox({ path, minuteCounts: true }), // counts for the dashboard's charts
  state: sqliteState({ path }),
  handlers: {
    "esim.assigned": ({ timestamp }, { logger }) => logger.info({ timestamp }, "an eSIM is assigned"),
    "esim.faulted": ({ data }, context) => {
      if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
      return context.logger.warn({ reason: data.reason }, "order a replacement"); // in your own code, a call of the partner API, with idempotencyKeyOf(event, "reorder")
    },
  },
});
