import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import { crc32 } from "node:zlib";
import { createProcessor, type DedupeStore, type Logger, WebhookError } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { redisState, redisStore } from "@esim-webhooks/store-redis";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { closedAfterEach } from "../../../test/closed-after-each.ts";
import { breakSnapshots } from "../../../test/servers/break-snapshots.ts";
import { privateRedis, privateReplica, startProxy } from "../../../test/servers/index.ts";
import { freePort } from "../../../test/servers/kept-server.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { loggerTo, loggerWith } from "../../../test/support/loggers.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";

expectWarnings(
  "evicting_store",
  "eviction_unknown",
  "invalid_option",
  "missing_replicas",
  "missing_rights",
  "read_only_store",
  "store_full",
  /\[ioredis\] Unhandled error event/,
);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const redis = redisOfFile("--repl-diskless-sync", "no");
beforeEach(() => redis.admin.config("SET", "maxmemory-policy", "noeviction"));

const opened = closedAfterEach();

function open(...args: Parameters<typeof redisStore>): DedupeStore {
  const store = redisStore(...args);
  opened.push(store);
  return store;
}

function keep<Client extends Pick<Redis, "disconnect">>(client: Client): Client {
  opened.push({ close: () => client.disconnect() });
  return client;
}

function key(id: string = randomUUID()) {
  return { source: "default", id };
}

async function claimed(store: DedupeStore, of = key()): Promise<string> {
  const claim = await store.claim(of, hourMs);
  if (claim.status !== "claimed") throw new Error(`expected a claim, got ${claim.status}`);
  return claim.token;
}

async function refusal(operation: unknown): Promise<WebhookError> {
  const error = await Promise.resolve(operation).then(
    (answer) => answer,
    (reason: unknown) => reason,
  );
  if (WebhookError.is(error)) return error as WebhookError;
  throw new Error(`expected a WebhookError, got ${JSON.stringify(error) ?? error}`);
}

/** A logger, and the codes that it has logged. */
function codeLogger(): { logger: Logger; codes: unknown[] } {
  const codes: unknown[] = [];
  const log: Logger["error"] = ({ code }) => codes.push(code);
  return { codes, logger: loggerWith({ warn: log, error: log }) };
}

/** The commands that clients send to the server while `use` runs, without the calls of scripts. */
async function commandsDuring(use: () => Promise<void>): Promise<string[]> {
  const monitor = await redis.admin.monitor();
  const end = randomUUID();
  const commands: string[] = [];
  const seen = new Promise<void>((resolve) => {
    monitor.on("monitor", (_time: string, [name = "", ...args]: string[], from: string) => {
      if (args[0] === end) resolve();
      else if (from !== "lua") commands.push(name.toLowerCase());
    });
  });
  await use();
  await redis.admin.echo(end);
  await seen;
  monitor.disconnect();
  return commands;
}

describe("redisStore on a server that may evict keys", () => {
  it("rejects every operation with evicting_store, says what to do, and emits a process warning", async () => {
    const warning = once(process, "warning") as Promise<[Error & { code?: string }]>;
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const store = open(redis.server.url);
    for (const operation of [
      () => store.ready?.(),
      () => store.claim(key(), hourMs),
      () => store.extend(key(), "token", hourMs),
      () => store.complete(key(), "token"),
      () => store.release(key(), "token"),
    ]) {
      const { code, message } = await refusal(operation());
      expect(code).toBe("evicting_store");
      expect(message).toMatch(
        /policy is allkeys-lru.*Set maxmemory-policy to noeviction.*allowEviction: true/,
      );
    }
    expect(await redis.admin.dbsize()).toBe(0);
    const [{ name, code, message }] = await warning;
    expect({ name, code }).toEqual({ name: "EsimWebhooksWarning", code: "evicting_store" });
    expect(message).toContain("Set maxmemory-policy to noeviction");
  });

  it("rejects volatile policies too, since every key has a time to live", async () => {
    await redis.admin.config("SET", "maxmemory-policy", "volatile-ttl");
    expect((await refusal(open(redis.server.url).ready?.())).code).toBe("evicting_store");
  });

  it("rejects it also through a client whose replyMapping is resp3", async () => {
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const store = open(keep(new Redis(redis.server.url, { replyMapping: "resp3" })));
    expect((await refusal(store.ready?.())).code).toBe("evicting_store");
  });

  it("accepts it with allowEviction, and does not state that what it has answered survives", async () => {
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const store = open(redis.server.url, { allowEviction: true });
    await store.ready?.();
    await claimed(store);
    expect(store.capabilities.durable).toBe(false);
    expect(open(redis.server.url).capabilities.durable).toBe(true);
  });

  it("recovers without a restart once the policy is noeviction", async () => {
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const { logger, codes } = codeLogger();
    const store = open(redis.server.url, { logger });
    await refusal(store.claim(key(), hourMs));
    await refusal(store.claim(key(), hourMs));
    expect(codes).toEqual(["evicting_store"]);
    await redis.admin.config("SET", "maxmemory-policy", "noeviction");
    await claimed(store);
    await store.ready?.();
  });

  it("warns and works when the user has no permission for CONFIG", async () => {
    await redis.admin.acl("SETUSER", "app", "on", ">secret", "~*", "+@all", "-config");
    const { logger, codes } = codeLogger();
    const store = open(keep(new Redis(redis.server.url, { username: "app", password: "secret" })), {
      logger,
    });
    const id = key();
    expect(await store.complete(id, await claimed(store, id))).toBe(true);
    expect(codes).toEqual(["eviction_unknown"]);
  });

  it("warns and works when the server has no CONFIG", async () => {
    const managed = await privateRedis("--rename-command", "CONFIG", "");
    opened.push(managed);
    const { logger, codes } = codeLogger();
    const store = open(keep(new Redis(managed.url)), { logger });
    await claimed(store);
    expect(codes).toEqual(["eviction_unknown"]);
  });
});

