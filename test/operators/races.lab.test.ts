import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { createWorker, eraseSubject, type HandlerContext, type WorkerOptions } from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { entry, key } from "../inbox-entry.ts";
import { postgresUrl } from "../servers/shared.ts";
import { loggerWith } from "../support/loggers.ts";
import { latestOnly, type WorkedInbox, writeEffect } from "./engines.ts";
import { createPlace, worked } from "./places.ts";

const erika = "esim_of_erika";

interface Working {
  /** Everything that the worker has logged as a warning or an error. */
  readonly logged: readonly string[];
  stop(): Promise<void>;
}

/** Starts a worker whose handler, for all types, is this. */
function work(
  inbox: WorkedInbox,
  handler: (event: { readonly id: string }, context: HandlerContext) => unknown,
  options: WorkerOptions = {},
): Working {
  const stopping = new AbortController();
  const logged: string[] = [];
  const log = (fields: { readonly err?: unknown; readonly outcome?: unknown }, message = "") =>
    void logged.push(`${message} ${fields.outcome} ${fields.err}`);
  const logger = loggerWith({ warn: log, error: log });
  const running = createWorker(
    inbox,
    { "esim.enabled": handler },
    { pollMs: 20, backoff: () => 0, logger, ...options },
  ).run({
    signal: stopping.signal,
  });
  const stop = () => {
    stopping.abort();
    return running;
  };
  onTestFinished(stop);
  return { logged, stop };
}

const states = async (inbox: WorkedInbox) => (await inbox.stats()).states;

