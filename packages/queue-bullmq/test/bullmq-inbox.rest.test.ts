import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import type { InboxEntry, Logger, WebhookError } from "@esim-webhooks/core";
import { type BullmqInbox, type BullmqInboxOptions, bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { createPostgresBackend, type Job, Queue, WaitingChildrenError, type Worker } from "bullmq";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { breakSnapshots } from "../../../test/servers/break-snapshots.ts";
import { privateReplica } from "../../../test/servers/index.ts";
import { freePort } from "../../../test/servers/kept-server.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { entryOf, openersOn } from "./set-up.ts";

expectWarnings(
  "evicting_store",
  "invalid_option",
  "missing_rights",
  "short_retention",
  "wrong_credentials",
  /Skipping the ready check/,
);

const redis = redisOfFile("--repl-diskless-sync", "no");
const { opened, openInbox, openQueue, openWorker, keepClient } = openersOn(() => redis.server.url);
beforeEach(async () => {
  await redis.admin.config("SET", "maxmemory-policy", "noeviction");
  await redis.admin.config("SET", "appendonly", "yes");
});

/** Works all jobs of the queue until `count` of them have ended. */
async function workOff(
  count: number,
  process: (id: string) => Promise<unknown> = async () => {},
): Promise<void> {
  const worker = openWorker(({ data }) => process(data?.id));
  let ended = 0;
  await new Promise<void>((resolve) => {
    const end = () => {
      ended += 1;
      if (ended === count) resolve();
    };
    worker.on("completed", end);
    worker.on("failed", end);
  });
  await worker.close();
}

/** A worker whose processor adds a child to each job and waits for it, then fails. */
function workWithChild(): Worker {
  const children = openQueue({}, "children");
  const process = async (job: Job, token = "") => {
    if (job.attemptsStarted === 1)
      await children.add("child", {}, { parent: { id: job.id ?? "", queue: job.queueQualifiedName } });
    if (await job.moveToWaitingChildren(token)) throw new WaitingChildrenError();
    throw new Error("no luck");
  };
  return openWorker(process);
}

async function jobOf(queue: Queue, eventId: string): Promise<Job> {
  const id = await queue.getDeduplicationJobId(`7:default:${eventId}`);
  return (await queue.getJob(id ?? "")) as Job;
}

const omitRedrive = (name: string, value: unknown) =>
  name === "redrivenAt" || name === "startsBefore" ? undefined : value;

async function refusal(operation: Promise<unknown> | (() => unknown)): Promise<WebhookError<string>> {
  const error = await (typeof operation === "function" ? (async () => operation())() : operation).catch(
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: "WebhookError" });
  return error as WebhookError<string>;
}

/** A logger that keeps its lines as `code or message`. */
function lineLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const log: Logger["error"] = (fields, message) => lines.push(String(fields["code"] ?? message));
  return { lines, logger: loggerWith({ info: log, warn: log, error: log }) };
}

const other = (entry: InboxEntry): InboxEntry => ({ ...entry, body: Buffer.from("other") });