describe("redisStore on a server that answers CONFIG with an error", () => {
  it("warns and works, as it does behind a proxy", async () => {
    const odd = await privateRedis("--rename-command", "CONFIG", "", "--rename-command", "ECHO", "CONFIG");
    opened.push(odd);
    await expect(keep(new Redis(odd.url)).config("GET", "maxmemory-policy")).rejects.toThrow(/^ERR wrong/);
    const { logger, codes } = codeLogger();
    await claimed(open(odd.url, { logger }));
    expect(codes).toEqual(["eviction_unknown"]);
  });

  it("does not mistake a connection error for such an answer", async () => {
    const { logger, codes } = codeLogger();
    const store = open(withPassword("wrong"), { logger });
    expect(await refusal(store.ready?.())).toMatchObject({ code: "store_unavailable" });
    expect(codes).toEqual([]);
  });
});

describe("redisStore on a server whose eviction policy changes while it is used", () => {
  /** As if the last look at the policy was ten seconds ago. */
  const later = () => void vi.advanceTimersByTime(10_000);
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  it("refuses claims from then on, says so once, marks what is claimed, and recovers", async () => {
    const { logger, codes } = codeLogger();
    const store = open(redis.server.url, { logger });
    const id = key();
    const token = await claimed(store, id);
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    await claimed(store);
    later();
    for (const _ of [1, 2, 3]) {
      expect((await refusal(store.claim(key(), hourMs))).code).toBe("evicting_store");
      expect((await refusal(store.ready?.())).code).toBe("evicting_store");
      later();
    }
    expect(codes).toEqual(["evicting_store"]);
    expect(await store.extend(id, token, hourMs)).toBe(true);
    expect(await store.complete(id, token)).toBe(true);
    await redis.admin.config("SET", "maxmemory-policy", "noeviction");
    later();
    await claimed(store);
    await store.ready?.();
  });

  it("refuses to write a state", async () => {
    const state = redisState(redis.server.url);
    opened.push(state);
    await state.write("watermark", 1, undefined);
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    later();
    expect((await refusal(state.write("watermark", 2, undefined))).code).toBe("evicting_store");
    expect(await state.read("watermark")).toMatchObject({ value: 1 });
  });

  it("asks for the policy once in ten seconds, even with many claims", async () => {
    const store = open(redis.server.url);
    await claimed(store);
    later();
    await redis.admin.config("RESETSTAT");
    await Promise.all(Array.from({ length: 50 }, () => claimed(store)));
    await claimed(store);
    expect(await redis.admin.info("commandstats")).toMatch(/cmdstat_config\|get:calls=1,/);
  });

  it.each(["noeviction", "allkeys-lru"])(
    "accepts nothing unseen after the policy could not be read, and asks again: %s",
    async (policy) => {
      const client = keep(new Redis(redis.server.url));
      const store = open(client);
      await claimed(store);
      later();
      await redis.admin.config("SET", "maxmemory-policy", policy);
      vi.spyOn(client, "config").mockRejectedValueOnce(new Error("Connection is closed."));
      expect((await refusal(store.claim(key(), hourMs))).code).toBe("store_unavailable");
      if (policy === "noeviction") await claimed(store);
      else expect((await refusal(store.claim(key(), hourMs))).code).toBe("evicting_store");
    },
  );

  it("forgets no refusal because the policy cannot be read for a moment, and claims as soon as ready() has passed", async () => {
    const { logger, codes } = codeLogger();
    const client = keep(new Redis(redis.server.url));
    const store = open(client, { logger });
    await claimed(store);
    later();
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    expect((await refusal(store.claim(key(), hourMs))).code).toBe("evicting_store");
    vi.spyOn(client, "config").mockRejectedValueOnce(new Error("Connection is closed."));
    later();
    await refusal(store.claim(key(), hourMs));
    expect((await refusal(store.claim(key(), hourMs))).code).toBe("evicting_store");
    expect(codes).toEqual(["evicting_store"]);
    await redis.admin.config("SET", "maxmemory-policy", "noeviction");
    await store.ready?.();
    await claimed(store);
  });

  it("warns only once that a server does not reveal its policy", async () => {
    await redis.admin.acl("SETUSER", "app", "on", ">secret", "~*", "+@all", "-config");
    const { logger, codes } = codeLogger();
    const store = open(keep(new Redis(redis.server.url, { username: "app", password: "secret" })), {
      logger,
    });
    await claimed(store);
    later();
    await claimed(store);
    expect(codes).toEqual(["eviction_unknown"]);
  });
});

