import { Socket } from "node:net";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { startProxy } from "../../../test/servers/index.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { madeReady } from "./made-ready.ts";
import { createSchema, type TestSchema } from "./schema.ts";

let shop: TestSchema;
beforeEach(async () => {
  shop = await createSchema();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await shop.drop();
});

const { query } = pg.Client.prototype;

/** Has clients of `pg` send something else in place of the next query that `pattern` matches. */
function replaceNext(pattern: RegExp, other: string, meanwhile = () => {}): void {
  let isReplaced = false;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    if (isReplaced || !pattern.test(String(given[0]))) return Reflect.apply(query, this, given);
    isReplaced = true;
    meanwhile();
    return Reflect.apply(query, this, [other]);
  } as never);
}

it("does not report an event as stored when the server answers the COMMIT with a ROLLBACK", async () => {
  const inbox = postgresInbox({ url: postgresUrl, schema: shop.schema });
  await inbox.migrate();
  await inbox.ready();
  replaceNext(/^commit$/, "rollback");
  await expect(inbox.put([entry("msg_1")])).rejects.toMatchObject({ code: "store_unavailable" });
  expect(await inbox.count()).toBe(0);
  expect(await inbox.put([entry("msg_1")])).toEqual(["stored"]);
  await inbox.close();
});

it("gives no open transaction to the next operation when the server refuses to run the COMMIT", async () => {
  const pool = shop.pool(1);
  Object.assign(pool.options, { pipeline: true });
  const inbox = postgresInbox({ pool, schema: shop.schema });
  await inbox.migrate();
  await inbox.ready();
  replaceNext(/^commit$/, "refused");
  await expect(inbox.put([entry("msg_1")])).rejects.toThrow();
  const { rows } = await pool.query("select 1 as answer");
  expect(rows).toEqual([{ answer: 1 }]);
  await inbox.close();
});

it("wakes workers for the events that it has stored when it cannot compare the others of their batch", async () => {
  const inbox = postgresInbox({ url: postgresUrl, schema: shop.schema });
  await inbox.migrate();
  await inbox.put([entry("old")]);
  let hints = 0;
  inbox.onHint?.(() => {
    hints += 1;
  });
  replaceNext(/as wanted/, "refused");
  await expect(inbox.put([entry("old"), entry("new")])).rejects.toThrow();
  expect(hints).toBe(1);
  expect(await inbox.count({ state: "ready" })).toBe(2);
  await inbox.close();
});

it("frees the connection of a commit whose answer is lost, also in a pool that connects by its own stream", async () => {
  const proxy = await startProxy({ url: postgresUrl });
  const { hostname, port } = new URL(proxy.url);
  const pool = new pg.Pool({
    connectionString: Object.assign(new URL(postgresUrl), { host: "nowhere.invalid:1" }).href,
    max: 1,
    stream: () => {
      const socket = new Socket();
      const connect = socket.connect.bind(socket) as (port: number, host: string) => Socket;
      return Object.assign(socket, { connect: () => connect(Number(port), hostname) });
    },
  });
  pool.on("error", () => {}); // the proxy ends first
  const inbox = postgresInbox({ pool, schema: shop.schema, timeoutMs: 1000 });
  await madeReady(inbox);
  replaceNext(/^commit$/, "commit", () => proxy.silence());
  await expect(inbox.put([entry("msg_1")])).rejects.toMatchObject({ code: "store_unavailable" });
  const stored = () => inbox.put([entry("msg_2")]).catch(() => "away");
  await expect.poll(stored).toEqual([expect.stringMatching(/stored|duplicate/)]);
  await inbox.close();
  await pool.end();
  await proxy.close();
});

it("reports a full disk of the server as store_full", async () => {
  const inbox = postgresInbox({ pool: shop.pool(1), schema: shop.schema });
  await inbox.migrate();
  await inbox.ready();
  await shop.pool(1).query(`
    create function "${shop.schema}".fill() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
    create trigger fill before insert on "${shop.schema}".event
      for each row execute function "${shop.schema}".fill()`);
  await expect(inbox.put([entry("msg_1")])).rejects.toMatchObject({
    code: "store_full",
    remedy: expect.stringContaining("Free space"),
  });
});
