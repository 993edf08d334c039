import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import {
  createWorker,
  type EsimEvents,
  type HandlerContext,
  type Handlers,
  type InboxEntry,
  type Logger,
  type WorkerOptions,
} from "@esim-webhooks/core";
import {
  latestOnly,
  type PostgresInbox,
  type PostgresInboxOptions,
  postgresInbox,
  postgresStore,
} from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { runNode } from "../../../test/run.ts";
import { startPostgres } from "../../../test/servers/index.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { loggerTo } from "../../../test/support/loggers.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { createSchema, type Shop, type TestSchema } from "./schema.ts";

expectWarnings("event_dead", "handler_failed", "invalid_pause");

type ShopHandlers = Handlers<EsimEvents, Transaction<Shop>>;

let shop: TestSchema;
let inbox: PostgresInbox<Shop>;
let ends: (() => Promise<void>)[];

beforeEach(async () => {
  ends = [];
  shop = await createSchema();
  inbox = openInbox();
  await inbox.migrate();
});

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  await shop.drop();
});

/** An inbox in the test's schema, whose connections see the table of orders. */
function openInbox(options: Partial<PostgresInboxOptions<Shop>> = {}, max = 6): PostgresInbox<Shop> {
  const kysely = new Kysely<Shop>({ dialect: new PostgresDialect({ pool: shop.pool(max) }) });
  const opened = postgresInbox<Shop>({
    kysely: kysely.withSchema(shop.schema),
    schema: shop.schema,
    ...options,
  });
  ends.push(() => opened.close());
  return opened;
}

/** Runs a worker until the test ends or `stop` is called. It polls every 20 ms. */
function work(
  handlers: ShopHandlers,
  options: WorkerOptions = {},
  from: PostgresInbox<Shop> = inbox,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = createWorker(from, handlers, { pollMs: 20, shutdownMs: 0, ...options }).run({
    signal: stopping.signal,
  });
  const stop = async () => {
    stopping.abort();
    await running;
  };
  ends.push(stop);
  return { stop };
}

async function put(...entries: readonly InboxEntry[]): Promise<void> {
  expect(await inbox.put(entries)).toEqual(entries.map(() => "stored"));
}

function manyOf(count: number, type: keyof EsimEvents, name = "msg"): InboxEntry[] {
  return Array.from({ length: count }, (_, n) => entry(`${name}_${n}`, { type }));
}

/** Resolves to the event's row once it is in the state. It polls, since nothing reports a change. */
async function untilState(id: string, state: string) {
  await expect.poll(async () => (await inbox.get(key(id)))?.state).toBe(state);
  return inbox.get(key(id));
}

async function untilDone(count: number): Promise<void> {
  await expect.poll(async () => (await inbox.stats()).states.done).toBe(count);
}

function order(tx: Transaction<Shop>, event: string) {
  return tx.insertInto("order").values({ event, esim: "e" }).execute();
}

/** Records log lines by level: of one that says how an event ended, its outcome. */
function timedLog(): Logger & { readonly lines: { level: string; message: string; at: number }[] } {
  const lines: { level: string; message: string; at: number }[] = [];
  const logger = loggerTo((fields, text, level) => {
    const message = text === "webhook event" ? String(fields["outcome"]) : text;
    if (message !== "done" && message !== "unhandled") lines.push({ level, message, at: performance.now() });
  });
  return { lines, ...logger };
}

/** Takes every lease away from its worker, as if the lease had ended. */
async function stealLeases(): Promise<void> {
  await sql`update ${sql.id(shop.schema, "event")}
    set fence = nextval(${`${shop.schema}.fence`}::regclass), leased_until = clock_timestamp() + interval '1 hour'
    where state = 'leased'`.execute(shop.db);
}

/** Ends every lease, as if its time had passed. */
async function endLeases(): Promise<void> {
  await sql`update ${sql.id(shop.schema, "event")} set leased_until = clock_timestamp() where state = 'leased'`.execute(
    shop.db,
  );
}

