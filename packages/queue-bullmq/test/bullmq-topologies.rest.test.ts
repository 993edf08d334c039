import { createRequire } from "node:module";
import type { BullmqInbox } from "@esim-webhooks/queue-bullmq";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { privateFailover, privateRedisCluster, type TestCluster } from "../../../test/servers/index.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { entryOf, openersOn } from "./set-up.ts";

expectWarnings("evicting_store", "invalid_option");

const { opened, openInbox, keepClient } = openersOn(() => "");

const entries = Array.from({ length: 300 }, (_, n) => entryOf(`msg_${n}{${n % 7}}`));

/** Handles events until these ids were handled. Returns how often each was. */
async function handleAll(inbox: BullmqInbox, ids: ReadonlySet<string>) {
  const handled = new Map<string, number>();
  const all = Promise.withResolvers<void>();
  const worker = inbox.createWorker({
    "*": ({ id }) => {
      handled.set(id, (handled.get(id) ?? 0) + 1);
      if (handled.size === ids.size) all.resolve();
    },
  });
  const stopping = new AbortController();
  const running = worker.run({ signal: stopping.signal });
  await all.promise;
  stopping.abort();
  await running;
  return handled;
}

describe("bullmqInbox on a Redis Cluster", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await privateRedisCluster(3);
  });
  afterAll(() => cluster.close());

  const open = (enableAutoPipelining: boolean) =>
    keepClient(
      new Cluster([...cluster.nodes], { enableAutoPipelining, redisOptions: { maxRetriesPerRequest: null } }),
    );

  it.each([false, true])(
    "stores 300 ids once each, with braces in some, and workers handle them, with enableAutoPipelining: %s",
    async (enableAutoPipelining) => {
      for (const { url } of cluster.nodes) await keepClient(new Redis(url)).flushall();
      const inbox = openInbox({
        connection: open(enableAutoPipelining),
        prefix: "{bull}",
        timeoutMs: 60_000,
      });
      const results = await Promise.all([...entries, ...entries].map((entry) => inbox.put([entry])));
      expect(results.flat().filter((result) => result === "stored")).toHaveLength(300);
      expect(results.flat().filter((result) => result === "already_stored")).toHaveLength(300);
      const handled = await handleAll(inbox, new Set(entries.map(({ id }) => id)));
      expect(new Set(handled.values())).toEqual(new Set([1]));
      expect(await inbox.stats()).toMatchObject({ states: { ready: 0, dead: 0 } });
    },
  );

  it("makes workers wait for the Cluster indefinitely, also with a client from another copy of ioredis", async () => {
    for (const { url } of cluster.nodes) await keepClient(new Redis(url)).flushall();
    const require = createRequire(import.meta.url);
    for (const file of Object.keys(require.cache)) if (file.includes("/ioredis/")) delete require.cache[file];
    const other = require("ioredis") as typeof import("ioredis");
    const client = keepClient(new other.Cluster([...cluster.nodes]));
    expect(client).not.toBeInstanceOf(Cluster);
    const inbox = openInbox({ connection: client, prefix: "{bull}" });
    const duplicate = vi.spyOn(client, "duplicate");
    await inbox.put([entryOf("msg_1")]);
    expect(await handleAll(inbox, new Set(["msg_1"]))).toEqual(new Map([["msg_1", 1]]));
    const ofWorker = duplicate.mock.results[0]?.value as Cluster;
    expect(ofWorker.options.redisOptions?.maxRetriesPerRequest).toBeNull();
  });

  it("deletes a dead event by its id, which can then be stored again", async () => {
    const inbox = openInbox({ connection: open(true), prefix: "{bull}" });
    const entry = entryOf("unhandled");
    await inbox.put([entry]);
    const stopping = new AbortController();
    const running = inbox.createWorker({ "esim.faulted": () => {} }).run({ signal: stopping.signal });
    await expect.poll(() => inbox.count({ state: "dead" }), { timeout: 60_000 }).toBe(1);
    stopping.abort();
    await running;
    expect(await inbox.purgeDead({ ids: ["unhandled"] })).toBe(1);
    expect(await inbox.put([entry])).toEqual(["stored"]);
  });

  it("pauses the queue, erases an eSIM's events, and keeps notes", async () => {
    for (const { url } of cluster.nodes) await keepClient(new Redis(url)).flushall();
    const inbox = openInbox({ connection: open(true), prefix: "{bull}", minuteCounts: true });
    await inbox.pause({ reason: "maintenance" });
    await inbox.put([entryOf("a"), entryOf("b")]);
    expect((await inbox.gauges()).counts).toMatchObject({ paused: 2, ready: 0 });
    expect(await inbox.erase("esim a")).toMatchObject({ ready: 1 });
    expect(await inbox.resume()).toMatchObject([{ reason: "maintenance" }]);
    const time = new Date(0);
    const note = { kind: "import", run: "a", source: "default", startedAt: time, endedAt: time } as const;
    await inbox.noteRun({ ...note, outcome: "complete", ledger: { read: 1 } });
    expect(await inbox.runs()).toEqual([{ ...note, outcome: "complete", ledger: { read: 1 } }]);
    await expect.poll(() => inbox.minutes()).toMatchObject([{ stored: 2 }]);
    expect(await handleAll(inbox, new Set(["b"]))).toEqual(new Map([["b", 1]]));
  });

  it("refuses keys without a hash tag, and says how to write the prefix", async () => {
    const inbox = openInbox({ connection: open(true) });
    await expect(inbox.ready()).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringMatching(/bull:events:\*, have no hash tag.*prefix: "\{bull\}"/),
    });
  });

  it("refuses a cluster of which one master may evict keys", async () => {
    for (const { url } of cluster.nodes) {
      const master = keepClient(new Redis(url));
      await master.config("SET", "maxmemory-policy", "allkeys-lru");
      const inbox = openInbox({ connection: open(true), prefix: "{bull}" });
      await expect(inbox.ready()).rejects.toMatchObject({ code: "evicting_store" });
      await master.config("SET", "maxmemory-policy", "noeviction");
      await inbox.ready();
    }
  });

  it("refuses waitAof", async () => {
    const inbox = openInbox({ connection: open(true), prefix: "{bull}", waitAof: true });
    await expect(inbox.ready()).rejects.toMatchObject({ code: "invalid_option", message: /with a Cluster/ });
  });
});

describe("bullmqInbox behind Sentinel", () => {
  it("still knows the ids and has the jobs after the replica was promoted", async () => {
    const failover = await privateFailover();
    opened.push(failover);
    const { replica, options } = failover;
    const client = keepClient(new Redis({ ...options, maxRetriesPerRequest: null }));
    const inbox = openInbox({ connection: client, timeoutMs: 60_000 });
    expect(new Set(await inbox.put(entries))).toEqual(new Set(["stored"]));
    expect(await client.wait(1, 60_000)).toBe(1); // a failover loses what no replica has

    const reconnected = new Promise((resolve) => client.once("ready", resolve));
    await failover.killMaster();
    await reconnected;
    const late = entryOf("afterwards");
    await expect.poll(() => inbox.put([...entries, late]).catch(() => [])).toHaveLength(301);
    const handled = await handleAll(inbox, new Set([...entries, late].map(({ id }) => id)));
    expect(new Set(handled.values())).toEqual(new Set([1]));
    expect(`redis://${client.stream.remoteAddress}:${client.stream.remotePort}`).toBe(replica.url);
  });
});