describe("redisStore and redisState on a server that answers, but where nothing works", () => {
  const makers = [
    ["redisStore", redisStore],
    ["redisState", redisState],
  ] as const;

  function openAs(make: (typeof makers)[number][1], url: string, user?: Record<string, string>) {
    const store = make(keep(new Redis(url, user ?? {})));
    opened.push(store);
    return store;
  }

  it.each(makers)("%s is not ready on a read-only replica, and says so", async (name, make) => {
    const replica = await privateReplica(redis.server);
    opened.push(replica);
    const { code, message, cause } = await refusal(openAs(make, replica.url).ready?.());
    expect(code).toBe("read_only_store");
    expect(message).toMatch(`The Redis server of ${name} is a read-only replica. Connect to its master`);
    expect(String(cause)).toContain("READONLY");
  });

  it.each(makers)("%s is not ready while the server is out of memory, and then is", async (_, make) => {
    await redis.admin.config("SET", "maxmemory", "1");
    const store = openAs(make, redis.server.url);
    const { code, message } = await refusal(store.ready?.()).finally(() =>
      redis.admin.config("SET", "maxmemory", "0"),
    );
    expect(code).toBe("store_full");
    expect(message).toMatch(/has used all the memory that maxmemory allows\. Raise maxmemory/);
    await store.ready?.();
  });

  const needed = ["+evalsha", "+eval", "+get", "+set", "+del", "+pttl", "+pexpire"];
  const user = { username: "narrow", password: "secret" };
  const as = (...rules: string[]) =>
    redis.admin.acl("SETUSER", "narrow", "reset", "on", ">secret", "+info", ...rules);

  it.each(makers.flatMap(([name, make]) => needed.map((right) => [name, right, make] as const)))(
    "%s is not ready without %s, and names the rights to grant",
    async (_, right, make) => {
      await as("~esim-webhooks:*", ...needed.filter((one) => one !== right));
      const { code, message } = await refusal(openAs(make, redis.server.url, user).ready?.());
      expect(code).toBe("missing_rights");
      for (const one of needed) expect(message).toContain(one);
    },
  );

  it.each(makers.flatMap(([name, make]) => needed.map((right) => [name, right, make] as const)))(
    "%s is ready no longer once %s was taken away",
    async (_, right, make) => {
      await as("~esim-webhooks:*", ...needed);
      const store = openAs(make, redis.server.url, user);
      await store.ready?.();
      await as("~esim-webhooks:*", ...needed.filter((one) => one !== right));
      expect((await refusal(store.ready?.())).code).toBe("missing_rights");
      await as("~esim-webhooks:*", ...needed);
      await store.ready?.();
    },
  );

  it.each(makers)("%s is not ready while too few replicas are in sync, and then is", async (_, make) => {
    const store = openAs(make, redis.server.url);
    await store.ready?.();
    await redis.admin.config("SET", "min-replicas-to-write", "1");
    const refusals = await Promise.all(
      [store, openAs(make, redis.server.url)].map((one) => refusal(one.ready?.())),
    );
    await redis.admin.config("SET", "min-replicas-to-write", "0");
    for (const { code, message } of refusals)
      expect({ code, message }).toMatchObject({
        code: "missing_replicas",
        message: /lower min-replicas-to-write/,
      });
    await store.ready?.();
  });

  it.each(makers)("%s is not ready while the server cannot save its data, and then is", async (_, make) => {
    onTestFinished(() => breakSnapshots(redis.admin, false));
    const store = openAs(make, redis.server.url);
    await store.ready?.();
    await breakSnapshots(redis.admin, true);
    const { code, message } = await refusal(store.ready?.());
    expect({ code, message }).toMatchObject({ code: "unsaved_store", message: /make room on its disk/ });
    await breakSnapshots(redis.admin, false);
    await store.ready?.();
  });

  it.each(makers)("%s is not ready with rights for other keys alone", async (_, make) => {
    await as("~other:*", ...needed);
    expect((await refusal(openAs(make, redis.server.url, user).ready?.())).code).toBe("missing_rights");
  });

  it("works with the rights that the message names, and ready() leaves no key", async () => {
    await as("~esim-webhooks:*", ...needed);
    const store = open(keep(new Redis(redis.server.url, user)));
    await store.ready?.();
    expect(await redis.admin.dbsize()).toBe(0);
    const id = key();
    const token = await claimed(store, id);
    expect((await store.claim(id, hourMs)).status).toBe("busy");
    expect(await store.extend(id, token, hourMs)).toBe(true);
    expect(await store.complete(id, token)).toBe(true);
    const other = key();
    expect(await store.release(other, await claimed(store, other))).toBe(true);
    const state = openAs(redisState, redis.server.url, user) as ReturnType<typeof redisState>;
    expect(await state.write("watermark", 1, undefined)).toBe(true);
    expect(await state.read("watermark")).toMatchObject({ value: 1 });
  });
});