/** Counts how many calls run at the same time. */
function counter(): { most: number; during<T>(work: () => Promise<T>): Promise<T> } {
  let running = 0;
  const counted = {
    most: 0,
    async during<T>(work: () => Promise<T>) {
      running += 1;
      counted.most = Math.max(counted.most, running);
      try {
        return await work();
      } finally {
        running -= 1;
      }
    },
  };
  return counted;
}

describe("concurrency", () => {
  it("is reached but never exceeded, and every event is worked once", async () => {
    await put(...manyOf(200, "esim.enabled"));
    const running = counter();
    const worked: string[] = [];
    const handler = ({ id }: { id: string }) =>
      running.during(async () => {
        worked.push(id);
        await pause(Math.random() * 10);
      });
    work({ "*": handler }, { concurrency: 7 });
    await untilDone(200);
    expect(running.most).toBe(7);
    expect(new Set(worked).size).toBe(200);
    expect(worked).toHaveLength(200);
  });

  it("is limited for a type with its own limit, while other types use the rest", async () => {
    await put(...manyOf(40, "esim.balance.updated", "balance"), ...manyOf(40, "esim.enabled", "enabled"));
    const [limited, others] = [counter(), counter()];
    const handlers: ShopHandlers = {
      "esim.balance.updated": () => limited.during(() => pause(Math.random() * 10)),
      "*": () => others.during(() => pause(Math.random() * 10)),
    };
    work(handlers, { concurrency: 6, typeLimits: { "esim.balance.updated": 2 } });
    await untilDone(80);
    expect(limited.most).toBe(2);
    expect(others.most).toBeGreaterThanOrEqual(4);
  });

  it("goes to other types while events of a limited type wait, and to the next of those as soon as one ends", async () => {
    await put(...manyOf(5, "esim.balance.updated", "balance"), ...manyOf(5, "esim.enabled", "enabled"));
    const gate = Promise.withResolvers<void>();
    work(
      { "esim.balance.updated": () => gate.promise, "*": () => {} },
      { concurrency: 4, typeLimits: { "esim.balance.updated": 1 }, pollMs: 60_000 },
    );
    await untilDone(5);
    gate.resolve();
    await untilDone(10);
  });

  it("refuses a limit for a type that the catalog does not have", () => {
    const limits = { "esim.balance.update": 1 } as Record<string, number>;
    expect(() => createWorker(inbox, { "*": () => {} }, { typeLimits: limits })).toThrow(
      'typeLimits names "esim.balance.update"',
    );
  });
});

