import { type PostgresInbox, type PostgresInboxOptions, postgresInbox } from "@esim-webhooks/store-postgres";
import { type RawBuilder, sql } from "kysely";
import { afterEach, beforeEach } from "vitest";
import { postgresUrl as url } from "../../../test/servers/shared.ts";
import { createSchema, type TestSchema } from "./schema.ts";

/** A migrated schema of each test, and its inboxes, which are closed after it. */
export interface TestInboxes {
  readonly shop: TestSchema;
  readonly event: RawBuilder<unknown>;
  open(options?: Partial<PostgresInboxOptions>): PostgresInbox;
}

export function inboxesOfEachTest(): () => TestInboxes {
  let shop: TestSchema;
  let opened: PostgresInbox[] = [];
  const open = (options: Partial<PostgresInboxOptions> = {}) => {
    const inbox = postgresInbox({ url, schema: shop.schema, timeoutMs: 30_000, ...options });
    opened.push(inbox);
    return inbox;
  };
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
