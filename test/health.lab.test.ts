import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  type Worker as CoreWorker,
  createReceiver,
  createWorker,
  type EsimEvents,
  type Handlers,
  type Inbox,
  type InboxAdmin,
  type InboxWriter,
} from "@esim-webhooks/core";
import { type HealthHandler, livenessHandler, readinessHandler } from "@esim-webhooks/core/health";
import { newSecret } from "@esim-webhooks/core/testing";
import { bullmqInbox, bullmqProcessor, pauseWhileStuck } from "@esim-webhooks/queue-bullmq";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { redisStore } from "@esim-webhooks/store-redis";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { Queue, Worker } from "bullmq";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { closedAfterEach } from "./closed-after-each.ts";
import { entry } from "./inbox-entry.ts";
import { startPostgres, startRedis } from "./servers/index.ts";
import { postgresUrl, redisUrl } from "./servers/shared.ts";

const opened = closedAfterEach();
const secret = newSecret();
const schemaName = () => `health_${randomUUID().replaceAll("-", "").slice(0, 12)}`;

function keep<Each extends { close(): unknown }>(each: Each): Each {
  opened.push(each);
  return each;
}

function sqlitePath(): string {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-health-"));
  keep({ close: () => rmSync(folder, { recursive: true }) });
  return join(folder, "events.db");
}

const checked = (handler: HealthHandler) => () => handler.check();

/** The code of the check. */
const codeOf = (handler: HealthHandler, name: string) => async () =>
  (await handler.check()).checks.find((check) => check.name === name)?.code;

describe("readiness", () => {
  it("is lost while Postgres hangs or is down, for every one of many probes, and comes back with it", async () => {
    const server = keep(await startPostgres());
    const inbox = keep(postgresInbox({ url: server.url }));
    await inbox.migrate();
    const ready = readinessHandler({ receiver: createReceiver(inbox, { secret }), inbox });
    await expect.poll(checked(ready)).toMatchObject({ ok: true });

    await server.pause();
    await expect.poll(checked(ready)).toMatchObject({ ok: false });
    const probes = await Promise.all(Array.from({ length: 100 }, () => ready.check()));
    for (const { checks } of probes)
      expect(checks).toMatchObject([{ ok: true }, { code: "store_unavailable" }]);
    await server.resume();
    await expect.poll(checked(ready)).toMatchObject({ ok: true });

    await server.stop();
    await expect.poll(codeOf(ready, "inbox")).toBe("store_unavailable");
    await server.start();
    await expect.poll(checked(ready)).toMatchObject({ ok: true });
  });

  it("is lost while Redis hangs, for a dedupe store and for an inbox on BullMQ, and comes back with it", async () => {
    const server = keep(await startRedis());
    const store = keep(redisStore(server.url));
    const inbox = keep(bullmqInbox({ connection: server.url }));
    const ready = readinessHandler({ inbox, store });
    await expect.poll(checked(ready)).toMatchObject({ ok: true });
    await server.pause();
    await expect
      .poll(async () => (await ready.check()).checks.map(({ code }) => code))
      .toEqual(["store_unavailable", "store_unavailable"]);
    await server.resume();
    await expect.poll(checked(ready)).toMatchObject({ ok: true });
  });

  it("is lost while another program keeps the file of SQLite locked, and comes back afterwards", async () => {
    const path = sqlitePath();
    const inbox = keep(sqliteInbox({ path }));
    const store = keep(sqliteStore({ path }));
    const ready = readinessHandler({ inbox, store });
    await expect.poll(checked(ready)).toMatchObject({ ok: true });
    const other = keep(new DatabaseSync(path));
    other.exec("begin immediate");
    await expect
      .poll(async () => (await ready.check()).checks.map(({ code }) => code))
      .toEqual(["store_unavailable", "store_unavailable"]);
    other.exec("rollback");
    await expect.poll(checked(ready)).toMatchObject({ ok: true });
  });

  it("is lost while the tables are not there or of another version, also after they were", async () => {
    const schema = schemaName();
    const client = new pg.Client(postgresUrl);
    await client.connect();
    keep({ close: () => client.end() });
    const store = keep(postgresStore({ url: postgresUrl, schema }));
    const ready = readinessHandler({ store });
    await expect.poll(codeOf(ready, "store")).toBe("migration_missing");
    await store.migrate();
    await expect.poll(checked(ready)).toMatchObject({ ok: true });
    await client.query(`alter schema ${schema} rename to ${schema}_moved`);
    await expect.poll(codeOf(ready, "store")).toBe("migration_missing");
    await client.query(`alter schema ${schema}_moved rename to ${schema}`);
    await expect.poll(checked(ready)).toMatchObject({ ok: true });
  });
});

type Watched = Pick<CoreWorker, "sinceLastTakeMs" | "isHealthy">;

/** A worker that lives, and takes nothing. */
const idle: Watched = { sinceLastTakeMs: () => null, isHealthy: () => true };