describe("an event whose handler", () => {
  it("asks for a retry is worked again after that time, not before, as the next attempt", async () => {
    const times: number[] = [];
    const attempts: number[] = [];
    const handler = (_: unknown, { attempt, retryLater }: HandlerContext) => {
      times.push(performance.now());
      attempts.push(attempt);
      return times.length === 1 ? retryLater(300) : undefined;
    };
    work({ "*": handler });
    await put(entry("msg_1"));
    const row = await untilState("msg_1", "done");
    expect(attempts).toEqual([1, 2]);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(295);
    expect(row).toMatchObject({ attempts: 2, error: null, body: null });
  });

  it.each([
    ["longer than any calendar", Number.MAX_VALUE],
    ["no time at all", 0],
  ])("asks for a retry in %s keeps no other event from being settled", async (_, ms) => {
    let asked = 0;
    work({
      "esim.faulted": (_, context) => (++asked === 1 ? context.retryLater(ms) : undefined),
      "*": () => {},
    });
    await put(entry("odd", { type: "esim.faulted" }), ...manyOf(20, "esim.enabled"));
    await expect
      .poll(async () => (await inbox.stats()).states.done)
      .toBeGreaterThanOrEqual(ms === 0 ? 21 : 20);
    await untilState("odd", ms === 0 ? "done" : "ready");
  });

  it("throws is worked again after the backoff, and is dead after maxAttempts, with the error in the inbox", async () => {
    const times: number[] = [];
    const asked: number[] = [];
    const backoff = (attempt: number) => {
      asked.push(attempt);
      return 150;
    };
    const logger = timedLog();
    const handler = () => {
      times.push(performance.now());
      throw new RangeError(`no stock, try ${times.length}`);
    };
    work({ "*": handler }, { maxAttempts: 3, backoff, logger });
    await put(entry("msg_1"));
    const row = await untilState("msg_1", "dead");
    expect(row).toMatchObject({
      attempts: 3,
      error: "RangeError: no stock, try 3",
      dueAt: null,
      keptUntil: null,
    });
    expect(row?.body).not.toBeNull();
    expect(asked).toEqual([1, 2]);
    for (const [n, at] of times.slice(1).entries()) expect(at - (times[n] ?? 0)).toBeGreaterThanOrEqual(145);
    const messages = () => logger.lines.map(({ message }) => message);
    await expect.poll(messages).toEqual(["retry", "retry", "dead"]);
  });

  it.each([
    ["undefined", undefined],
    ["an object without a prototype", Object.create(null)],
    ["a symbol", Symbol("broken")],
  ])("throws %s is dead after maxAttempts like any other", async (_, thrown) => {
    const handler = () => {
      throw thrown;
    };
    work({ "*": handler }, { maxAttempts: 1 });
    await put(entry("msg_1"));
    const row = await untilState("msg_1", "dead");
    expect(row?.attempts).toBe(1);
    expect(row?.error).toEqual(expect.any(String));
  });

  it("discards it is done, and the log says so", async () => {
    const logger = timedLog();
    work({ "*": (_, context) => context.discard("not ours") }, { logger });
    await put(entry("msg_1"));
    await untilState("msg_1", "done");
    expect(logger.lines).toMatchObject([{ level: "info", message: expect.stringContaining("discarded") }]);
  });

  it("fails is tried again even if the backoff option throws", async () => {
    let attempts = 0;
    const backoff = () => {
      throw new Error("backoff");
    };
    const handler = () => {
      attempts += 1;
      if (attempts === 1) throw new Error("no stock");
    };
    work({ "*": handler }, { backoff });
    await put(entry("msg_1"));
    await untilState("msg_1", "done");
    expect(attempts).toBeGreaterThanOrEqual(2);
  });

  it("kills its worker is dead after maxAttempts, and the other events are worked", async () => {
    const script = `
      import { createWorker } from "@esim-webhooks/core";
      import { postgresInbox } from "@esim-webhooks/store-postgres";
      const inbox = postgresInbox({ url: process.env.DATABASE_URL, schema: process.env.SCHEMA });
      const handlers = { "esim.faulted": () => process.kill(process.pid, "SIGKILL"), "*": () => {} };
      const options = { leaseMs: 3_600_000, pollMs: 20, maxAttempts: 3, concurrency: 1 };
      await createWorker(inbox, handlers, options).run({ signal: new AbortController().signal });`;
    const environment = { DATABASE_URL: postgresUrl, SCHEMA: shop.schema };
    await put(entry("poison", { type: "esim.faulted" }));
    for (let run = 1; run <= 3; run++) {
      const { child, ended } = runNode(["--input-type=module", "--eval", script], environment);
      await ended;
      expect(child.signalCode).toBe("SIGKILL");
      expect(await inbox.get(key("poison"))).toMatchObject({ state: "leased", attempts: run });
      await endLeases();
    }
    await put(...manyOf(3, "esim.enabled")); // put now, so that the kill cannot hit between their handler and their settlement
    work({ "*": () => {} }, { maxAttempts: 3 });
    const row = await untilState("poison", "dead");
    expect(row?.error).toMatch(/^It was tried as often as this worker allows \(maxAttempts: 3\)/);
    await untilDone(3);
  });
});