describe("a handler on redisStore that is done when its mark cannot be written", () => {
  const event = {
    type: "esim.faulted",
    timestamp: new Date().toISOString(),
    data: sampleData("esim.faulted"),
  };

  /** Delivers the event to a processor whose handler does `meanwhile`, and to one of another process, which has a connection of its own. */
  async function deliveries(meanwhile: () => Promise<unknown>) {
    const id = `msg_${randomUUID()}`;
    const codes = codeLogger();
    let runs = 0;
    const handlers = {
      "*": async () => {
        runs += 1;
        await meanwhile();
      },
    };
    const options = { leaseMs: 9000, logger: codes.logger }; // renewed every three seconds
    const here = createProcessor(handlers, { store: open(redis.server.url), ...options });
    const elsewhere = createProcessor({ "*": () => void runs++ }, { store: open(redis.server.url) });
    for (const { store } of [here, elsewhere]) await store.ready?.(); // has written its probe keys, and deleted them
    return {
      runs: () => runs,
      deliver: () => here.process({ id, ...event }),
      deliverElsewhere: () => elsewhere.process({ id, ...event }),
    };
  }

  it("runs once although the server has no memory for longer than the lease, here and elsewhere", async () => {
    onTestFinished(() => void redis.admin.config("SET", "maxmemory", "0"));
    const { deliver, deliverElsewhere, runs } = await deliveries(() =>
      redis.admin.config("SET", "maxmemory", "1"),
    );
    const first = await deliver();
    expect(first).toMatchObject({ code: "store_unavailable", error: { code: "store_full" } });
    expect((await deliver()).code).toBe("duplicate");
    expect((await deliverElsewhere()).code).toBe("busy");
    await redis.admin.config("SET", "maxmemory", "0");
    await expect.poll(async () => (await deliverElsewhere()).code).toBe("duplicate");
    expect(runs()).toBe(1);
  });

  it("runs once in this process although its claim was evicted", async () => {
    const { deliver, deliverElsewhere, runs } = await deliveries(() => redis.admin.flushall());
    expect((await deliver()).code).toBe("lease_lost");
    expect((await deliver()).code).toBe("duplicate");
    await expect.poll(async () => (await redis.admin.keys("*")).length).toBe(1);
    await expect.poll(async () => (await deliverElsewhere()).code).toBe("duplicate");
    expect(runs()).toBe(1);
  });
});

/** The server's URL with a user that does not exist. */
function withPassword(password: string): string {
  return Object.assign(new URL(redis.server.url), { username: "nobody", password }).href;
}

/** Resolves once the store answers, however slow its server is. */
async function connected(store: DedupeStore): Promise<void> {
  await expect.poll(async () => (await store.claim(key(), hourMs)).status).toBe("claimed");
}

describe("a claim that has timed out", () => {
  const frozen = async (use: () => Promise<void>) => {
    await redis.server.pause();
    await use().finally(() => redis.server.resume());
  };

  it("does not keep its id busy when the server executes it after all", async () => {
    const id = key();
    const store = open(redis.server.url, { timeoutMs: 300 });
    await connected(store);
    const commands = await commandsDuring(async () => {
      await frozen(async () => {
        expect((await refusal(store.claim(id, hourMs))).message).toContain("did not answer within 300 ms");
      });
      await expect.poll(async () => (await store.claim(id, hourMs)).status).toBe("claimed");
    });
    expect(commands.filter((name) => name === "evalsha").length).toBeGreaterThan(1); // it was executed, and released
  });

  it("does not keep its id busy when its connection has timed out too", async () => {
    const id = key();
    const store = open(redis.server.url, { timeoutMs: 100 });
    await connected(store);
    await frozen(async () => {
      await refusal(store.claim(id, hourMs));
      await pause(1500);
    });
    const other = open(redis.server.url);
    await expect.poll(async () => (await other.claim(id, hourMs)).status).toBe("claimed");
  });

  it("is not sent again when the server did not know its script", async () => {
    const store = open(redis.server.url, { timeoutMs: 2500 });
    await claimed(store);
    await redis.admin.script("FLUSH");
    const commands = await commandsDuring(async () => {
      await frozen(async () => void (await refusal(store.claim(key(), hourMs))));
      await claimed(store);
    });
    expect(commands).toEqual(["evalsha", "evalsha", "eval"]);
  });
});