/** With a bound of 1 ms for the worker, and one for the event loop that no test reaches. */
function liveness(worker: Watched, inbox: Pick<InboxAdmin, "gauges">) {
  return keep(livenessHandler({ worker, inbox, takeWithinMs: 1, stallMs: 600_000, timeoutMs: 60_000 }));
}

describe("liveness", () => {
  const inboxes: [string, () => Inbox][] = [
    ["SQLite", () => sqliteInbox({ path: sqlitePath() })],
    ["Postgres", () => postgresInbox({ url: postgresUrl, schema: schemaName() })],
  ];

  it.each(inboxes)(
    "on %s is lost when a worker takes nothing although an event is due, and not for events of a paused type",
    async (_, open) => {
      const inbox = keep(open());
      await inbox.migrate?.();
      const live = liveness(idle, inbox);
      await inbox.put([entry("due", { type: "esim.enabled" })]);
      await expect.poll(codeOf(live, "worker")).toBe("worker_stuck");

      await inbox.pause({ types: ["esim.enabled"], reason: "the CRM is down" });
      await inbox.take({ limit: 1, leaseMs: 30_000 }); // any worker notices the pause
      await expect.poll(checked(live)).toMatchObject({ ok: true });
      expect((await inbox.gauges()).counts).toMatchObject({ paused: 1, ready: 0 });

      await inbox.resume();
      await expect.poll(codeOf(live, "worker")).toBe("worker_stuck");
      await inbox.pause({ reason: "maintenance" }); // of all types
      await expect.poll(checked(live)).toMatchObject({ ok: true });
    },
  );

  it("is kept by a worker whose Postgres hangs: a restart does not help", async () => {
    const server = keep(await startPostgres());
    const inbox = keep(postgresInbox({ url: server.url }));
    await inbox.migrate();
    await inbox.put([entry("due")]);
    const live = keep(
      livenessHandler({ worker: idle, inbox, takeWithinMs: 1, stallMs: 600_000, timeoutMs: 100 }),
    );
    await expect.poll(codeOf(live, "worker")).toBe("worker_stuck");
    await server.pause();
    await expect.poll(checked(live)).toMatchObject({ ok: true });
    expect(await live.check()).toMatchObject({ ok: true });
    await server.resume();
    await expect.poll(codeOf(live, "worker")).toBe("worker_stuck");
  });

  it("is kept by a worker that finds an idle inbox, and lost while its handlers have hung", async () => {
    const inbox = keep(sqliteInbox({ path: sqlitePath() }));
    const hangs = Promise.withResolvers<void>();
    const handlers: Handlers<EsimEvents> = { "*": () => hangs.promise };
    const worker = createWorker(inbox, handlers, { concurrency: 1, pollMs: 5 });
    const live = keep(livenessHandler({ worker, inbox, takeWithinMs: 500, stallMs: 600_000 }));
    const stop = new AbortController();
    const running = worker.run({ signal: stop.signal });
    await expect.poll(() => worker.sinceLastTakeMs()).not.toBeNull();
    expect(await live.check()).toMatchObject({ ok: true });
    await inbox.put([entry("hangs"), entry("due")]);
    await expect.poll(codeOf(live, "worker")).toBe("worker_stuck");
    hangs.resolve();
    await expect.poll(checked(live)).toMatchObject({ ok: true });
    stop.abort();
    await running;
  });

  it("of a BullMQ fleet with bullmqProcessor is lost when its worker takes nothing, and when abandoned handlers fill its slots, and kept in a pause", async () => {
    const name = `health-${randomUUID()}`;
    const hangs = Promise.withResolvers<void>();
    const inbox: InboxWriter & InboxAdmin = keep(bullmqInbox({ connection: redisUrl, name }));
    const queue = keep(new Queue(name, { connection: { url: redisUrl } }));
    keep({ close: () => queue.obliterate({ force: true }) });
    const processor = bullmqProcessor<EsimEvents>({ "*": () => hangs.promise }, { timeoutMs: 5, graceMs: 0 });
    const connection = { url: redisUrl, maxRetriesPerRequest: null };
    const worker = new Worker(name, processor, { connection, concurrency: 1, autorun: false });
    keep({ close: () => worker.close(true) });
    keep({ close: pauseWhileStuck(worker, processor) });
    const watched = {
      sinceLastTakeMs: processor.sinceLastTakeMs,
      isHealthy: () => processor.abandoned() < worker.concurrency,
    };
    const live = liveness(watched, inbox);
    await inbox.put([entry("due")]);
    await expect.poll(codeOf(live, "worker")).toBe("worker_stuck");
    await inbox.pause({ reason: "maintenance" });
    await expect.poll(checked(live)).toMatchObject({ ok: true });
    await inbox.resume({});

    const patient = keep(livenessHandler({ worker: watched, inbox, stallMs: 600_000 }));
    expect(await patient.check()).toMatchObject({ ok: true });
    void worker.run();
    await expect.poll(codeOf(patient, "worker")).toBe("handlers_abandoned");
    hangs.resolve();
    await expect.poll(checked(patient)).toMatchObject({ ok: true });
  });
});