describe("put", () => {
  it("keeps the body byte for byte and once, with the event's type as the job's name", async () => {
    const entry = entryOf("msg_1");
    await openInbox().put([entry]);
    const [job] = await openQueue().getJobs(["waiting"]);
    expect(job).toMatchObject({ name: "esim.enabled", data: { source: "default", id: "msg_1" } });
    expect(job?.data).not.toHaveProperty("event");
    expect(Buffer.from(job?.data.body, "base64")).toEqual(entry.body);
  });

  it("takes ids that BullMQ refuses as job ids: with colons, of digits only, 0, and very long ones", async () => {
    const inbox = openInbox();
    const entries = ["a:b", "0", "7", "0:1:2", "{x}", "é".repeat(900)].map((id) => entryOf(id));
    expect(await inbox.put(entries)).toEqual(entries.map(() => "stored"));
    expect(await inbox.put(entries)).toEqual(entries.map(() => "already_stored"));
    for (const { id } of entries) expect((await inbox.get({ source: "default", id }))?.id).toBe(id);
  });

  it("distinguishes a duplicate from a conflict after the job was removed as done", async () => {
    const inbox = openInbox({ jobOptions: { removeOnComplete: true } });
    const entry = entryOf();
    await inbox.put([entry]);
    await workOff(1);
    expect(await openQueue().getJobCounts()).toMatchObject({ completed: 0, waiting: 0 });
    expect(await inbox.put([entry, other(entry)])).toEqual(["already_stored", "conflict"]);
  });

  it("compares no rebuilt body with a signed one", async () => {
    const inbox = openInbox();
    const entry = entryOf();
    const replay = (rebuilt: boolean) => ({ replay: { run: "first", rebuilt } });
    expect(
      await inbox.put([entry, { ...other(entry), ...replay(true) }, { ...other(entry), ...replay(false) }]),
    ).toEqual(["stored", "already_stored", "conflict"]);
  });

  it("stores an id again once its retention has expired", async () => {
    const inbox = openInbox({ retentionMs: 30, jobOptions: { removeOnComplete: true } });
    const entry = entryOf();
    await inbox.put([entry]);
    await workOff(1);
    while ((await inbox.put([entry]))[0] !== "stored") await pause(10);
  });

  it("pipelines concurrent puts: none waits for the answer to another", async () => {
    const queue = openQueue();
    const inbox = openInbox({ queue, timeoutMs: 60_000 });
    await inbox.put([entryOf()]);
    const add = vi.spyOn(queue, "add");
    await redis.server.pause(); // it answers no client
    const puts = Promise.all(Array.from({ length: 300 }, () => inbox.put([entryOf()])));
    try {
      await expect.poll(() => add.mock.calls.length).toBe(300);
    } finally {
      await redis.server.resume();
    }
    expect((await puts).flat()).toEqual(Array(300).fill("stored"));
  });

  it("stores the other events of a batch when one is refused, and says why", async () => {
    const inbox = openInbox({ queue: openQueue({ defaultJobOptions: { sizeLimit: 2000 } }) });
    const large = entryOf("large", { body: Buffer.alloc(3000, "x") });
    const [first, refused, last] = await Promise.allSettled(
      [entryOf("first"), large, entryOf("last")].map((entry) => inbox.put([entry])),
    );
    expect([first, last]).toEqual(Array(2).fill({ status: "fulfilled", value: ["stored"] }));
    expect(refused).toMatchObject({
      status: "rejected",
      reason: { code: "store_unavailable", cause: { message: /exceeds the limit/ } },
    });
  });

  it("refuses to answer for a job that another program added under the same id", async () => {
    const queue = openQueue();
    await queue.add("other", {}, { deduplication: { id: "7:default:msg_1", ttl: 60_000 } });
    const { code, message } = await refusal(openInbox().put([entryOf("msg_1")]));
    expect(code).toBe("store_unavailable");
    expect(message).toContain("Give the inbox a queue of its own");
  });

  it("rejects with store_full while the server is out of memory", async () => {
    const inbox = openInbox();
    await inbox.ready();
    await redis.admin.config("SET", "maxmemory", "1");
    const { code, message } = await refusal(inbox.put([entryOf()]));
    await redis.admin.config("SET", "maxmemory", "0");
    expect({ code, message }).toMatchObject({ code: "store_full", message: /Raise maxmemory/ });
  });

  it("keeps the body of an event out of the error, at any depth", async () => {
    const inbox = openInbox();
    await inbox.put([entryOf()]);
    await redis.admin.config("SET", "maxmemory", "1");
    const entry = entryOf("msg_secret");
    const error = await refusal(inbox.put([entry]));
    await redis.admin.config("SET", "maxmemory", "0");
    const text = inspect(error, { depth: null, maxStringLength: null, maxArrayLength: null });
    expect(text).toContain("OOM command not allowed");
    expect(text).not.toContain(Buffer.from(entry.body).toString("base64").slice(0, 40));
    expect(text).not.toContain("msg_secret");
  });

  it("takes the bytes that a body has when put is called, also when its buffer is used again", async () => {
    const inbox = openInbox();
    const body = Buffer.from("first");
    const entry = entryOf("msg_1", { body });
    const put = inbox.put([entry]);
    body.fill("x");
    expect(await put).toEqual(["stored"]);
    expect(await inbox.put([{ ...entry, body: Buffer.from("first") }])).toEqual(["already_stored"]);
  });

  it("adds each job in the async context of its put, for instrumentations of BullMQ and ioredis", async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const queue = openQueue();
    const inbox = openInbox({ queue });
    vi.spyOn(queue, "add").mockImplementation((...job) => {
      seen.push(context.getStore());
      return Queue.prototype.add.apply(queue, job);
    });
    await Promise.all(["a", "b", "c"].map((name) => context.run(name, () => inbox.put([entryOf()]))));
    expect(seen).toEqual(["a", "b", "c"]);
  });

  it("rejects with read_only_store on a replica", async () => {
    const replica = await privateReplica(redis.server);
    opened.push(replica);
    const { code } = await refusal(openInbox({ connection: replica.url }).put([entryOf()]));
    expect(code).toBe("read_only_store");
  });

  it("says as soon as it is known that nothing listens, and where, and closes", async () => {
    const port = await freePort();
    const inbox = openInbox({ connection: `redis://127.0.0.1:${port}`, timeoutMs: 30_000 });
    expect(await refusal(inbox.stats())).toMatchObject({
      code: "store_unavailable",
      cause: { message: `connect ECONNREFUSED 127.0.0.1:${port}` },
    });
    await inbox.close();
  });
});

