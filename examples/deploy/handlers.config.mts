// The handlers of `esim-webhooks work --config handlers.config.mts`. The inbox is the Postgres of DATABASE_URL.
import { defineConfig } from "@esim-webhooks/cli";

export default defineConfig({
  handlers: {
    "esim.*": ({ id, type }, { logger }) => logger.info({ id, type }, "handled"),
  },
});