describe("redisStore in the database", () => {
  it("has one key per id under its keyPrefix, which expires with the lease, or with the retention once done", async () => {
    const store = open(redis.server.url, { keyPrefix: "mine:", retentionMs: 10 * dayMs });
    const ids = ["a", "b", "c"];
    const tokens = await Promise.all(ids.map((id) => claimed(store, key(id))));
    const keys = ids.map((id) => `mine:7:default:${id}`);
    expect((await redis.admin.keys("*")).sort()).toEqual(keys);
    for (const name of keys) {
      const leaseMs = await redis.admin.pttl(name);
      expect(leaseMs).toBeGreaterThan(hourMs - 60_000);
      expect(leaseMs).toBeLessThanOrEqual(hourMs);
    }
    for (const [index, id] of ids.entries()) await store.complete(key(id), tokens[index] ?? "");
    expect((await redis.admin.keys("*")).sort()).toEqual(keys);
    for (const name of keys) {
      const retentionMs = await redis.admin.pttl(name);
      expect(retentionMs).toBeGreaterThan(10 * dayMs - 60_000);
      expect(retentionMs).toBeLessThanOrEqual(10 * dayMs + 6 * hourMs);
    }
  });

  it("does not let ids that are done in a short time expire all at the same time", async () => {
    const store = open(redis.server.url, { retentionMs: 10 * dayMs });
    const leftMs: number[] = [];
    for (const id of ["1", "2", "3", "4", "5", "6", "7", "8"]) {
      await store.complete(key(id), await claimed(store, key(id)));
      leftMs.push(await redis.admin.pttl(`esim-webhooks:7:default:${id}`));
    }
    expect(Math.min(...leftMs)).toBeGreaterThan(10 * dayMs - 60_000);
    expect(Math.max(...leftMs) - Math.min(...leftMs)).toBeGreaterThan(60_000);
  });

  it("deletes the key of a released id", async () => {
    const store = open(redis.server.url);
    const id = key();
    expect(await store.release(id, await claimed(store, id))).toBe(true);
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it("puts the client's keyPrefix before its own", async () => {
    const store = open(keep(new Redis(redis.server.url, { keyPrefix: "app:" })));
    expect(await store.complete(key("a"), await claimed(store, key("a")))).toBe(true);
    expect(await store.claim(key("a"), hourMs)).toEqual({ status: "done" });
    expect(await redis.admin.keys("*")).toEqual(["app:esim-webhooks:7:default:a"]);
  });

  it.each(["x", "data", "done", "c", "d", ""])(
    "answers neither claimed nor done when another program has set the key to %j",
    async (value) => {
      const store = open(redis.server.url);
      const name = "esim-webhooks:7:default:a";
      await redis.admin.set(name, value);
      const { code, message } = await refusal(store.claim(key("a"), hourMs));
      expect(code).toBe("store_unavailable");
      expect(message).toMatch(/did not write.*keyPrefix/);
      expect(await store.complete(key("a"), randomUUID())).toBe(false);
      expect(await store.release(key("a"), randomUUID())).toBe(false);
      expect(await redis.admin.get(name)).toBe(value);
    },
  );

  it("rejects with the server's error as cause when the key holds another program's hash", async () => {
    const store = open(redis.server.url);
    await redis.admin.hset("esim-webhooks:7:default:a", "field", "value");
    const { code, cause } = await refusal(store.claim(key("a"), hourMs));
    expect(code).toBe("store_unavailable");
    expect(String(cause)).toContain("WRONGTYPE");
  });
});

describe("redisStore on the connection", () => {
  it("sends one EVALSHA per operation once the server knows the scripts", async () => {
    const store = open(redis.server.url);
    const warm = key();
    await store.extend(warm, await claimed(store, warm), hourMs);
    await store.complete(warm, randomUUID());
    await store.release(warm, randomUUID());
    const id = key();
    const commands = await commandsDuring(async () => {
      const token = await claimed(store, id);
      await store.claim(id, hourMs);
      await store.extend(id, token, hourMs);
      await store.complete(id, token);
      await store.claim(id, hourMs);
      await store.release(id, token);
    });
    expect(commands.filter((name) => name !== "echo")).toEqual(Array(6).fill("evalsha"));
  });

  it("sends one more command for each script after SCRIPT FLUSH", async () => {
    const store = open(redis.server.url);
    await claimed(store);
    await redis.admin.script("FLUSH");
    const commands = await commandsDuring(async () => {
      await claimed(store);
      await claimed(store);
    });
    expect(commands).toEqual(["evalsha", "eval", "evalsha"]);
  });

  it("gives 250 ids once each to 500 concurrent claims of a client with enableAutoPipelining", async () => {
    const store = open(keep(new Redis(redis.server.url, { enableAutoPipelining: true })));
    const ids = Array.from({ length: 250 }, () => key());
    const claims = await Promise.all([...ids, ...ids].map((id) => store.claim(id, hourMs)));
    const count = (status: string) => claims.filter((claim) => claim.status === status).length;
    expect([count("claimed"), count("busy")]).toEqual([250, 250]);
    expect(await redis.admin.dbsize()).toBe(250);
  });

  it("works with a client that has stringNumbers", async () => {
    const store = open(keep(new Redis(redis.server.url, { stringNumbers: true })));
    const id = key();
    const token = await claimed(store, id);
    expect(await store.claim(id, hourMs)).toMatchObject({ status: "busy", retryAfterMs: expect.any(Number) });
    expect(await store.extend(id, token, hourMs)).toBe(true);
    expect(await store.complete(id, token)).toBe(true);
    const other = key();
    expect(await store.release(other, await claimed(store, other))).toBe(true);
  });

  it("does nothing twice when the client sends an operation again because its answer was lost", async () => {
    const proxy = await startProxy(redis.server);
    opened.push(proxy);
    const store = open(proxy.url);
    await claimed(store);
    const id = key();
    let token = "";
    const commands = await commandsDuring(async () => {
      proxy.loseNextAnswer();
      token = await claimed(store, id);
    });
    expect(commands.filter((name) => name.startsWith("eval"))).toEqual(["evalsha", "evalsha"]);
    expect((await store.claim(id, hourMs)).status).toBe("busy");
    proxy.loseNextAnswer();
    expect(await store.extend(id, token, hourMs)).toBe(true);
    proxy.loseNextAnswer();
    expect(await store.complete(id, token)).toBe(true);
    proxy.loseNextAnswer();
    expect(await store.claim(id, hourMs)).toEqual({ status: "done" });
  });
});

describe("redisStore with many operations at the same time", () => {
  const many = () => Array.from({ length: 150 }, () => key());

  it("sends them in one command", async () => {
    const store = open(redis.server.url);
    await store.ready?.();
    const commands = await commandsDuring(async () => {
      await Promise.all(many().map((id) => claimed(store, id)));
    });
    expect(commands).toEqual(["evalsha"]);
  });

  it("sends those of the next event-loop tick although the command before them has no answer yet", async () => {
    const client = keep(new Redis(redis.server.url));
    const store = open(client);
    await store.ready?.();
    const { promise: answered, resolve: answer } = Promise.withResolvers<number[]>();
    vi.spyOn(client, "evalsha").mockReturnValueOnce(answered as never);
    const first = claimed(store);
    await new Promise(setImmediate);
    await Promise.all(many().map((id) => claimed(store, id)));
    answer([1]);
    await first;
  });

  it("rejects the operation on another program's key, but not the operations sent with it", async () => {
    const store = open(redis.server.url);
    await store.ready?.();
    await redis.admin.hset("esim-webhooks:7:default:a", "field", "value");
    const [foreign, ...others] = await Promise.allSettled(
      ["a", "b", "c"].map((id) => store.claim(key(id), hourMs)),
    );
    expect(foreign).toMatchObject({ reason: { code: "store_unavailable", cause: { name: "ReplyError" } } });
    expect(others).toMatchObject([{ value: { status: "claimed" } }, { value: { status: "claimed" } }]);
  });

  it("sends each alone through a proxy that sends a command to the server of its first key", async () => {
    const one = keep(new Redis(redis.server.url));
    const databases = [one, keep(new Redis(`${redis.server.url}/1`))];
    const numberOf = (name: string | number) => crc32(String(name)) % 2;
    const serverOf = (name: string | number) => databases[numberOf(name)] ?? one;
    const proxy: Parameters<typeof redisStore>[0] = {
      evalsha: (sha1, count, name = "", ...more) => serverOf(name).evalsha(sha1, count, name, ...more),
      eval: (script, count, name = "", ...more) => serverOf(name).eval(script, count, name, ...more),
      config: (get, parameter) => one.config(get, parameter),
      pipeline: () => one.pipeline() as never,
    };
    const store = open(proxy);
    const nameOf = ({ id }: { id: string }) => `esim-webhooks:7:default:${id}`;
    const ids = many().sort((a, b) => numberOf(nameOf(a)) - numberOf(nameOf(b))); // of one server first, of the other last
    await Promise.all(ids.map((id) => claimed(store, id)));
    const again = await Promise.all(ids.toReversed().map((id) => store.claim(id, hourMs)));
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set(["busy"]));
  });

  it("sends each alone through a proxy that refuses commands with keys of several servers", async () => {
    const client = keep(new Redis(redis.server.url));
    const counts: number[] = [];
    const evalsha = client.evalsha.bind(client) as (...args: unknown[]) => Promise<unknown>;
    vi.spyOn(client, "evalsha").mockImplementation(((sha1: string, count: number, ...more: unknown[]) => {
      counts.push(count);
      const refused = Object.assign(new Error("CROSSSLOT Keys do not hash to one slot"), {
        name: "ReplyError",
      });
      return count > 1 ? Promise.reject(refused) : evalsha(sha1, count, ...more);
    }) as never);
    const store = open(client);
    await Promise.all(many().map((id) => claimed(store, id)));
    expect(counts.filter((count) => count > 1)).toHaveLength(1);
  });
});

describe("redisStore on a server that stalls under many claims", () => {
  const nextTurn = () => new Promise(setImmediate);

  /** A store on a connection that waits for as long as the server is paused. */
  async function ready(timeoutMs: number): Promise<DedupeStore> {
    const store = open(keep(new Redis(redis.server.url)), { timeoutMs });
    await expect.poll(async () => store.ready?.().catch(String)).toBeUndefined(); // the time may be short for a machine that stalls
    await redis.admin.config("RESETSTAT");
    return store;
  }

  /** How often the server has run a command since the store was ready. */
  async function calls(command: string): Promise<number> {
    const stats = await redis.admin.info("commandstats");
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  /** Claims ids in many event-loop ticks, while the server is paused. Returns the claims. */
  async function claimsInTurns(store: DedupeStore, turns: number, each: number) {
    const claims: Promise<unknown>[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      for (let index = 0; index < each; index += 1) {
        claims.push(Promise.resolve(store.claim(key(), hourMs)).catch((error: unknown) => error));
      }
      await nextTurn();
    }
    return claims;
  }

  it("sends it at most eight of the commands whose time has passed, and takes their claims back together", async () => {
    const store = await ready(300);
    await redis.server.pause();
    const claims = await claimsInTurns(store, 40, 25);
    const answers = await Promise.all(claims).finally(() => redis.server.resume());
    expect(answers).toEqual(
      Array(1000).fill(expect.objectContaining({ message: expect.stringContaining("within 300 ms") })),
    );
    await expect.poll(() => calls("del")).toBe(200);
    expect([await calls("set"), await redis.admin.dbsize()]).toEqual([200, 0]);
    expect(await calls("evalsha")).toBeLessThanOrEqual(8 + 8);
  });

  it("sends what waits in as few commands as it fits in, once the server answers", async () => {
    const store = await ready(hourMs);
    await redis.server.pause();
    const claims = await claimsInTurns(store, 8 + 50, 10);
    await redis.server.resume();
    const answers = (await Promise.all(claims)) as { status: string }[];
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["claimed"]));
    expect(await calls("evalsha")).toBe(8 + 3);
  });
});