describe.each(worked)("on %s", (engine) => {
  it("a handler that ends around its time limit is done, or is tried again, and never both: its effect happens once", async () => {
    const { inbox, at, effects } = await createPlace(engine);
    const ids = Array.from({ length: 100 }, (_, n) => `msg_${n}`);
    const settles: SettleMessage[] = [];
    const hangs = Promise.withResolvers<void>();
    const unwatch = observe({
      settle(message) {
        if (ids.includes(message.id)) settles.push(message);
        if (message.id === "msg_2") hangs.resolve();
      },
    });
    onTestFinished(unwatch);
    const attempts = new Map<string, number>();
    const timeoutMs = 400;
    const { stop } = work(
      inbox,
      async ({ id }, { tx, signal }) => {
        const attempt = (attempts.get(id) ?? 0) + 1;
        attempts.set(id, attempt);
        await writeEffect(engine, at, tx, id);
        if (attempt > 3) return;
        if (id === "msg_1" && !signal.aborted) await once(signal, "abort");
        if (id === "msg_2")
          await hangs.promise; // certainly abandoned
        else await pause(timeoutMs - 50 + Math.random() * 100);
      },
      { timeoutMs, graceMs: 30, backoff: () => 200, maxAttempts: 1000 },
    );
    await inbox.put(ids.map((id) => entry(id)));
    await expect.poll(async () => (await states(inbox)).done).toBe(ids.length);
    await stop();

    expect(await effects()).toEqual(ids.toSorted());
    for (const id of ids) {
      const own = settles.filter((message) => message.id === id);
      const done = own.filter(({ outcome }) => outcome === "done").length;
      const timedOut = own.filter(({ reason }) => reason === "timed_out").length;
      expect({ id, done, started: done + timedOut }).toEqual({ id, done: 1, started: attempts.get(id) });
      const { history } = (await inbox.get(key(id))) ?? {};
      expect(history?.map(({ reason }) => reason)).toEqual(Array(Math.min(timedOut, 10)).fill("timed_out"));
    }
    for (const id of ["msg_1", "msg_2"]) expect(attempts.get(id)).toBeGreaterThan(1);
  });

  it("an erasure while handlers write with context.tx and latestOnly ends, and leaves nothing: each effect was committed before it, or never", async () => {
    const { inbox, at, everything, effects } = await createPlace(engine);
    let begun = 0;
    const handler = latestOnly(engine, at, async ({ id }, { tx }) => {
      begun += 1;
      await writeEffect(engine, at, tx, id);
      await pause(Math.random() * 5);
    });
    const { logged, stop } = work(inbox, handler as never);
    const other = work(inbox, handler as never);
    for (let round = 0; round < 4; round += 1) {
      const before = begun;
      const esim = `${erika}_${round}`;
      const ids = Array.from({ length: 150 }, (_, n) => `msg_${round}_${n}`);
      await inbox.put(ids.map((id, n) => entry(id, { esim: n % 3 === 0 ? `esim_of_max_${round}` : esim })));
      await expect.poll(() => begun).toBeGreaterThan(before);
      await Promise.all([eraseSubject(inbox, esim), eraseSubject(inbox, esim)]);
      expect(await everything()).not.toContain(esim);
      await expect.poll(() => states(inbox)).toMatchObject({ ready: 0, leased: 0, done: 150 * (round + 1) });
      expect(await everything()).not.toContain(esim);
    }
    await Promise.all([stop(), other.stop()]);
    const written = await effects();
    expect(written).toEqual([...new Set(written)]);
    expect([...logged, ...other.logged].filter((line) => /deadlock/i.test(line))).toEqual([]);
  });

  it("an erasure finds events that a pause holds, or is about to hold, and those of other eSIMs are let go", async () => {
    const { inbox, everything } = await createPlace(engine);
    const options = { type: "esim.balance.updated" } as const;
    await inbox.put(Array.from({ length: 10 }, (_, n) => entry(`held_${n}`, { ...options, esim: erika })));
    await inbox.pause({ types: [options.type], reason: "test" });
    expect((await inbox.gauges()).counts.paused).toBe(10);
    expect((await eraseSubject(inbox, erika)).events).toMatchObject({ ready: 10 });
    expect((await inbox.gauges()).counts).toMatchObject({ paused: 0, ready: 0 });
    await inbox.resume();

    let erased = 10;
    for (let round = 0; round < 10; round += 1) {
      const esim = `${erika}_${round}`;
      const about = (n: number) => (n % 2 === 0 ? esim : `esim_of_max_${round}`);
      await inbox.put(
        Array.from({ length: 400 }, (_, n) => entry(`msg_${round}_${n}`, { ...options, esim: about(n) })),
      );
      const pausing = inbox.pause({ types: [options.type], reason: "test" });
      const erasing = Promise.all([inbox.erase(esim, 50), inbox.erase(esim, 70)]);
      const taking = inbox.take({ limit: 0, leaseMs: 1000 });
      await Promise.all([pausing, erasing, taking, inbox.resume()]);
      await eraseSubject(inbox, esim);
      await inbox.resume(); // the first one may have been before the pause
      erased += 200;
      expect(await everything()).not.toContain(esim);
      expect((await inbox.gauges()).counts).toMatchObject({ paused: 0, ready: 200 });
      expect(await states(inbox)).toMatchObject({ ready: 200, done: erased });
      const taken = await inbox.take({ limit: 400, leaseMs: 60_000 });
      expect(new Set(taken.map(({ id }) => Number(id.split("_")[2]) % 2))).toEqual(new Set([1]));
      expect(taken).toHaveLength(200);
      await inbox.settle(taken.map((lease) => ({ ...lease, state: "done" })));
      erased += 200;
    }
  });
});

it("on postgres, an erasure ends although a handler holds what latestOnly remembers of the eSIM, and then settles its event: no deadlock", async () => {
  const { inbox, at, everything, effects } = await createPlace("postgres");
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  onTestFinished(() => client.end());
  const isWaiting = async () => {
    const { rows } = await client.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and position($1 in query) > 0",
      [at],
    );
    return rows.length > 0;
  };
  const [holds, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onTestFinished(() => go.resolve());
  const handler = latestOnly("postgres", at, async ({ id }, { tx }) => {
    await writeEffect("postgres", at, tx, id);
    if (id === "first") return;
    holds.resolve();
    await go.promise;
  });
  const { logged } = work(inbox, handler as never);
  await inbox.put([entry("first", { esim: erika })]);
  await expect.poll(() => states(inbox)).toMatchObject({ done: 1 });
  await inbox.put([entry("second", { esim: erika })]);
  await holds.promise;
  const erasing = eraseSubject(inbox, erika);
  await expect.poll(isWaiting).toBe(true);
  go.resolve();
  expect((await erasing).events).toMatchObject({ done: 1, leased: 1 });
  await expect.poll(() => logged).toContainEqual(expect.stringMatching(/^webhook event lost/));
  expect(logged.filter((line) => /deadlock/i.test(line))).toEqual([]);
  expect(await effects()).toEqual(["first"]);
  expect(await everything()).not.toContain(erika);
});