describe("the queue and its connection", () => {
  it("uses a queue that was passed with its options, and leaves it open", async () => {
    const queue = openQueue({ prefix: "mine", defaultJobOptions: { attempts: 3 } });
    const inbox = openInbox({ queue, jobOptions: { priority: 2 } });
    const entry = entryOf();
    await inbox.put([entry]);
    await inbox.close();
    const [job] = await queue.getJobs(["prioritized"]);
    expect(job?.opts).toMatchObject({ attempts: 3, priority: 2, backoff: { type: "exponential" } });
    expect(await redis.admin.keys("mine:events:*")).not.toEqual([]);
  });

  it("leaves a connection that was passed open, and closes its own", async () => {
    const client = keepClient(new Redis(redis.server.url));
    const inbox = openInbox({ connection: client });
    await inbox.put([entryOf()]);
    await inbox.close();
    expect(await client.ping()).toBe("PONG");
    client.disconnect();
    const own = openInbox();
    await own.ready();
    await own.close();
    await expect.poll(() => redis.admin.client("LIST")).not.toMatch(/\n.*\n/);
  });

  it("has no worker on a queue that was passed, whose connection a worker cannot share", () => {
    expect(openInbox({ queue: openQueue() })).not.toHaveProperty("createWorker");
    expect(openInbox()).toHaveProperty("createWorker");
  });

  it("refuses a queue on BullMQ's Postgres backend, and names postgresInbox", async () => {
    const queue = new Queue(
      "events",
      { connection: { host: "127.0.0.1", port: await freePort() } },
      createPostgresBackend,
    );
    queue.on("error", () => {});
    const { code, message } = await refusal(() => bullmqInbox({ queue: queue as unknown as Queue }));
    await queue.close().catch(() => {});
    expect(code).toBe("invalid_option");
    expect(message).toMatch(/is not on Redis.*postgresInbox/);
  });

  it("refuses neither or both of queue and connection, a name with a queue, a keyPrefix, and an unreadable URL", async () => {
    const queue = openQueue();
    const prefixed = keepClient(new Redis(redis.server.url, { keyPrefix: "shop:" }));
    for (const [options, text] of [
      [{}, /neither a queue nor a connection/],
      [{ queue, connection: redis.server.url }, /both a queue and a connection/],
      [{ queue, name: "other" }, /name has no effect with a queue/],
      [{ connection: "redis://%zz:secret@host" }, /cannot be read/],
      [{ connection: redis.server.url, name: "a:b" }, /a name without a colon/],
      [{ connection: prefixed }, /keyPrefix.*pass prefix/],
      [{ connection: `${redis.server.url}?keyPrefix=shop` }, /keyPrefix.*pass prefix/],
    ] as const) {
      const { code, message } = await refusal(() => bullmqInbox(options));
      expect({ code, message }).toMatchObject({ code: "invalid_option", message: text });
      expect(message).not.toContain("secret");
    }
  });

  it("refuses to keep bodies for longer or shorter than their jobs", () => {
    for (const option of ["bodyRetentionMs", "keepBodies"])
      expect(() => bullmqInbox({ connection: redis.server.url, [option]: 1 } as object)).toThrow(
        `there is no option "${option}": BullMQ keeps a body for as long as its job`,
      );
  });

  it("refuses lanes, and names the alternatives", async () => {
    const options = { connection: redis.server.url, lane: () => "a" };
    const { code, message } = await refusal(() => bullmqInbox(options));
    expect({ code, message }).toMatchObject({ code: "invalid_option", message: /no lanes.*postgresInbox/ });
  });
});

describe("the server's users", () => {
  const at = (user: string) => redis.server.url.replace("//", `//${user}@`);
  afterEach(async () => {
    await redis.admin.config("SET", "requirepass", "");
    await redis.admin.call("ACL", "DELUSER", "shop");
  });

  it("says that the password is wrong, on a connection of its own, one that was passed, and a queue's", async () => {
    await redis.admin.acl("SETUSER", "shop", "on", ">secret", "~*", "+@all");
    const client = keepClient(new Redis(at("shop:mistyped")));
    const queue = new Queue("events", { connection: client });
    queue.on("error", () => {});
    for (const options of [{ connection: at("shop:mistyped") }, { connection: client }, { queue }]) {
      const error = await refusal(openInbox(options).ready());
      expect(error).toMatchObject({ code: "wrong_credentials", message: /its password is wrong/ });
      expect(inspect(error, { depth: 10 })).not.toContain("mistyped");
    }
  });

  it("says that the server requires a password", async () => {
    await redis.admin.config("SET", "requirepass", "secret");
    const { code, message } = await refusal(openInbox().put([entryOf()]));
    expect({ code, message }).toMatchObject({ code: "wrong_credentials", message: /requires a password/ });
  });

  it("says so too when the password was changed, once the connection has ended", async () => {
    await redis.admin.acl("SETUSER", "shop", "on", ">secret", "~*", "+@all");
    const inbox = openInbox({ connection: at("shop:secret") });
    await inbox.put([entryOf()]);
    await redis.admin.acl("SETUSER", "shop", "resetpass", ">changed");
    await redis.admin.call("CLIENT", "KILL", "USER", "shop");
    const codes = async () => (await refusal(inbox.put([entryOf()]))).code;
    await expect.poll(codes, { timeout: 30_000 }).toBe("wrong_credentials");
  });

  it.each(["-info", "-evalsha -eval", "resetkeys ~other:*"])(
    "names the rights that a user with %s lacks",
    async (lacks) => {
      await redis.admin.acl("SETUSER", "shop", "on", ">secret", "~*", "+@all", ...lacks.split(" "));
      const inbox = openInbox({ connection: at("shop:secret") });
      const { code, message } = await refusal(inbox.put([entryOf()]));
      expect({ code, message }).toMatchObject({ code: "missing_rights", message: /~bull:\*.*\+info/ });
      await redis.admin.acl("SETUSER", "shop", "~*", "+@all"); // the running receiver then stores
      expect(await inbox.put([entryOf()])).toEqual(["stored"]);
    },
  );
});