describe("redisStore with waitReplicas", () => {
  it("rejects a claim that reached no replica, and says how many replicas it reached", async () => {
    const { code, message } = await refusal(
      open(redis.server.url, { waitReplicas: 1, timeoutMs: 4000 }).claim(key(), hourMs),
    );
    expect(code).toBe("store_unavailable");
    expect(message).toMatch(/reached 0 of the 1 replicas.*Check the replicas, or lower waitReplicas/);
  });

  it("releases the ids of claims that reached too few replicas", async () => {
    const store = open(redis.server.url, { waitReplicas: 1, timeoutMs: 2000 });
    const replica = await privateReplica(redis.server);
    await store.ready?.();
    await replica.close();
    const failures = await Promise.all([key(), key(), key()].map((id) => refusal(store.claim(id, hourMs))));
    expect(failures.map(({ code }) => code)).toEqual(Array(3).fill("store_unavailable"));
    await expect.poll(() => redis.admin.dbsize()).toBe(0);
  });

  it("rejects an operation on another program's key, but not the operations sent with it", async () => {
    opened.push(await privateReplica(redis.server));
    const store = open(redis.server.url, { waitReplicas: 1 });
    await redis.admin.hset("esim-webhooks:7:default:a", "field", "value");
    const [foreign, ...others] = await Promise.allSettled(
      ["a", "b", "c"].map((id) => store.claim(key(id), hourMs)),
    );
    expect(foreign).toMatchObject({ reason: { code: "store_unavailable", cause: { name: "ReplyError" } } });
    expect(others).toMatchObject([{ value: { status: "claimed" } }, { value: { status: "claimed" } }]);
  });

  it("answers once a replica has the write", async () => {
    const replica = await privateReplica(redis.server);
    opened.push(replica);
    const reader = keep(new Redis(replica.url));
    const store = open(redis.server.url, { waitReplicas: 1 });
    const id = key("a");
    const token = await claimed(store, id);
    const name = "esim-webhooks:7:default:a";
    expect(await reader.get(name)).toBe(`c${token}`);
    expect((await store.claim(id, hourMs)).status).toBe("busy");
    expect(await store.extend(id, token, hourMs)).toBe(true);
    expect(await store.complete(id, token)).toBe(true);
    expect(await reader.get(name)).toBe(`d${token}`);
    expect(await store.release(id, token)).toBe(false);
    expect(await store.claim(id, hourMs)).toEqual({ status: "done" });
  });
});

