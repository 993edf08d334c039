import { createProcessor, createWorker } from "@esim-webhooks/core";
import { postgresInbox, postgresState, postgresStore } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { expect, it } from "vitest";
import { closedAfterEach } from "../../../test/closed-after-each.ts";
import { postgresPair } from "../../../test/failover/pair.ts";
import { failoverSuite, inboxWriter, stateWriter, storeWriter } from "../../../test/failover/suite.ts";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { faulted, type Shop } from "./schema.ts";

expectWarnings("read_only_store");

async function migrated<Store extends { migrate(): Promise<void> }>(store: Store): Promise<Store> {
  await store.migrate();
  return store;
}

const timeoutMs = 10_000; // of a commit that waits for the standby in vain

failoverSuite("postgresStore", {
  start: postgresPair,
  open: async (url) => storeWriter(await migrated(postgresStore({ url }))),
  openWaiting: async (url) => storeWriter(await migrated(postgresStore({ url, timeoutMs }))),
});

failoverSuite("postgresInbox", {
  start: postgresPair,
  open: async (url) => inboxWriter(await migrated(postgresInbox({ url }))),
  openWaiting: async (url) => inboxWriter(await migrated(postgresInbox({ url, timeoutMs }))),
});

failoverSuite("postgresState", {
  start: postgresPair,
  open: async (url) => stateWriter(await migrated(postgresState({ url }))),
});

const opened = closedAfterEach();

it("has each effect of context.tx once across a failover, on a pool that was passed", async () => {
  const pair = await postgresPair({ isSynchronous: true });
  opened.push(pair);
  const pool = new pg.Pool({ connectionString: pair.url });
  opened.push({ close: () => pool.end() });
  const store = await migrated(postgresStore<Shop>({ pool }));
  opened.push(store);
  await pool.query('create table "order" (event text, esim text)');
  const [began, demoted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const handlers = {
    "*": async ({ id }: { id: string }, { tx }: { tx: Kysely<Shop> }) => {
      await tx.insertInto("order").values({ event: id, esim: "e1" }).execute();
      if (id !== "during") return;
      began.resolve();
      await demoted.promise;
    },
  };
  opened.push({ close: () => demoted.resolve() });
  const processor = createProcessor(handlers, { store, leaseMs: 2000 });
  await processor.process(faulted("before"));
  const during = processor.process(faulted("during"));
  await began.promise;
  await pair.demote();
  demoted.resolve(); // its transaction began before, and may still write
  const outcomes = new Map([["during", (await during).code]]);
  expect((await processor.process(faulted("refused"))).code).not.toMatch(/processed|duplicate/);
  await pair.lead();
  const all = ["before", "during", "refused", "after"];
  for (const id of all) {
    const process = async () => outcomes.set(id, (await processor.process(faulted(id))).code).get(id);
    await expect.poll(process).toMatch(/processed|duplicate/);
  }
  const { rows } = await pool.query('select event from "order" order by event');
  expect(rows.map(({ event }) => event)).toEqual(all.toSorted());
});

it("writes to the new primary, and is ready, once the connections of a kysely instance have reached maxLifetimeSeconds", async () => {
  const pair = await postgresPair();
  opened.push(pair);
  const pool = new pg.Pool({ connectionString: pair.url, maxLifetimeSeconds: 1 });
  const kysely = new Kysely<never>({ dialect: new PostgresDialect({ pool }) });
  opened.push({ close: () => kysely.destroy() });
  const state = await migrated(postgresState({ kysely }));
  opened.push(state);
  const { write, ready } = stateWriter(state);
  await write("before");
  await pair.demote();
  await expect(ready()).rejects.toMatchObject({
    code: "read_only_store",
    message: expect.stringContaining("maxLifetimeSeconds: 60"),
  });
  await pair.lead();
  await expect.poll(() => write("first").catch(String), { timeout: 10_000, interval: 50 }).toBeUndefined();
  await expect.poll(() => ready().catch(String)).toBeUndefined();
});

it("wakes workers again, whose connection listened on the old primary", async () => {
  const pair = await postgresPair();
  opened.push(pair);
  const inboxes = [1, 2].map(() => postgresInbox({ url: pair.url, notify: true }));
  opened.push(...inboxes);
  const [putting, working] = inboxes as [(typeof inboxes)[0], (typeof inboxes)[0]];
  await putting.migrate();
  const worked: string[] = [];
  const stop = new AbortController();
  const running = createWorker(working, { "*": ({ id }) => void worked.push(id) }, { pollMs: 500 }).run(stop);
  opened.push({ close: () => running }, { close: () => stop.abort() });
  await putting.put([entry("before")]);
  await expect.poll(() => worked).toEqual(["before"]);
  await pair.demote();
  const before = pair.connections();
  await expect.poll(() => pair.connections()).toBeGreaterThan(before + 1); // to the old primary: of the worker, and to listen
  await pair.lead();
  const hinted = Promise.withResolvers<void>();
  await expect.poll(() => putting.put([entry("after")]).catch(String)).toEqual(["stored"]);
  await expect.poll(() => worked, { timeout: 60_000 }).toEqual(["before", "after"]); // after some refusals, it pauses for seconds
  const unsubscribe = working.onHint?.(hinted.resolve);
  await hinted.promise; // events stored before LISTEN gave no hint, so it gives one
  unsubscribe?.();
  const listening = new pg.Client({ connectionString: pair.url });
  await listening.connect();
  opened.push({ close: () => listening.end() });
  const onNew = "select query from pg_stat_activity where client_port > 0 and pid <> pg_backend_pid()";
  const lastQueries = async () => (await listening.query(onNew)).rows.map(({ query }) => query);
  await expect.poll(lastQueries).toContainEqual(expect.stringMatching(/^listen /));
});