describe("an add that the server refuses half-way", () => {
  const at = () => redis.server.url.replace("//", "//shop:secret@");
  beforeEach(() => redis.admin.acl("SETUSER", "shop", "reset", "on", ">secret", "~*", "+@all"));
  afterEach(() => redis.admin.call("ACL", "DELUSER", "shop"));

  /** Puts an event twice while something is `broken`, and twice again. Nothing but the event may be left. */
  async function putsAround(
    inbox: BullmqInbox,
    broken: () => Promise<unknown>,
    fixed: () => Promise<unknown>,
  ) {
    const entry = entryOf("msg_1");
    await inbox.ready();
    await broken();
    const refusals = [await refusal(inbox.put([entry])), await refusal(inbox.put([entry]))];
    expect(await redis.admin.keys("bull:events:de:*")).toEqual([]);
    await fixed();
    const ends = [await inbox.put([entry]), await inbox.put([entry])].flat();
    expect(ends).toEqual(["stored", "already_stored"]);
    expect(await inbox.stats()).toMatchObject({ states: { ready: 1, leased: 0, done: 0, dead: 0 } });
    expect(await inbox.get({ source: "default", id: "msg_1" })).toMatchObject({ state: "ready" });
    const jobs = await redis.admin.keys("bull:events:????????-*");
    expect(jobs).toEqual([expect.stringMatching(/^bull:events:[\da-f-]{36}s/)]);
    return refusals.map(({ code }) => code);
  }

  it.each<[string, NonNullable<BullmqInboxOptions["jobOptions"]>]>([
    ["hmset", {}],
    ["xadd", {}],
    ["hmget", {}],
    ["lpush", {}],
    ["zadd", {}],
    ["rpush", { lifo: true }],
    ["zadd", { lifo: true }],
    ["zadd", { delay: 60_000 }],
    ["zadd", { priority: 3 }],
  ])("stores the event later if the user lacks %s, with the job options %o", async (right, jobOptions) => {
    const codes = await putsAround(
      openInbox({ connection: at(), jobOptions }),
      () => redis.admin.acl("SETUSER", "shop", `-${right}`),
      () => redis.admin.acl("SETUSER", "shop", "+@all"),
    );
    expect(codes).toEqual(["missing_rights", "missing_rights"]);
  });

  it.each(["wait", "events", "marker"])(
    "stores the event later if the queue's key %s is another program's, and says so until then",
    async (name) => {
      const key = `bull:events:${name}`;
      const inbox = openInbox();
      const codes = await putsAround(
        inbox,
        async () => {
          await redis.admin.set(key, "theirs");
          const { message } = await refusal(inbox.ready());
          expect(message).toMatch(/has a value that BullMQ did not write\. Delete that key/);
        },
        () => redis.admin.del(key),
      );
      expect(codes).toEqual(["store_unavailable", "store_unavailable"]);
    },
  );

  it("stores the event later through a queue that had its scripts before, if the user may not delete either", async () => {
    const client = keepClient(new Redis(at()));
    const queue = openQueue({ connection: client });
    await queue.add("other", {});
    await queue.drain();
    const inbox = openInbox({ queue });
    const entry = entryOf("msg_1");
    await inbox.ready();
    await redis.admin.acl("SETUSER", "shop", "-hmset", "-del");
    expect((await refusal(inbox.put([entry]))).code).toBe("missing_rights");
    await redis.admin.acl("SETUSER", "shop", "+@all");
    await expect.poll(() => inbox.put([entry])).toEqual(["stored"]); // without DEL, the key ends after 1 ms
  });

  it("leaves the job of an event that was stored before", async () => {
    const inbox = openInbox({ connection: at() });
    const entry = entryOf("msg_1");
    await inbox.put([entry]);
    await redis.admin.acl("SETUSER", "shop", "-xadd");
    expect((await refusal(inbox.put([entry]))).code).toBe("missing_rights");
    await redis.admin.acl("SETUSER", "shop", "+@all");
    expect(await inbox.put([entry, other(entry)])).toEqual(["already_stored", "conflict"]);
    expect(await inbox.stats()).toMatchObject({ states: { ready: 1 } });
  });
});