describe("redisStore with a URL at which no server answers", () => {
  const nobodyAt = async () => `127.0.0.1:${await freePort()}`;

  it("rejects with the connection error as cause, and logs it at debug once a second", async () => {
    const lines: Record<string, unknown>[] = [];
    const logger = loggerWith({ debug: (line) => lines.push({ ...line }) });
    const host = await nobodyAt();
    const openedAt = performance.now();
    const store = open(`redis://${host}`, { logger });
    for (const _ of [1, 2, 3]) {
      const { code, message, cause } = await refusal(store.claim(key(), hourMs));
      expect(code).toBe("store_unavailable");
      expect(message).toContain("the server may be down, or its URL or credentials may be wrong.");
      expect(cause).toMatchObject({ message: `connect ECONNREFUSED ${host}` });
    }
    expect(lines[0]).toMatchObject({ err: { message: `connect ECONNREFUSED ${host}` } });
    expect(lines.length).toBeLessThanOrEqual(1 + (performance.now() - openedAt) / 1000);
  });

  it("says that the password is wrong, and shows it in no error and no log line", async () => {
    const lines: unknown[] = [];
    const log = (...line: unknown[]) => lines.push(line);
    const logger = loggerTo(log);
    const ofUrl = open(withPassword("hunter2"), { logger });
    const ofClient = open(keep(new Redis(withPassword("hunter2"), { maxRetriesPerRequest: 1 })), { logger });
    for (const store of [ofUrl, ofClient]) {
      const error = await refusal(store.claim(key(), hourMs));
      expect(inspect(error, { depth: 9 })).not.toContain("hunter2");
      if (store === ofUrl) expect(String(error.cause)).toContain("WRONGPASS");
    }
    expect(lines.length).toBeGreaterThan(0);
    expect(inspect(lines, { depth: 9 })).not.toContain("hunter2");
  });

  it("reports the current error, not one from before the connection", async () => {
    const own = await privateRedis();
    opened.push(own);
    const store = open(own.url);
    await claimed(store);
    await own.kill();
    const { cause } = await refusal(store.claim(key(), hourMs));
    expect(String(cause)).toContain(`ECONNREFUSED ${new URL(own.url).host}`);
    await own.start();
    await connected(store);
  });
});