describe("an event that no handler gets", () => {
  it("is dead with the schema's issues when it is invalid, and is worked once an operator redrives it", async () => {
    const body = Buffer.from(
      JSON.stringify({ type: "esim.faulted", timestamp: new Date().toISOString(), data: { reason: 7 } }),
    );
    const first = work({ "*": () => {} });
    await put({ ...entry("msg_1"), type: "esim.faulted", event: null, body });
    const dead = await untilState("msg_1", "dead");
    expect(dead?.error).toMatch(/^invalid: .*data\.profileReference: .*data\.reason: /);
    expect(Buffer.from(dead?.body ?? [])).toEqual(body);
    await first.stop();

    const { defineCatalog } = await import("@esim-webhooks/core");
    const { z } = await import("zod");
    const catalog = defineCatalog({ "esim.faulted": z.object({ reason: z.number() }) }); // corrected
    const reasons: unknown[] = [];
    const stopping = new AbortController();
    const running = createWorker(
      inbox,
      { "esim.faulted": ({ data }) => void reasons.push(data.reason) },
      { catalog, pollMs: 60_000 },
    ).run({ signal: stopping.signal });
    expect(await inbox.redrive({ ids: ["msg_1"] })).toBe(1);
    const done = await untilState("msg_1", "done");
    stopping.abort();
    await running;
    expect(reasons).toEqual([7]);
    expect(done?.attempts).toBe(2);
  });

  it("is dead when its body is not JSON", async () => {
    work({ "*": () => {} });
    await put({ ...entry("msg_1"), type: null, event: null, body: new Uint8Array([0, 255]) });
    expect((await untilState("msg_1", "dead"))?.error).toBe("invalid: the body is not UTF-8");
  });

  it("is kept with its body, and a warning is logged, until there is a handler for its type, known or unknown", async () => {
    const logger = timedLog();
    const first = work({ "esim.enabled": () => {} }, { logger });
    const body = Buffer.from('{"type":"esim.unheard_of","timestamp":"2026-11-20T09:30:00Z","data":{}}');
    await put({ ...entry("unknown"), type: "esim.unheard_of", event: null, body });
    await put(entry("known", { type: "esim.faulted" }));
    for (const id of ["unknown", "known"]) await untilState(id, "unhandled");
    expect(logger.lines.map(({ level }) => level)).toEqual(["warn", "warn"]);
    expect(Buffer.from((await inbox.get(key("unknown")))?.body ?? [])).toEqual(body);
    await first.stop();

    const worked: string[] = [];
    const upgraded = timedLog();
    work({ "esim.faulted": ({ id }) => void worked.push(id) }, { logger: upgraded });
    await expect.poll(() => upgraded.lines.map(({ level }) => level)).toEqual(["info"]);
    expect(await inbox.redrive({ state: "unhandled", types: ["esim.faulted"] })).toBe(1);
    expect((await untilState("known", "done"))?.attempts).toBe(1);
    expect(worked).toEqual(["known"]);
  });
});