describe("ready()", () => {
  const rights = [
    "evalsha",
    "eval",
    "set",
    "hset",
    "hmset",
    "xadd",
    "lpush",
    "zadd",
    "get",
    "pttl",
    "lpop",
    "del",
  ];

  it.each(rights)("says that the user lacks %s, also after it has said that all is well", async (right) => {
    await redis.admin.acl("SETUSER", "shop", "reset", "on", ">secret", "~*", "+@all");
    onTestFinished(async () => void (await redis.admin.call("ACL", "DELUSER", "shop")));
    const connection = redis.server.url.replace("//", "//shop:secret@");
    const inbox = openInbox({ connection });
    await inbox.ready();
    await redis.admin.acl("SETUSER", "shop", `-${right}`);
    for (const one of [inbox, openInbox({ connection })]) {
      const { code, message } = await refusal(one.ready());
      expect({ code, message }).toMatchObject({
        code: "missing_rights",
        message: /Grant its user .*~bull:\*/,
      });
    }
    await redis.admin.acl("SETUSER", "shop", "+@all");
    await inbox.ready();
  });

  it.each<[string, (on: boolean) => Promise<unknown>, string, RegExp]>([
    [
      "its memory is full",
      (on) => redis.admin.config("SET", "maxmemory", on ? "1" : "0"),
      "store_full",
      /Raise maxmemory/,
    ],
    [
      "too few replicas are in sync",
      (on) => redis.admin.config("SET", "min-replicas-to-write", on ? "1" : "0"),
      "missing_replicas",
      /lower min-replicas-to-write/,
    ],
    [
      "it could not save its data",
      (on) => breakSnapshots(redis.admin, on),
      "unsaved_store",
      /make room on its disk/,
    ],
  ])(
    "says that the server refuses writes because %s, and put says so too",
    async (_, refuse, code, remedy) => {
      onTestFinished(async () => void (await refuse(false)));
      const inbox = openInbox();
      await inbox.ready();
      await refuse(true);
      const failed = [inbox.ready(), openInbox().ready(), inbox.put([entryOf()])];
      for (const error of await Promise.all(failed.map(refusal)))
        expect(error).toMatchObject({ code, message: remedy });
      await refuse(false);
      await inbox.ready();
    },
  );

  it("says that the server is a replica", async () => {
    const replica = await privateReplica(redis.server);
    opened.push(replica);
    expect((await refusal(openInbox({ connection: replica.url }).ready())).code).toBe("read_only_store");
  });

  it.each([{}, { lifo: true }, { delay: 1 }, { priority: 3 }])(
    "adds no job that a worker sees, and leaves none, with the job options %o",
    async (jobOptions) => {
      const seen: string[] = [];
      const worker = openWorker(async ({ name }) => void seen.push(name));
      await worker.waitUntilReady();
      const inbox = openInbox({ jobOptions });
      for (let n = 0; n < 20; n += 1) await inbox.ready();
      const done = new Promise((resolve) => worker.on("completed", resolve));
      await inbox.put([entryOf()]);
      await done;
      expect(seen).toEqual(["esim.enabled"]);
      expect(await redis.admin.keys("*probe*")).toEqual([]);
      expect(await inbox.stats()).toMatchObject({ states: { ready: 0, leased: 0, dead: 0 } });
    },
  );
});

describe("a server that may lose events", () => {
  it("is refused while it may evict keys, at the start and later", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const inbox = openInbox();
    await inbox.put([entryOf()]);
    await redis.admin.config("SET", "maxmemory-policy", "volatile-ttl");
    const { code, message } = await refusal(openInbox().ready());
    expect({ code, message }).toMatchObject({
      code: "evicting_store",
      message: /is volatile-ttl.*noeviction/,
    });
    vi.advanceTimersByTime(10_000);
    expect((await refusal(inbox.put([entryOf()]))).code).toBe("evicting_store");
    await redis.admin.config("SET", "maxmemory-policy", "noeviction");
    expect(await inbox.put([entryOf()])).toEqual(["stored"]);
    vi.useRealTimers();
  });

  it("is accepted with allowEviction, and is then not durable; BullMQ prints no warning of its own", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    await redis.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const inbox = openInbox({ allowEviction: true });
    expect(await inbox.put([entryOf()])).toEqual(["stored"]);
    expect(inbox.capabilities.durable).toBe(false);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it("is reported when it writes no append-only file, and when its appendfsync is everysec", async () => {
    await redis.admin.config("SET", "appendfsync", "everysec");
    const everysec = lineLogger();
    await openInbox({ logger: everysec.logger }).ready();
    expect(everysec.lines).toEqual([expect.stringMatching(/can be lost: those of the last second.*waitAof/)]);
    await redis.admin.config("SET", "appendfsync", "always");
    const always = lineLogger();
    await openInbox({ logger: always.logger }).ready();
    expect(always.lines).toEqual([]);
    await redis.admin.config("SET", "appendfsync", "everysec");
    await redis.admin.config("SET", "appendonly", "no");
    const off = lineLogger();
    const lossy = openInbox({ logger: off.logger });
    await lossy.ready();
    expect(off.lines).toEqual(["persistence_off"]);
    expect(lossy.capabilities.durable).toBe(false);
  });

  it("is refused with waitAof when its version has no WAITAOF", async ({ skip }) => {
    const version = /redis_version:(\d+)\.(\d+)/.exec(await redis.admin.info("server"));
    if (Number(version?.[1]) > 7 || Number(version?.[2]) >= 2) skip("this Redis has WAITAOF");
    const { code, message } = await refusal(openInbox({ waitAof: true }).ready());
    expect({ code, message }).toMatchObject({
      code: "invalid_option",
      message: /needs Redis 7.2.*appendfsync to always/,
    });
  });
});