describe("redisStore with a database in its URL", () => {
  it("uses that database", async () => {
    await claimed(open(`${redis.server.url}/3`));
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it("rejects a database that the server does not have, and writes to no other", async () => {
    const store = open(`${redis.server.url}/99`);
    for (const operation of [() => store.ready?.(), () => store.claim(key(), hourMs)]) {
      const { code, message } = await refusal(operation());
      expect(code).toBe("invalid_option");
      expect(message).toMatch(
        /refuses database 99.*ERR DB index is out of range.*number after the URL's slash/,
      );
    }
    expect(await redis.admin.dbsize()).toBe(0);
  });
});

describe("redisStore called with a client or a URL", () => {
  it("leaves the caller's client open after close()", async () => {
    const client = keep(new Redis(redis.server.url));
    const store = open(client);
    await claimed(store);
    await store.close();
    expect((await refusal(store.claim(key(), hourMs))).message).toMatch(/was closed/);
    expect(await client.ping()).toBe("PONG");
  });

  it.each(["http://localhost:6379", "localhost:6379", "", "unix:///redis.sock"])(
    "refuses %j, which is not a Redis URL, and shows one",
    (url) => {
      expect(() => redisStore(url)).toThrow(
        /neither an ioredis client nor a redis:\/\/ URL.*"redis:\/\/localhost:6379"/,
      );
    },
  );

  it.each([
    "redis://u:hunter2@h:99999",
    "rediss://u:hunter2%zz@h",
    "redis://u:1/hunter2@h",
    "redis://u:1?hunter2@h",
    "redis://u:1#hunter2@h",
  ])("refuses %s, and neither the error nor its cause shows the password", (url) => {
    for (const make of [redisStore, redisState]) {
      let error: unknown;
      try {
        make(url);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({
        code: "invalid_option",
        message: expect.stringMatching(
          /cannot be read\. Write redis:\/\/user:password@host.*percent-encoded/,
        ),
      });
      expect(inspect(error, { depth: 9 })).not.toContain("hunter2");
    }
  });

  it("refuses what is not an ioredis client, such as a client's options", () => {
    expect(() => redisStore({ host: "localhost" } as never)).toThrow(/neither an ioredis client/);
    expect(() => redisStore(undefined as never)).toThrow(/Pass new Redis/);
  });

  it("names an unknown option and the nearest one, and an option with a wrong value", () => {
    expect(() => redisStore(redis.server.url, { keyPrefx: "mine:" } as never)).toThrow(
      'no option "keyPrefx". Did you mean "keyPrefix"?',
    );
    expect(() => redisStore(redis.server.url, { waitReplicas: -1 })).toThrow(/"waitReplicas"/);
    expect(() => redisStore(redis.server.url, { timeoutMs: 0 })).toThrow(
      /"timeoutMs": expected at least 1 ms/,
    );
  });
});
