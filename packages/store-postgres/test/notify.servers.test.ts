import { createWorker } from "@esim-webhooks/core";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { createSchema, type TestSchema } from "./schema.ts";

let shop: TestSchema;
beforeEach(async () => {
  shop = await createSchema();
});
afterEach(() => shop.drop());

describe("postgresInbox with notify", () => {
  it("wakes a worker on another pool immediately, and again after its connection was lost", async () => {
    const receiving = postgresInbox({ pool: shop.pool(2), schema: shop.schema, notify: true });
    const working = postgresInbox({ pool: shop.pool(3), schema: shop.schema, notify: true });
    await receiving.migrate();
    const worked: string[] = [];
    // its next poll would be in ten minutes
    const worker = createWorker(working, { "*": ({ id }) => void worked.push(id) }, { pollMs: 600_000 });
    const stop = new AbortController();
    const running = worker.run({ signal: stop.signal });
    await expect.poll(() => listeners()).toBe(1);
    await receiving.put([entry("msg_1")]);
    await expect.poll(() => worked).toEqual(["msg_1"]);
    await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${listening}`.execute(
      shop.db,
    );
    await receiving.put([entry("msg_2")]);
    await expect.poll(() => worked).toEqual(["msg_1", "msg_2"]);
    stop.abort();
    await running;
    await expect.poll(() => listeners()).toBe(0);
  });

  it("refuses a kysely instance, whose connections it cannot keep", () => {
    expect(() => postgresInbox({ kysely: shop.db, notify: true })).toThrow(
      /cannot use notify.*Pass its pool/,
    );
    expect(() => postgresInbox({ pool: shop.pool(1), notify: true })).toThrow(/more than one connection/);
  });
});

const listening = sql<boolean>`query like 'listen %' and application_name like 'test_%' and application_name = current_setting('application_name')`;

async function listeners(): Promise<number> {
  const { rows } = await sql<{
    n: number;
  }>`select count(*)::int as n from pg_stat_activity where ${listening}`.execute(shop.db);
  return rows[0]?.n ?? 0;
}
