import { crashSuite } from "@esim-webhooks/conformance";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startPostgres, type TestServer } from "../../../test/servers/index.ts";
import { crashes } from "../../../test/support/crashes.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startPostgres();
  process.env["STORE_URL"] = server.url;
  const inbox = postgresInbox({ url: server.url });
  await inbox.migrate();
  await inbox.close();
});
afterAll(() => server.close());

crashSuite(
  "Postgres",
  {
    inbox: import.meta.resolve("./open-postgres-inbox.ts"),
    ordered: true,
    store: import.meta.resolve("./open-postgres-store.ts"),
    state: import.meta.resolve("./open-postgres-state.ts"),
    keys: import.meta.resolve("./open-postgres-keys.ts"),
    ...crashes,
  },
  { describe, it },
);
