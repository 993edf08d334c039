import { postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { createSchema, type TestSchema } from "./schema.ts";

let shop: TestSchema;
beforeEach(async () => {
  shop = await createSchema();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await shop.drop();
});

/** Notes the first word of each query that a client of `pg` sends, and when it is answered. */
function noteQueries(): readonly string[] {
  const noted: string[] = [];
  const { query } = pg.Client.prototype;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const [word = ""] = String(given[0]).trim().split(/\s/);
    noted.push(word);
    const result = Reflect.apply(query, this, given) as Promise<unknown>;
    void Promise.resolve(result).then(() => noted.push(`${word} answered`));
    return result;
  } as never);
  return noted;
}

it("sends a put between its BEGIN and its COMMIT, so that it takes one round trip", async () => {
  const inbox = postgresInbox({ url: postgresUrl, schema: shop.schema });
  await inbox.migrate();
  await inbox.put([entry("first")]); // opens the connection, and notes the delivery
  await expect.poll(async () => (await inbox.gauges()).lastReceivedAt).not.toBeNull();
  const noted = noteQueries();
  expect(await inbox.put([entry("second")])).toEqual(["stored"]);
  expect(noted).toEqual([
    "begin",
    "insert",
    "commit",
    "begin answered",
    "insert answered",
    "commit answered",
  ]);
  await inbox.close();
});

it("sends the first query of an operation together with its BEGIN", async () => {
  const inbox = postgresInbox({ url: postgresUrl, schema: shop.schema });
  await inbox.migrate();
  await inbox.put([entry("first")]); // opens the connection, and notes the delivery
  await expect.poll(async () => (await inbox.gauges()).lastReceivedAt).not.toBeNull();
  const noted = noteQueries();
  expect(await inbox.count()).toBe(1);
  expect(noted.slice(0, 2)).toEqual(["begin", "select"]);
  expect(noted.filter((each) => !each.endsWith("answered"))).toEqual(["begin", "select", "commit"]);
  await inbox.close();
});
