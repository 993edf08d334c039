import { type PostgresInbox, type PostgresInboxOptions, postgresInbox } from "@esim-webhooks/store-postgres";
import { type RawBuilder, sql } from "kysely";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { createSchema, type TestSchema } from "./schema.ts";
import { suitePool } from "./suite-server.ts";

/** A migrated schema of each test, and its inboxes, which are closed after it. */
export interface TestInboxes {
  readonly shop: TestSchema;
  readonly event: RawBuilder<unknown>;
  /** Opens an inbox on the pool that all tests of the file share, unless the options name another database. */
  open(options?: Partial<PostgresInboxOptions>): PostgresInbox;
}

export function inboxesOfEachTest(): () => TestInboxes {
  let pool: pg.Pool;
  let shop: TestSchema;
  let opened: PostgresInbox[] = [];
  const open = (options: Partial<PostgresInboxOptions> = {}) => {
    const named = ["url", "pool", "kysely"].some((name) => name in options);
    const database = named ? {} : { pool };
    const inbox = postgresInbox({ ...database, schema: shop.schema, timeoutMs: 30_000, ...options });
    opened.push(inbox);
    return inbox;
  };
  beforeAll(() => {
    pool = suitePool(postgresUrl);
  });
  afterAll(() => pool.end());
  beforeEach(async () => {
    shop = await createSchema();
    await open().migrate();
  });
  afterEach(async () => {
    await Promise.all(opened.map((inbox) => inbox.close()));
    opened = [];
    await shop.drop();
  });
  return () => ({ shop, event: sql.id(shop.schema, "event"), open });
}