describe("run({ signal }) on abort", () => {
  it("takes no more events, waits for the running handlers, and resolves once their events are settled", async () => {
    await put(...manyOf(10, "esim.enabled"));
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    let count = 0;
    const handler = () => {
      count += 1;
      if (count === 2) started.resolve();
      return finish.promise;
    };
    const worker = work({ "*": handler }, { concurrency: 2, shutdownMs: 20_000 });
    await started.promise;
    const stopped = worker.stop();
    finish.resolve();
    await stopped;
    expect((await inbox.stats()).states).toEqual({ ready: 8, leased: 0, done: 2, unhandled: 0, dead: 0 });
    expect(count).toBe(2);
  });

  it("returns events that do not end within shutdownMs without counting a try, aborts their signal, and ignores their results", async () => {
    await put(entry("slow"), entry("quick", { type: "esim.faulted" }));
    const started = Promise.withResolvers<AbortSignal>();
    const finish = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const handlers: ShopHandlers = {
      "esim.enabled": async ({ id }, { signal, tx }) => {
        started.resolve(signal);
        await finish.promise;
        await order(tx, id);
        ended.resolve();
      },
      "esim.faulted": () => {},
    };
    const worker = work(handlers, { shutdownMs: 100 });
    const signal = await started.promise;
    await untilState("quick", "done");
    expect(signal.aborted).toBe(false);
    await worker.stop();
    expect(signal.aborted).toBe(true);
    expect(await inbox.get(key("slow"))).toMatchObject({
      state: "ready",
      attempts: 1,
      tries: 0,
      error: null,
    });
    const next = await inbox.take({ limit: 1, leaseMs: 60_000 });
    expect(next).toMatchObject([{ id: "slow", attempt: 2, tries: 1 }]);
    finish.resolve();
    await ended.promise;
    await expect.poll(() => openTransactions()).toBe(0);
    expect(await shop.orders()).toEqual([]);
    expect((await inbox.get(key("slow")))?.state).toBe("leased");
  });

  it("resolves immediately when there is no work, even with a long poll interval", async () => {
    const worker = work({ "*": () => {} }, { pollMs: 60_000 });
    await put(entry("msg_1"));
    await untilState("msg_1", "done");
    await worker.stop();
  });

  it("takes nothing when the signal is already aborted", async () => {
    await put(entry("msg_1"));
    const worker = createWorker(inbox, { "*": () => {} });
    await worker.run({ signal: AbortSignal.abort() });
    expect((await inbox.get(key("msg_1")))?.attempts).toBe(0);
  });
});