describe("for operators", () => {
  it("counts by state, and says how long the oldest event has waited", async () => {
    const inbox = openInbox({ jobOptions: { attempts: 1 } });
    expect(await inbox.stats()).toMatchObject({ oldestReadyMs: null });
    await inbox.put(["good", "bad", "worse"].map((id) => entryOf(id)));
    await workOff(3, async (id) => {
      if (id !== "good") throw new Error("no luck");
    });
    await inbox.put([entryOf("next")]);
    const { states, oldestReadyMs } = await inbox.stats();
    expect(states).toEqual({ ready: 1, leased: 0, done: 1, dead: 2, unhandled: 0 });
    expect(oldestReadyMs).toBeGreaterThanOrEqual(0);
    expect(await inbox.count({ state: "dead" })).toBe(2);
    expect(await inbox.count({ ids: ["bad", "next", "none"] })).toBe(2);
    expect(await inbox.count({ ids: ["bad", "next"], state: "dead" })).toBe(1);
    expect(await inbox.count()).toBe(4);
  });

  it("says how long a prioritised event, and a delayed one that is overdue, have waited", async () => {
    await openInbox({ jobOptions: { priority: 2 } }).put([entryOf()]);
    const inbox = openInbox({ jobOptions: { delay: 1 } });
    expect((await inbox.stats()).oldestReadyMs).toBeGreaterThanOrEqual(0);
    await redis.admin.flushall();
    await openInbox({ jobOptions: { delay: 3_600_000 } }).put([entryOf()]);
    expect((await inbox.stats()).oldestReadyMs).toBeNull();
    await inbox.put([entryOf()]);
    await expect.poll(async () => (await inbox.stats()).oldestReadyMs).toBeGreaterThan(0);
  });

  it("counts the wait of a redriven event from its redrive, and of a retried one from its last try", async () => {
    const queue = openQueue();
    const inbox = openInbox({ queue, jobOptions: { attempts: 1 } });
    await inbox.put([entryOf("a")]);
    const anHourAgo = String(Date.now() - 3_600_000);
    const { id } = await jobOf(queue, "a");
    await redis.admin.hset(`bull:events:${id}`, "timestamp", anHourAgo);
    expect((await inbox.stats()).oldestReadyMs).toBeGreaterThan(3_000_000);
    await workOff(1, () => Promise.reject(new Error("no luck")));
    await inbox.redrive();
    expect((await inbox.stats()).oldestReadyMs).toBeLessThan(3_000_000);
    expect((await inbox.get({ source: "default", id: "a" }))?.body).toEqual(expect.any(Uint8Array));
    await redis.admin.hset(
      `bull:events:${id}`,
      "data",
      JSON.stringify((await jobOf(queue, "a")).data, omitRedrive),
    );
    expect((await inbox.stats()).oldestReadyMs).toBeGreaterThan(3_000_000);
    await redis.admin.hset(`bull:events:${id}`, "processedOn", Date.now());
    expect((await inbox.stats()).oldestReadyMs).toBeLessThan(3_000_000);
  });

  it("redrives a job of another program with its data as it is", async () => {
    const queue = openQueue();
    await queue.add("other", null);
    await workOff(1, () => Promise.reject(new Error("no luck")));
    const inbox = openInbox({ queue });
    expect(await inbox.redrive()).toBe(1);
    expect((await inbox.stats()).oldestReadyMs).toBeGreaterThanOrEqual(0);
    expect((await queue.getWaiting()).map(({ data }) => data)).toEqual([null]);
  });

  it("lists to the end, though jobs are removed between their ids and their data", async () => {
    const queue = openQueue();
    const inbox = openInbox({ queue });
    await inbox.put(Array.from({ length: 7 }, (_, n) => entryOf(`ready_${n}`)));
    vi.spyOn(queue, "getJobs").mockImplementationOnce(async (...args) => {
      const [removed, ...jobs] = await Queue.prototype.getJobs.apply(queue, args);
      await removed?.remove();
      return jobs;
    });
    const first = await inbox.list({}, { limit: 3 });
    expect(first.rows).toHaveLength(2);
    const next = await inbox.list({}, { limit: 10, cursor: first.nextCursor ?? "" });
    expect(next).toMatchObject({ rows: { length: 3 }, nextCursor: null });
  });

  it("ends a list with a full page", async () => {
    const inbox = openInbox();
    await inbox.put(["a", "b", "c"].map((id) => entryOf(id)));
    expect(await inbox.list({}, { limit: 3 })).toMatchObject({ rows: { length: 3 }, nextCursor: null });
  });

  it("lists all states page by page, with the error and the attempts of dead events", async () => {
    const inbox = openInbox({ jobOptions: { attempts: 1 } });
    await inbox.put(Array.from({ length: 7 }, (_, n) => entryOf(`dead_${n}`)));
    await workOff(7, () => Promise.reject(new Error("no luck")));
    await inbox.put(Array.from({ length: 7 }, (_, n) => entryOf(`ready_${n}`)));
    const ids: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await inbox.list({}, { limit: 3, ...(cursor && { cursor }) });
      ids.push(...page.rows.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(ids).toHaveLength(14);
    expect(new Set(ids).size).toBe(14);
    const { rows } = await inbox.list({ state: "dead" });
    expect(rows).toHaveLength(7);
    expect(rows[0]).toMatchObject({ state: "dead", error: "no luck", attempts: 1, type: "esim.enabled" });
  });

  it("shows the stack of the last attempt with a dead event, and none in a list or after a redrive", async () => {
    const inbox = openInbox({ jobOptions: { attempts: 1 } });
    await inbox.put([entryOf("a")]);
    await workOff(1, async function outOfStock() {
      throw new Error("no luck:\nnone left");
    });
    const key = { source: "default", id: "a" };
    expect(await inbox.get(key)).toMatchObject({
      error: "no luck:\nnone left",
      stack: expect.stringMatching(/^at .*outOfStock.*(?:\nat .*)*$/),
    });
    expect((await inbox.list({ state: "dead" })).rows[0]).not.toHaveProperty("stack");
    await inbox.redrive();
    expect(await inbox.get(key)).toMatchObject({ error: null, stack: null });
  });

  it("makes dead events ready again which counts no attempt anew, and still knows their ids", async () => {
    const inbox = openInbox({ jobOptions: { attempts: 1 } });
    const entries = ["a", "b", "c"].map((id) => entryOf(id));
    await inbox.put(entries);
    await workOff(3, () => Promise.reject(new Error("no luck")));
    expect(await inbox.redrive({ ids: ["b", "none"] })).toBe(1);
    expect(await inbox.get({ source: "default", id: "b" })).toMatchObject({ state: "ready", attempts: 1 });
    expect(await inbox.redrive({}, 1)).toBe(1);
    expect(await inbox.redrive()).toBe(1);
    expect(await inbox.redrive()).toBe(0);
    expect(await inbox.put(entries)).toEqual(["already_stored", "already_stored", "already_stored"]);
    expect(await inbox.count({ state: "ready" })).toBe(3);
  });

  it("keeps dead events, though the queue's default is to remove failed jobs", async () => {
    const queue = openQueue({ defaultJobOptions: { attempts: 1, removeOnFail: true } });
    const inbox = openInbox({ queue });
    await inbox.put([entryOf("a")]);
    await workOff(1, () => Promise.reject(new Error("no luck")));
    expect(await inbox.get({ source: "default", id: "a" })).toMatchObject({
      state: "dead",
      error: "no luck",
    });
  });

  it("does not redrive a dead event whose id was forgotten, and has been stored again since", async () => {
    const queue = openQueue();
    const inbox = openInbox({ queue, jobOptions: { attempts: 1 } });
    await inbox.put([entryOf("a")]);
    await workOff(1, () => Promise.reject(new Error("no luck")));
    const [job] = await queue.getFailed();
    await queue.removeDeduplicationKey(job?.opts.deduplication?.id ?? "");
    expect(await inbox.put([entryOf("a")])).toEqual(["stored"]);
    expect(await inbox.redrive()).toBe(0);
    expect(await inbox.count({ state: "ready" })).toBe(1);
  });

  it("deletes dead events with their ids, which can be stored again", async () => {
    const inbox = openInbox({ jobOptions: { attempts: 1 } });
    const entries = ["a", "b", "c"].map((id) => entryOf(id));
    await inbox.put(entries);
    await workOff(3, () => Promise.reject(new Error("no luck")));
    expect(await inbox.purgeDead({ ids: ["b"] })).toBe(1);
    expect(await inbox.purgeDead({}, 1)).toBe(1);
    expect(await inbox.purgeDead({})).toBe(1);
    expect(await inbox.put(entries)).toEqual(["stored", "stored", "stored"]);
  });

  it("leaves an event that another operator redrives while dead events are deleted by their ids", async () => {
    const queue = openQueue();
    const inbox = openInbox({ queue, jobOptions: { attempts: 1 } });
    await inbox.put(["a", "b", "c"].map((id) => entryOf(id)));
    await workOff(3, () => Promise.reject(new Error("no luck")));
    const [redriven, taken] = await Promise.all(["a", "b"].map((id) => jobOf(queue, id)));
    vi.spyOn(queue, "getJob").mockImplementation(async (id) => {
      const job = await Queue.prototype.getJob.call(queue, id);
      const getState = job?.getState.bind(job);
      return Object.assign(job ?? {}, {
        async getState() {
          const state = await getState?.();
          if (job?.id === redriven?.id || job?.id === taken?.id) await job?.retry("failed");
          if (job?.id === taken?.id) await redis.admin.set(`bull:events:${job?.id}:lock`, "of a worker");
          return state;
        },
      }) as typeof job;
    });
    expect(await inbox.purgeDead({ ids: ["a", "b", "c"] })).toBe(1);
    vi.restoreAllMocks();
    expect(await inbox.count({ state: "ready" })).toBe(2);
    expect(await inbox.get({ source: "default", id: "a" })).toMatchObject({ state: "ready" });
    expect(await redis.admin.keys("*:de:*")).toHaveLength(2);
  });

  it("shows an event as ready whose job waits for children that its processor added", async () => {
    const inbox = openInbox();
    await inbox.put([entryOf("parent")]);
    const worker = workWithChild();
    await expect.poll(() => openQueue().getWaitingChildrenCount()).toBe(1);
    expect((await inbox.stats()).states).toMatchObject({ ready: 1, done: 0 });
    expect(await inbox.get({ source: "default", id: "parent" })).toMatchObject({ state: "ready" });
    expect((await inbox.list({ state: "ready" })).rows).toMatchObject([{ id: "parent" }]);
    expect(await inbox.count({ ids: ["parent"], state: "ready" })).toBe(1);
    await worker.close();
  });

  it("deletes a dead event by its id with all that BullMQ keeps of its job, and BullMQ says so", async () => {
    const queue = openQueue();
    const inbox = openInbox({ jobOptions: { attempts: 1 } });
    await inbox.put([entryOf("parent")]);
    const worker = workWithChild();
    const children = openWorker(async () => "a result", {}, "children");
    await expect.poll(() => queue.getFailedCount()).toBe(1);
    await Promise.all([worker.close(), children.close()]);
    const job = await jobOf(queue, "parent");
    await job.log("a line");
    expect(await redis.admin.keys(`bull:events:${job.id}:*`)).toContain(`bull:events:${job.id}:processed`);

    expect(await inbox.purgeDead({ ids: ["parent"] })).toBe(1);
    expect(await redis.admin.keys(`bull:events:${job.id}*`)).toEqual([]);
    const [[, fields] = []] = await redis.admin.xrevrange("bull:events:events", "+", "-", "COUNT", 1);
    expect(fields).toEqual(["event", "removed", "jobId", job.id, "prev", "failed"]);
  });

  it.each<[string, (queue: Queue, job: Job) => Promise<unknown>]>([
    ["job.remove()", (_, job) => job.remove()],
    ["queue.clean()", (queue) => queue.clean(0, 10, "wait")],
    ["queue.drain()", (queue) => queue.drain()],
    ["queue.obliterate()", (queue) => queue.obliterate({ force: true })],
  ])("stores an event again whose job was dropped by %s", async (_, drop) => {
    const queue = openQueue();
    const inbox = openInbox({ queue });
    await inbox.put([entryOf("a")]);
    await drop(queue, await jobOf(queue, "a"));
    expect(await inbox.get({ source: "default", id: "a" })).toBeUndefined();
    expect(await inbox.put([entryOf("a")])).toEqual(["stored"]);
  });

  it("finds an event by its id in every source that it has had, in a process that put none", async () => {
    const id = randomUUID();
    await openInbox().put([entryOf(id), entryOf(id, { source: "eu" }), entryOf("x", { source: "us" })]);
    const inbox = openInbox();
    const { rows } = await inbox.list({ ids: [id] });
    expect(rows.map(({ source }) => source).sort()).toEqual(["default", "eu"]);
    expect(await inbox.count({ ids: [id], source: "eu" })).toBe(1);
  });

  it("finds events by their ids after the server has lost its data while the receiver ran on", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const inbox = openInbox();
    await inbox.put([entryOf("before")]);
    await redis.admin.flushall();
    vi.advanceTimersByTime(10_000);
    await inbox.put([entryOf("after")]);
    vi.useRealTimers();
    expect(await openInbox().count({ ids: ["after"] })).toBe(1);
  });

  it("says done of an id whose job has left the queue", async () => {
    const inbox = openInbox({ jobOptions: { removeOnComplete: true } });
    await inbox.put([entryOf("a")]);
    await workOff(1);
    expect(await inbox.get({ source: "default", id: "a" })).toMatchObject({ state: "done", body: null });
    expect(await inbox.get({ source: "default", id: "none" })).toBeUndefined();
  });

  it("refuses to redrive done events", async () => {
    const { code, message } = await refusal(openInbox().redrive({ state: "done" as "dead" }));
    expect({ code, message }).toMatchObject({
      code: "invalid_input",
      message: /state done ready.*dead events/,
    });
  });

  it("refuses filters that BullMQ has no index for, and says why", async () => {
    const inbox = openInbox();
    for (const [filter, text] of [
      [{ types: ["esim.enabled"] }, /by type/],
      [{ idPrefix: "msg" }, /write the whole id/],
      [{ since: new Date() }, /by time/],
      [{ error: "no SIM" }, /by error/],
      [{ source: "eu" }, /by source alone/],
      [{ state: "unhandled" }, /are dead/],
    ] as const) {
      const { code, message } = await refusal(inbox.count(filter));
      expect({ code, message }).toMatchObject({ code: "invalid_input", message: text });
    }
  });
});
