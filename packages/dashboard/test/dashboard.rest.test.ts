import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { afterAll, beforeAll } from "vitest";
import { startPostgres, startRedis, type TestServer } from "../../../test/servers/index.ts";
import { folderOfEachTest } from "../../store-sqlite/test/temporary-folder.ts";
import { dashboardSuite } from "./dashboard-suite.ts";

const folder = folderOfEachTest();
let postgres: TestServer;
let redis: TestServer;
beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
});
afterAll(async () => {
  await Promise.all([postgres.close(), redis.close()]);
});

const lane = ({ data }: { readonly data: { readonly esimReference?: string } }) => data.esimReference;

dashboardSuite("sqliteInbox", async () => sqliteInbox({ path: join(folder.path, "inbox.db"), lane }));

dashboardSuite("postgresInbox", async () => {
  const inbox = postgresInbox({
    url: postgres.url,
    schema: `dashboard_${randomUUID().replaceAll("-", "")}`,
    timeoutMs: 30_000,
    lane,
  });
  await inbox.migrate();
  return inbox;
});

dashboardSuite("bullmqInbox", async () =>
  bullmqInbox({
    connection: redis.url,
    name: `dashboard-${randomUUID()}`,
    timeoutMs: 30_000,
    jobOptions: { attempts: 1, removeOnComplete: false },
  }),
);