/** How many of the test's connections are in a transaction. */
async function openTransactions(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
    where application_name = ${shop.schema} and state like 'idle in transaction%'`.execute(shop.db);
  return rows[0]?.count ?? 0;
}

describe("a lost lease", () => {
  it("aborts the handler's signal, and its result is discarded", async () => {
    const logger = timedLog();
    const started = Promise.withResolvers<AbortSignal>();
    const handler = async (_: unknown, { signal }: { signal: AbortSignal }) => {
      started.resolve(signal);
      await once(signal, "abort");
    };
    work({ "*": handler }, { leaseMs: 12_000, logger });
    await put(entry("msg_1"));
    const signal = await started.promise;
    await stealLeases();
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.reason).toMatchObject({ name: "AbortError" });
    await expect.poll(() => logger.lines.map(({ message }) => message)).toHaveLength(1);
    expect(logger.lines[0]?.message).toBe("lost");
    expect((await inbox.get(key("msg_1")))?.state).toBe("leased");
  });

  it("rolls back context.tx, and discards the result even before the worker has noticed the loss", async () => {
    const logger = timedLog();
    const handler = async ({ id }: { id: string }, { tx }: { tx: Transaction<Shop> }) => {
      if (id === "effect") await order(tx, id);
      await stealLeases();
    };
    work({ "*": handler }, { logger, concurrency: 1 });
    await put(entry("effect"));
    await expect.poll(() => logger.lines.length).toBe(1);
    await put(entry("plain"));
    await expect.poll(() => logger.lines.length).toBe(2);
    expect(logger.lines.map(({ message }) => message)).toEqual(["lost", "lost"]);
    expect((await inbox.stats()).states).toEqual({ ready: 0, leased: 2, done: 0, unhandled: 0, dead: 0 });
    expect(await shop.orders()).toEqual([]);
  });

  it("does no harm to an event that another worker finishes: it has one effect and is done once", async () => {
    const logger = timedLog();
    const first = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const handlers: ShopHandlers = {
      "*": async ({ id }, { tx, attempt }) => {
        await order(tx, `${id} ${attempt}`);
        if (attempt > 1) return;
        first.resolve();
        await finish.promise;
      },
    };
    // with one slot, the first worker takes nothing more, so it cannot take its own event again
    work(handlers, { leaseMs: 60_000, logger, concurrency: 1 }, openInbox());
    ends.push(async () => finish.resolve()); // a transaction that stays open would keep the pool from closing
    await put(entry("msg_1"));
    await first.promise;
    await endLeases();
    work(handlers);
    await untilState("msg_1", "done");
    finish.resolve();
    await expect.poll(() => logger.lines.length).toBe(1);
    expect(await shop.orders()).toEqual(["msg_1 2"]);
  });

  it("does not happen while a handler runs for many times the lease", async () => {
    const signals: AbortSignal[] = [];
    const handler = async (_: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      await pause(13_000);
    };
    // renewed every two seconds, so a machine that stalls for four seconds loses no lease
    work({ "*": handler }, { leaseMs: 6000 });
    work({ "*": handler }, { leaseMs: 6000 }, openInbox());
    await put(...manyOf(5, "esim.enabled"));
    await untilDone(5);
    expect(signals.map(({ aborted }) => aborted)).toEqual(Array(5).fill(false));
  });
});

describe("context.tx", () => {
  it("commits the handler's writes together with the settlement, and a failed handler leaves none", async () => {
    const seen: (string | undefined)[] = [];
    const handlers: ShopHandlers = {
      "*": async ({ id }, context) => {
        await order(context.tx, `${id} ${seen.length + 1}`);
        seen.push((await inbox.get(key(id)))?.state);
        if (seen.length === 1) throw new Error("no stock");
        if (seen.length === 2) return context.retryLater(0);
        return undefined;
      },
    };
    work(handlers, { backoff: () => 0 });
    await put(entry("msg_1"));
    await untilState("msg_1", "done");
    expect(await shop.orders()).toEqual(["msg_1 3"]);
    expect(seen).toEqual(["leased", "leased", "leased"]);
  });

  it("is rolled back at the time limit of a handler that hangs, and the event is handled again once that has ended", async () => {
    const hangs = Promise.withResolvers<void>();
    const hanging: ShopHandlers = {
      "*": async ({ id }, { tx, attempt }) => {
        await order(tx, `${id} ${attempt}`);
        await hangs.promise;
      },
    };
    const limits = { timeoutMs: 1500, graceMs: 50, leaseMs: 3000, backoff: () => 0 };
    work(hanging, limits);
    await put(entry("msg_1"));
    await expect
      .poll(async () => (await inbox.get(key("msg_1")))?.error)
      .toMatch(/TimeoutError|ran too long/);
    expect(await shop.orders()).toEqual([]);
    hangs.resolve();
    await untilState("msg_1", "done");
    // not the first attempt, which hung; a machine that stalls may need more than two
    expect(await shop.orders()).toEqual([expect.stringMatching(/^msg_1 (?!1$)/)]);
  });

  it("is rolled back when the worker's connection is cut between the write and the settlement, and the event is worked again", async () => {
    const handlers: ShopHandlers = {
      "*": async ({ id }, { tx, attempt }) => {
        await order(tx, `${id} ${attempt}`);
        if (attempt > 1) return;
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
        await sql`select pg_terminate_backend(${rows[0]?.pid}, 5000)`.execute(shop.db);
      },
    };
    const cut = shop.pool(3);
    cut.on("error", () => {});
    cut.on("connect", (client) => client.on("error", () => {}));
    const kysely = new Kysely<Shop>({ dialect: new PostgresDialect({ pool: cut }) });
    work(handlers, { backoff: () => 0 }, openInbox({ kysely: kysely.withSchema(shop.schema) }));
    await put(entry("msg_1"));
    await untilState("msg_1", "done");
    expect(await shop.orders()).toEqual(["msg_1 2"]);
  });
});

describe("a worker whose database goes away", () => {
  it("recovers by itself when it is back, logs at most one line a second, and loses nothing", async () => {
    const server = await startPostgres();
    try {
      const logger = timedLog();
      const own = postgresInbox<Shop>({ url: server.url, timeoutMs: 5000 });
      await own.migrate();
      const begun = new Map<string, number>();
      const finish = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      const stopping = new AbortController();
      const running = createWorker(
        own,
        {
          "*": async ({ id }) => {
            begun.set(id, (begun.get(id) ?? 0) + 1);
            if (begun.size === 10) started.resolve();
            await finish.promise;
          },
        },
        { concurrency: 10, pollMs: 20, leaseMs: 60_000, logger },
      ).run({ signal: stopping.signal });
      await own.put(manyOf(40, "esim.enabled"));
      await started.promise;
      await server.kill();
      finish.resolve(); // ten handlers end while the database is down
      const awayFrom = performance.now();
      await expect.poll(() => logger.lines.length).toBeGreaterThanOrEqual(2);
      await server.start();
      const doneBy = async () => (await own.stats().catch(() => undefined))?.states.done;
      await expect.poll(doneBy, { timeout: 120_000 }).toBe(40);
      const seconds = Math.ceil((performance.now() - awayFrom) / 1000);
      for (const message of new Set(logger.lines.map((line) => line.message))) {
        const times = logger.lines.filter((line) => line.message === message);
        expect([message, times.length <= seconds + 1]).toEqual([message, true]);
      }
      expect([...begun.values()]).toEqual(Array(40).fill(1));
      stopping.abort();
      await running;
      await own.close();
    } finally {
      await server.close();
    }
  });
});

describe("an event that is put in the worker's process", () => {
  it("is worked immediately, without waiting for the next poll", async () => {
    const worked: string[] = [];
    work({ "*": ({ id }) => void worked.push(id) }, { pollMs: 60_000 });
    await put(entry("first"));
    await untilState("first", "done");
    for (let n = 0; n < 20; n++) {
      await put(entry(`msg_${n}`));
      await untilState(`msg_${n}`, "done");
    }
    expect(worked).toHaveLength(21);
  });
});

it("an inbox reports of which sources it holds ids, as its store does", async () => {
  const store = postgresStore({ pool: shop.pool(2), schema: shop.schema });
  expect(await inbox.sources?.()).toEqual([]);
  await put(entry("msg_1"));
  await store.claim({ source: "prod", id: "msg_3" }, 1000);
  expect(await inbox.sources?.()).toEqual(["default", "prod"]);
  expect(await store.sources?.()).toEqual(["default", "prod"]);
});

describe("workers that share an inbox", () => {
  it("are not blocked by a row that a frozen worker keeps locked past its lease", async () => {
    await put(entry("frozen"));
    await inbox.take({ limit: 1, leaseMs: 60_000 });
    await sql`update ${sql.id(shop.schema, "event")} set leased_until = clock_timestamp()`.execute(shop.db);
    const frozen = await shop.pool(1).connect(); // a worker that froze before its commit
    await frozen.query("begin");
    await frozen.query(`select from ${shop.schema}.event where id = 'frozen' for update`);
    work({ "*": () => {} }, {}, openInbox({ timeoutMs: 10_000 }));
    await put(...manyOf(10, "esim.enabled"));
    await untilDone(10);
    await frozen.query("rollback");
    frozen.release();
    await untilDone(11);
  });

  it("take what is due without waiting while another one is taking from the lane of a new event", async () => {
    const ordered = openInbox({ lane: ({ data }) => (data as { esimReference: string }).esimReference });
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
    await ordered.put([entry("a_2", { esim: "a", timestamp: at(2) })]);
    const other = await shop.pool(1).connect(); // a worker that has taken it, but not committed
    await other.query("begin");
    await other.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`"${shop.schema}" lane a`]);
    await other.query(
      `update ${shop.schema}.event set state = 'leased', leased_until = 'infinity' where id = 'a_2'`,
    );
    await ordered.put([entry("a_1", { esim: "a", timestamp: at(1) }), entry("b_1", { esim: "b" })]);
    const taken = await ordered.take({ limit: 10, leaseMs: 60_000 });
    expect(taken.map(({ id }) => id)).toEqual(["b_1"]);
    await other.query("commit");
    other.release();
    expect(await ordered.take({ limit: 10, leaseMs: 60_000 })).toEqual([]);
  });
});

describe("latestOnly", () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const lifecycle = (id: string, second: number, esim = "e1") =>
    entry(id, { type: "esim.lifecycle.activated", timestamp: at(second), esim });

  function latest(run: (id: string) => void = () => {}): ShopHandlers {
    const handler = async ({ id }: { id: string }, { tx }: { tx: Transaction<Shop> }) => {
      await order(tx, id);
      run(id);
    };
    const of = (state: string) => latestOnly({ state, schema: shop.schema }, handler as never) as never;
    return { "esim.lifecycle.*": of("lifecycle"), "esim.enabled": of("profile"), "package.*": of("package") };
  }

  /** Puts an event and waits until it is done. */
  async function worked(given: InboxEntry): Promise<void> {
    await put(given);
    await untilState(given.id, "done");
  }

  it("skips only an event that is older than the newest worked one of its eSIM and state", async () => {
    work(latest());
    await worked(lifecycle("e1 at 5", 5));
    await worked(lifecycle("e1 at 3", 3));
    await worked(lifecycle("e2 at 3", 3, "e2"));
    await worked(entry("e1 enabled at 3", { type: "esim.enabled", timestamp: at(3), esim: "e1" }));
    await worked(lifecycle("e1 at 5 too", 5));
    await worked(lifecycle("e1 at 7", 7));
    expect(await shop.orders()).toEqual(
      ["e1 at 5", "e2 at 3", "e1 enabled at 3", "e1 at 5 too", "e1 at 7"].sort(),
    );
  });

  it("skips no event without an esimReference: no state is known that it is about", async () => {
    const ended = (id: string, second: number) =>
      entry(id, { type: "package.ended", timestamp: at(second), data: { esimReference: undefined } });
    work(latest());
    await worked(ended("one", 5));
    await worked(ended("another", 3));
    expect(await shop.orders()).toEqual(["another", "one"]);
  });

  it("lets the newest of many concurrent events win, in any order", async () => {
    await put(...[4, 1, 9, 3, 8, 2, 7, 5, 6, 0].map((second) => lifecycle(`at ${second}`, second)));
    const state: string[] = [];
    const handler = async ({ id }: { id: string }, { tx }: { tx: Transaction<Shop> }) => {
      await pause(Math.random() * 10);
      await order(tx, id);
      state.push(id);
    };
    const kept = latestOnly({ state: "lifecycle", schema: shop.schema }, handler as never) as never;
    work({ "esim.lifecycle.*": kept }, { concurrency: 10 }, openInbox({}, 15));
    await untilDone(10);
    expect(state.at(-1)).toBe("at 9");
    expect(state).toEqual([...state].sort());
    expect(await shop.orders()).toEqual([...state].sort());
  });

  it("does not count a failed event: an older one that arrives meanwhile is still worked", async () => {
    let fails = true;
    const handlers = latest((id) => {
      if (id === "at 5" && fails) throw new Error("no stock");
    });
    work(handlers, { maxAttempts: 1 });
    await put(lifecycle("at 5", 5));
    await untilState("at 5", "dead");
    await worked(lifecycle("at 3", 3));
    expect(await shop.orders()).toEqual(["at 3"]);
    fails = false;
    await inbox.redrive();
    await untilState("at 5", "done");
    await worked(lifecycle("at 4", 4));
    expect(await shop.orders()).toEqual(["at 3", "at 5"]);
  });
});
