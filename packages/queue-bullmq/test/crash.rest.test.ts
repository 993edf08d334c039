import { crashSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startRedis, type TestServer } from "../../../test/servers/index.ts";
import { crashes } from "../../../test/support/crashes.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startRedis();
  process.env["STORE_URL"] = server.url;
});
afterAll(() => server.close());

crashSuite(
  "BullMQ",
  {
    inbox: import.meta.resolve("./open-bullmq-inbox.ts"),
    ...crashes,
  },
  { describe, it },
);
