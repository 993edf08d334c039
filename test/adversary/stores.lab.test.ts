// Attacks on stores and inboxes: servers that freeze, lose answers, go silent or are set up against us.
import { type PostgresStore, postgresStore } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { createData, openInbox } from "../inbox-data.ts";
import { entry } from "../inbox-entry.ts";
import { privatePostgres, startProxy } from "../servers/index.ts";
import { postgresUrl } from "../servers/shared.ts";
import { whileFrozen } from "./tools/freeze.ts";
import { countingProxy } from "./tools/postgres-proxies.ts";

/** Claims new ids, many at a time. Resolves to how many were claimed. */
async function floodWithClaims(store: PostgresStore, name: string, waves: number): Promise<number> {
  let claimed = 0;
  for (let wave = 0; wave < waves; wave++) {
    const claims = Array.from({ length: 20 }, (_, n) =>
      store.claim({ source: "default", id: `${name} ${wave} ${n}` }, 60_000),
    );
    const settled = await Promise.allSettled(claims);
    claimed += settled.filter(({ status }) => status === "fulfilled").length;
  }
  return claimed;
}

describe("Postgres", () => {
  it.each([
    ["the store's own pool", 10, (url: string) => ({ url })],
    ["a pool of 3 that was passed", 3, (url: string) => ({ pool: poolOf(url, 3) })],
  ])(
    "is asked for no more backends than %s has places, while it is frozen and after",
    async (_, most, given) => {
      const server = await privatePostgres();
      onTestFinished(() => server.close());
      const proxy = await countingProxy(server.url);
      onTestFinished(() => proxy.close());
      const store = postgresStore({ ...given(proxy.url), timeoutMs: 2000 }); // a backend has that long to end, too
      onTestFinished(() => store.close());
      await store.migrate();
      await floodWithClaims(store, "before", 1);
      expect(await whileFrozen(server, () => floodWithClaims(store, "frozen", 10))).toBe(0);
      await expect.poll(() => floodWithClaims(store, "after", 1)).toBe(20);
      expect(proxy.backends()).toBeLessThanOrEqual(most);
    },
  );

  it("is connected to at most once more than an inbox has places, for its question about commits, while it is frozen with puts under way", async () => {
    const server = await privatePostgres();
    onTestFinished(() => server.close());
    const proxy = await countingProxy(server.url);
    onTestFinished(() => proxy.close());
    const inbox = openInbox(proxy.url, { timeoutMs: 500 });
    await inbox.migrate();
    const put = (name: string) =>
      Promise.allSettled(Array.from({ length: 600 }, (_, n) => inbox.put([entry(`${name} ${n}`)])));
    await put("before"); // two batches, on two connections
    const earlier = proxy.connected();
    await whileFrozen(server, async () => {
      for (let wave = 0; wave < 12; wave++) await put(`frozen ${wave}`);
    });
    expect(proxy.connected() - earlier).toBeLessThanOrEqual(11);
  });

  it("still serves other users while a table is locked and claims pour in", async () => {
    const server = await privatePostgres({ max_connections: "20", superuser_reserved_connections: "0" });
    onTestFinished(() => server.close());
    const proxy = await countingProxy(server.url);
    onTestFinished(() => proxy.close());
    const store = postgresStore({ url: proxy.url, timeoutMs: 2000 });
    onTestFinished(() => store.close());
    await store.migrate();
    const locking = new pg.Client({ connectionString: server.url });
    await locking.connect();
    onTestFinished(() => locking.end());
    await locking.query("begin; lock table esim_webhooks.event in access exclusive mode");
    expect(await floodWithClaims(store, "locked", 10)).toBe(0);
    const others = poolOf(server.url, 5);
    await Promise.all(Array.from({ length: 5 }, () => others.query("select pg_sleep(0.1)")));
    expect(proxy.backends()).toBeLessThanOrEqual(10);
    await locking.query("rollback");
    await expect.poll(() => floodWithClaims(store, "after", 1)).toBe(20);
    expect(proxy.backends()).toBeLessThanOrEqual(10);
  });

  it("acknowledges no event while it is frozen, and takes the same events when it goes on", async () => {
    const server = await privatePostgres();
    onTestFinished(() => server.close());
    const inbox = openInbox(server.url, { timeoutMs: 500 });
    await inbox.migrate();
    const events = Array.from({ length: 200 }, (_, n) => entry(`msg_${n}`));
    const put = () => Promise.allSettled(events.map((event) => inbox.put([event])));
    const frozen = await whileFrozen(server, put);
    expect(frozen.filter(({ status }) => status === "fulfilled")).toEqual([]);
    const answers = async () =>
      (await put()).map((one) => (one.status === "fulfilled" ? one.value[0] : one.reason));
    const others = async () =>
      (await answers()).filter((one) => one !== "stored" && one !== "already_stored");
    await expect.poll(others).toEqual([]);
    expect(await inbox.count({})).toBe(200);
  });

  it("has every event once after 30 answers were cut off between commit and answer", async () => {
    const data = await createData(postgresUrl);
    const proxy = await startProxy({ url: postgresUrl });
    onTestFinished(() => proxy.close());
    const inbox = openInbox(proxy.url, { schema: data.schema, timeoutMs: 60_000 });
    await inbox.migrate();
    for (let n = 0; n < 30; n++) {
      proxy.loseNextAnswer();
      await inbox.put([entry(`msg_${n}`)]).catch(() => {});
      expect(await inbox.put([entry(`msg_${n}`)])).toHaveLength(1);
    }
    expect(await data.states()).toEqual({ ready: 30 });
  });
});

function poolOf(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  onTestFinished(() => pool.end());
  return pool;
}
