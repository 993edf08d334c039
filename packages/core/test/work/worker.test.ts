import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  createWorker,
  defineCatalog,
  type EsimEvents,
  type Handler,
  type HandlerContext,
  type Handlers,
  type Inbox,
  type InboxEntry,
  memoryStore,
  type TakenEvent,
  type TakeOptions,
  type WorkerOptions,
} from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import { memoryInbox, sampleData } from "@esim-webhooks/core/testing";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { keptLog } from "../../../../test/support/kept-log.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { readWorkerOptions } from "../../src/work/worker-options.ts";
import { block, pass, passUntil, stopTime } from "./stopped-time.ts";

expectWarnings("event_dead", "handler_failed");

/** An entry whose type may be in no catalog: its data is that of `esim.enabled`. */
function anyEntry(id: string, type = "esim.enabled"): InboxEntry {
  const event = { id, type, timestamp: "2026-01-01T00:00:00Z", data: sampleData("esim.enabled") };
  const body = Buffer.from(JSON.stringify({ ...event, id: undefined }));
  return { source: "default", id, type, event, body, receivedAt: new Date() };
}

const many = (count: number) => Array.from({ length: count }, (_, n) => anyEntry(`msg_${n}`));
const key = (id: string) => ({ source: "default", id });

describe("createWorker", () => {
  const handlers = { "*": () => {} };
  const mistakes: [string, () => unknown, string][] = [
    [
      "the handlers before the inbox",
      () => createWorker(handlers as never, memoryInbox() as never),
      "a map of handlers was passed as the inbox. Swap the arguments.",
    ],
    [
      "a store in place of the inbox",
      () => createWorker(memoryStore() as never, handlers),
      "a dedupe store was passed as the inbox. Pass an inbox, then handlers, then options",
    ],
    [
      "handlers twice",
      () => createWorker(memoryInbox(), handlers, handlers as never),
      "a map of handlers was passed as the options. Pass an inbox, then handlers, then options",
    ],
    [
      "a promise of an inbox",
      () => createWorker(Promise.resolve(memoryInbox()) as never, handlers),
      "a promise was passed as the inbox. Await it.",
    ],
    [
      "a promise of handlers",
      () => createWorker(memoryInbox(), Promise.resolve(handlers) as never),
      "a promise was passed as the handlers. Await it.",
    ],
    [
      "an object that gives no events",
      () => createWorker({} as never, handlers),
      "is not an inbox that a worker can take events from. Pass an inbox such as sqliteInbox(…)",
    ],
    [
      "a catalog that defineCatalog did not make",
      () => createWorker(memoryInbox(), handlers, { catalog: { parse() {}, check() {} } as never }),
      "expected a catalog: use defineCatalog",
    ],
  ];

  it.each(mistakes)("says of a mistake in its arguments what to pass: %s", (_, create, message) => {
    expect(create).toThrow(expect.objectContaining({ code: "invalid_option", where: "createWorker" }));
    expect(create).toThrow(message);
  });

  it("has the defaults of its docstrings", () => {
    expect(readWorkerOptions({})).toMatchObject({
      ...{ concurrency: 20, typeLimits: {}, leaseMs: 30_000, maxAttempts: 20, maxWaitMs: 86_400_000 },
      ...{ pollMs: 1000, shutdownMs: 20_000 },
    });
  });

  it.each([
    [{ backoff: 1000 }, "invalid_option", '"backoff": expected a function, such as fullJitter(…)'],
    [{ concurrency: 0 }, "invalid_option", '"concurrency"'],
    [{ typeLimits: { "esim.enabled": 0 } }, "invalid_option", '"typeLimits.esim.enabled"'],
    [{ typeLimits: { "esim.enabeld": 1 } }, "unknown_event_type", 'typeLimits names "esim.enabeld"'],
  ])("refuses a wrong option: %j", (options, code, message) => {
    const create = () => createWorker(memoryInbox(), handlers, options as never);
    expect(create).toThrow(expect.objectContaining({ code, where: "createWorker" }));
    expect(create).toThrow(message);
  });

  it.each([undefined, {}, { signal: "SIGTERM" }])("refuses to run without a signal: %j", async (options) => {
    const run = createWorker(memoryInbox(), handlers).run(options as never);
    await expect(run).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("worker.run has no signal"),
    });
  });

  it.each([1, 2, 5])(
    "continues with %i at a time after leases were lost before their events could be settled",
    async (concurrency) => {
      stopTime();
      let isAway = true;
      const whenThere = <Answer>(answer: () => Promise<Answer>) =>
        isAway ? Promise.reject(new Error("connection lost")) : answer();
      const memory = memoryInbox();
      const inbox: Inbox = {
        ...memory,
        extend: (leases, leaseMs) => whenThere(() => memory.extend(leases, leaseMs)),
        settle: (settlements) => whenThere(() => memory.settle(settlements)),
      };
      await memory.put(many(20 * concurrency));
      const stop = new AbortController();
      let runs = 0;
      const handler = () => {
        runs += 1;
        if (runs > 2 * concurrency) isAway = false;
        if (runs >= 20 * concurrency) stop.abort();
      };
      const worker = createWorker(inbox, { "*": handler }, { concurrency, leaseMs: 60, shutdownMs: 100 });
      await passUntil(worker.run({ signal: stop.signal }));
      expect(runs).toBeGreaterThanOrEqual(20 * concurrency);
    },
  );

  it("handles events without a pause while more are due, and settles all of them before it stops", async () => {
    const inbox = memoryInbox();
    await inbox.put(many(6000));
    const stop = new AbortController();
    const started = new Set<string>();
    const handler = ({ id }: { id: string }) => {
      started.add(id);
      if (started.size >= 5000) stop.abort();
    };
    await createWorker(inbox, { "*": handler }, { concurrency: 50 }).run({ signal: stop.signal });
    expect(await inbox.count({ state: "done" })).toBe(started.size);
    expect(await inbox.count({ state: "leased" })).toBe(0);
  });

  it("takes nothing more if it is stopped while a take is under way", async () => {
    const memory = memoryInbox();
    const stop = new AbortController();
    const takes: TakeOptions[] = [];
    const inbox: Inbox = {
      ...memory,
      take(options) {
        takes.push(options);
        stop.abort();
        return memory.take(options);
      },
    };
    await inbox.put([anyEntry("a")]);
    const typeLimits = { "esim.enabled": 1 };
    await createWorker(inbox, { "*": () => {} }, { typeLimits }).run({ signal: stop.signal });
    expect(takes.map(({ suspects }) => suspects)).toEqual([true]);
    expect(await inbox.get(key("a"))).toMatchObject({ state: "ready", attempts: 0 });
  });

  it("takes no more while twice its concurrency are handled but not settled: a crash would run them again", async () => {
    const memory = memoryInbox();
    const concurrency = 2;
    let handled = 0;
    let settled = 0;
    let mostUnsettled = 0;
    const inbox: Inbox = {
      ...memory,
      async settle(settlements) {
        for (let tick = 0; tick < 100; tick += 1) await new Promise(setImmediate); // time to take all the others
        settled += settlements.length;
        return memory.settle(settlements);
      },
    };
    await inbox.put(many(50));
    const stop = new AbortController();
    const handler = () => {
      handled += 1;
      mostUnsettled = Math.max(mostUnsettled, handled - settled);
      if (handled === 50) stop.abort();
    };
    await createWorker(inbox, { "*": handler }, { concurrency }).run({ signal: stop.signal });
    expect(mostUnsettled).toBe(2 * concurrency);
  });

  it("settles events without a handler as unhandled, and warns once per type", async () => {
    const inbox = memoryInbox();
    const unhandled = [
      anyEntry("a", "esim.faulted"),
      anyEntry("b", "esim.faulted"),
      anyEntry("c", "esim.unheard_of"),
    ];
    const faulted = { ...sampleData("esim.faulted") };
    const bodies = unhandled.map((one) => ({
      ...one,
      body: Buffer.from(JSON.stringify({ type: one.type, timestamp: one.event?.timestamp, data: faulted })),
    }));
    await inbox.put([...bodies, anyEntry("d")]);
    const logger = keptLog();
    const stop = new AbortController();
    const worker = createWorker(
      inbox,
      { "esim.enabled": () => stop.abort() },
      { concurrency: 1, logger, pollMs: 5 },
    );
    await worker.run({ signal: stop.signal });
    for (const { id, body } of bodies)
      expect(await inbox.get(key(id))).toMatchObject({ state: "unhandled", body: new Uint8Array(body) });
    expect(await inbox.get(key("d"))).toMatchObject({ state: "done" });
    expect(logger.warn.mock.calls.map(([fields]) => fields.type)).toEqual([
      "esim.faulted",
      "esim.unheard_of",
    ]);
  });

  it.each<[string, number, Handlers<EsimEvents>]>([
    ["a type", 2, { "esim.enabled": () => {} }],
    ["a family, with types that the catalog does not have", 3, { "esim.*": () => {} }],
    ["all types", 4, { "*": () => {} }],
  ])(
    "logs at its start how many unhandled events have a handler of %s now, and leaves them for an operator",
    async (_, events, handlers) => {
      const inbox = memoryInbox();
      await inbox.put([
        anyEntry("a"),
        anyEntry("b"),
        anyEntry("c", "esim.unheard_of"),
        anyEntry("d", "port-in.failed"),
      ]);
      const taken = await inbox.take({ limit: 4, leaseMs: 1000 });
      await inbox.settle(taken.map((one) => ({ ...one, state: "unhandled" })));
      const logger = keptLog();
      const stop = new AbortController();
      logger.info.mockImplementation(() => stop.abort());
      await createWorker(inbox, handlers, { logger }).run({ signal: stop.signal });
      expect(logger.info.mock.calls[0]?.[0]).toEqual({ events });
      expect(await inbox.count({ state: "unhandled" })).toBe(4);
    },
  );

  describe("waits a day at most before the next attempt, and logs once", () => {
    const fails = () => {
      throw new Error("no stock");
    };
    const dayMs = 86_400_000;
    const cases: [string, Handler<unknown>, WorkerOptions["backoff"], number, string][] = [
      ["a backoff of Infinity", fails, () => Number.POSITIVE_INFINITY, dayMs, "Infinity ms"],
      ["a backoff of 1e300", fails, () => 1e300, dayMs, "1e+300 ms"],
      ["a backoff of NaN, in place of which the default applies", fails, () => Number.NaN, 1000, "NaN ms"],
      ["a backoff that throws, in place of which the default applies", fails, fails, 1000, "no number"],
      ["retryLater(1e300)", (_, { retryLater }) => retryLater(1e300), undefined, dayMs, "1e+300 ms"],
    ];
    it.each(cases)("%s", async (_, handler, backoff, atMostMs, given) => {
      const inbox = memoryInbox();
      await inbox.put(many(2));
      const stop = new AbortController();
      const pauses: (number | undefined)[] = [];
      const unwatch = observe({
        settle({ outcome, afterMs }) {
          if (outcome === "retry" || outcome === "waiting") pauses.push(afterMs); // the handler of an earlier test may end now
          if (pauses.length === 2) stop.abort();
        },
      });
      const logger = keptLog();
      const options = { logger, ...(backoff && { backoff }) };
      await createWorker(inbox, { "*": handler }, options).run({ signal: stop.signal });
      unwatch();
      if (atMostMs === dayMs) expect(pauses).toEqual([dayMs, dayMs]);
      for (const pauseMs of pauses) expect(pauseMs).toBeLessThanOrEqual(atMostMs);
      expect(await inbox.count({ state: "ready" })).toBe(2);
      const mistakes = logger.error.mock.calls.filter(([{ code }]) => code === "invalid_pause");
      expect(mistakes).toEqual([[expect.anything(), expect.stringContaining(` gave ${given} as the pause`)]]);
    });
  });

  it("tries an event again whose schema throws, and says so when it is dead", async () => {
    const inbox = memoryInbox();
    await inbox.put([anyEntry("a")]);
    const broken = new Error("no such rule");
    const throwing = () => {
      throw broken;
    };
    const schema = { "~standard": { version: 1 as const, vendor: "broken", validate: throwing } };
    const logger = keptLog();
    const stop = new AbortController();
    logger.error.mockImplementation(({ outcome }) => outcome === "dead" && stop.abort());
    await createWorker(
      inbox,
      { "*": () => {} },
      {
        catalog: defineCatalog({ "esim.enabled": schema }),
        maxAttempts: 2,
        backoff: () => 0,
        pollMs: 5,
        logger,
      },
    ).run({ signal: stop.signal });
    const fields = { id: "a", type: "esim.enabled", source: "default", reason: "failed", err: broken };
    expect([...logger.warn.mock.calls, ...logger.error.mock.calls].map(([line]) => line)).toMatchObject([
      { ...fields, attempt: 1, outcome: "retry", afterMs: 0 },
      { ...fields, attempt: 2, outcome: "dead", cause: "Error: no such rule" },
    ]);
    expect(await inbox.get(key("a"))).toMatchObject({ state: "dead", error: "Error: no such rule" });
  });

  it("logs where a dead event does not fit a schema, and what was expected there only in fixed texts of ours", async () => {
    const inbox = memoryInbox();
    const wrong = { ...sampleData("esim.enabled"), esimReference: 7, msisdn: "+32470123456" };
    const body = (type: string) =>
      Buffer.from(JSON.stringify({ type, timestamp: "2026-01-01T00:00:00Z", data: wrong }));
    const entries = ["esim.enabled", "line.opened"].map((type) => ({
      ...anyEntry(type, type),
      body: body(type),
    }));
    await inbox.put(entries);
    const schema = {
      "~standard": {
        version: 1 as const,
        vendor: "by-hand",
        validate: () => ({ issues: [{ path: [], message: "no line for +32470123456" }] }),
      },
    };
    const logger = keptLog();
    const stop = new AbortController();
    logger.error.mockImplementation(() => logger.error.mock.calls.length === 2 && stop.abort());
    const catalog = defineCatalog({ "line.opened": schema });
    await createWorker(inbox, { "*": () => {} }, { catalog, pollMs: 5, logger }).run({ signal: stop.signal });
    const causes = Object.fromEntries(logger.error.mock.calls.map(([{ id, cause }]) => [id, cause]));
    expect(causes).toEqual({
      "esim.enabled": "invalid: data.esimReference: expected a string",
      "line.opened": "invalid: data: does not fit the schema",
    });
    expect(await inbox.get(key("line.opened"))).toMatchObject({
      state: "dead",
      error: "invalid: data: no line for +32470123456",
    });
  });

  it.each<[string, object]>([
    [
      "throws at once",
      {
        count: () => {
          throw new Error("away");
        },
      },
    ],
    ["is missing", { count: undefined }],
    ["never answers", { count: () => new Promise(() => {}) }],
  ])("works and stops although the inbox's count %s at the start", async (_, changes) => {
    const inbox = { ...memoryInbox(), ...changes } as Inbox;
    await inbox.put([anyEntry("a")]);
    const stop = new AbortController();
    const rejected = vi.fn();
    process.on("unhandledRejection", rejected);
    await createWorker(inbox, { "*": () => stop.abort() }).run({ signal: stop.signal });
    await new Promise(setImmediate);
    process.off("unhandledRejection", rejected);
    expect(rejected).not.toHaveBeenCalled();
    expect(await inbox.get(key("a"))).toMatchObject({ state: "done" });
  });

  it("asks the inbox nothing after its run has ended, and nothing if it was stopped before it began", async () => {
    const answers = Promise.withResolvers<void>();
    const real = memoryInbox();
    const asked: string[] = [];
    const slow: Inbox = {
      ...real,
      async gauges() {
        asked.push("gauges");
        await answers.promise;
        return { ...(await real.gauges()), counts: { ...(await real.gauges()).counts, unhandled: 1 } };
      },
      async stats() {
        asked.push("stats");
        return real.stats();
      },
    };
    await createWorker(slow, { "*": () => {} }).run({ signal: AbortSignal.abort() });
    expect(asked).toEqual([]);
    const stop = new AbortController();
    let hasEnded = false;
    const running = createWorker(slow, { "*": () => {} }).run({ signal: stop.signal });
    const ended = running.then(() => (hasEnded = true));
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasEnded).toBe(false);
    answers.resolve();
    await ended;
    expect(asked).toEqual(["gauges"]);
  });

  it("handles events while a purge takes its time, and waits for it before it ends", async () => {
    const purged = Promise.withResolvers<number>();
    let isPurged = false;
    const inbox: Inbox = {
      ...memoryInbox(),
      purge: () => purged.promise.finally(() => (isPurged = true)),
    };
    await inbox.put(many(1000));
    const stop = new AbortController();
    const handled = new Set<string>();
    const handler = ({ id }: { id: string }) => {
      handled.add(id);
      if (handled.size < 1000) return;
      stop.abort();
      setTimeout(() => purged.resolve(0), 20);
    };
    await createWorker(inbox, { "*": handler }).run({ signal: stop.signal });
    expect(isPurged).toBe(true);
  });

  it("takes other events between two suspects, so that many suspects do not keep them waiting", async () => {
    const memory = memoryInbox();
    const takes: string[] = [];
    const inbox: Inbox = {
      ...memory,
      async take({ suspects = false, ...options }) {
        const taken = await memory.take(options); // there are always suspects, and always others
        if (taken.length > 0) takes.push(suspects ? "suspect" : "others");
        return taken;
      },
    };
    await inbox.put(many(100));
    const stop = new AbortController();
    let runs = 0;
    const handler = () => {
      runs += 1;
      if (runs === 100) stop.abort();
    };
    await createWorker(inbox, { "*": handler }, { concurrency: 2 }).run({ signal: stop.signal });
    expect(takes.slice(0, 2)).toEqual(["suspect", "others"]);
    expect(takes.join()).not.toContain("suspect,suspect");
  });

  it("accepts an inbox that has only the role of a queue", async () => {
    const { capabilities, ready, close, take, extend, settle, purge, ...rest } = memoryInbox();
    const queue = {
      capabilities: { ...capabilities, roles: ["queue"] as const },
      ready,
      close,
      take,
      extend,
      settle,
      purge,
    };
    await rest.put([anyEntry("a")]);
    const stop = new AbortController();
    await createWorker(queue, { "*": () => stop.abort() }).run({ signal: stop.signal });
    expect(await rest.get(key("a"))).toMatchObject({ state: "done" });
  });

  it("starts no handler after its lease has ended, and names the type of the handler that blocked the loop", async () => {
    stopTime();
    const leaseMs = 60_000;
    const inbox = memoryInbox();
    const others = many(19);
    await inbox.put([anyEntry("blocks", "esim.disabled"), ...others]);
    const logger = keptLog();
    const stop = new AbortController();
    const started: string[] = [];
    let elsewhere: Promise<readonly TakenEvent[]> = Promise.resolve([]);
    const handlers: Handlers<EsimEvents> = {
      "esim.disabled": () => {
        block(2 * leaseMs);
        elsewhere = inbox.take({ limit: 20, leaseMs: 60_000 }); // as another process does meanwhile
        stop.abort();
      },
      "esim.enabled": ({ id }) => void started.push(id),
    };
    await passUntil(createWorker(inbox, handlers, { leaseMs, logger }).run({ signal: stop.signal }));
    expect(started).toEqual([]);
    const taken = await elsewhere;
    const settled = await inbox.settle(taken.map((one) => ({ ...one, state: "done" })));
    expect(settled).toEqual(Array(settled.length).fill(true));
    expect(logger.warn.mock.calls[0]?.[0]).toEqual({
      types: ["esim.disabled"],
      blockedMs: expect.any(Number),
    });
  });

  it.each<WorkerOptions>([{}, { typeLimits: { "esim.enabled": 1 } }])(
    "starts no handler of an event whose take was answered when its lease had ended: %j",
    async (options) => {
      stopTime();
      const leaseMs = 60_000;
      const inbox = memoryInbox();
      await inbox.put([anyEntry("a")]);
      const stop = new AbortController();
      const started: string[] = [];
      const slow = {
        ...inbox,
        async take(limits: TakeOptions) {
          const taken = await inbox.take(limits);
          if (taken.length === 0) return taken;
          block(leaseMs);
          stop.abort();
          return taken;
        },
      };
      const handlers: Handlers<EsimEvents> = { "esim.enabled": ({ id }) => void started.push(id) };
      await passUntil(createWorker(slow, handlers, { leaseMs, ...options }).run({ signal: stop.signal }));
      expect(started).toEqual([]);
    },
  );

  it("gives an event back whose handler comes too late, without counting the attempt", async () => {
    stopTime();
    const leaseMs = 60_000;
    const inbox = memoryInbox();
    await inbox.put([anyEntry("blocks", "esim.disabled"), anyEntry("late")]);
    const stop = new AbortController();
    const attempts: number[] = [];
    const handlers: Handlers<EsimEvents> = {
      "esim.disabled": () => block(1.2 * leaseMs),
      "esim.enabled": (_, { attempt }) => {
        attempts.push(attempt);
        stop.abort();
      },
    };
    const outcomes: string[] = [];
    const unwatch = observe({ settle: ({ id, outcome }) => void (id === "late" && outcomes.push(outcome)) });
    const logger = keptLog();
    await passUntil(
      createWorker(inbox, handlers, { leaseMs, pollMs: 20, logger }).run({ signal: stop.signal }),
    );
    unwatch();
    expect(attempts).toEqual([1]);
    expect(logger.warn.mock.calls).toContainEqual([
      { id: "late", type: "esim.enabled", source: "default" },
      expect.stringContaining("ended before its handler could start"),
    ]);
    expect(outcomes).toEqual(["given_back", "done"]);
  });

  it("names the types of the handlers that ran while the loop was blocked after an await", async () => {
    stopTime();
    const leaseMs = 60;
    const inbox = memoryInbox();
    await inbox.put([anyEntry("a"), anyEntry("b", "esim.disabled")]);
    const logger = keptLog();
    const stop = new AbortController();
    logger.warn.mockImplementation(({ types }) => types && stop.abort());
    const handlers: Handlers<EsimEvents> = {
      "esim.enabled": async (_, { signal }) => {
        await new Promise(setImmediate);
        block(2 * leaseMs);
        if (!signal.aborted) await once(signal, "abort");
      },
      "esim.disabled": async (_, { signal }) => void (await once(signal, "abort")),
    };
    await passUntil(
      createWorker(inbox, handlers, { leaseMs, logger, shutdownMs: 0 }).run({ signal: stop.signal }),
    );
    const warned = logger.warn.mock.calls.map(([fields]) => fields).find(({ types }) => types);
    expect(warned).toEqual({ types: ["esim.enabled", "esim.disabled"], blockedMs: expect.any(Number) });
  });

  it("warns the process once that a handler failed, and once that an event is dead, if it has no logger", async () => {
    const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warnings.mockRestore());
    vi.resetModules(); // once per process
    const { createWorker } = await import("@esim-webhooks/core");
    const { memoryInbox } = await import("@esim-webhooks/core/testing");
    const inbox = memoryInbox();
    await inbox.put(many(3));
    const stop = new AbortController();
    let calls = 0;
    const handlers: Handlers<EsimEvents> = {
      "*": () => {
        if (++calls === 6) stop.abort();
        throw new Error("out of stock");
      },
    };
    await createWorker(inbox, handlers, { maxAttempts: 2, backoff: () => 0, pollMs: 5 }).run({
      signal: stop.signal,
    });
    expect(warnings.mock.calls).toEqual([
      [
        expect.stringMatching(/^The handler failed\. Pass \{ logger \} to createWorker/),
        expect.objectContaining({ code: "handler_failed", detail: expect.stringContaining("out of stock") }),
      ],
      [
        expect.stringMatching(/^An event is dead and will not be tried again \(failed\)\. Pass \{ logger \}/),
        expect.objectContaining({ code: "event_dead", detail: expect.stringContaining("out of stock") }),
      ],
    ]);
  });

  describe("on a clock that stands still", () => {
    /** Runs a worker until the test ends. */
    function running(
      inbox: Inbox,
      handlers: Handlers<EsimEvents>,
      options: WorkerOptions = {},
      create = createWorker,
    ) {
      const stop = new AbortController();
      const worker = create(inbox, handlers, { shutdownMs: 0, ...options });
      const run = worker.run({ signal: stop.signal });
      onTestFinished(async () => {
        stop.abort();
        await pass(1);
        await run;
      });
      return worker;
    }

    /** An inbox, and the options and the time of each of its takes. */
    function watchedInbox(changes: Partial<Inbox> = {}) {
      const memory = memoryInbox();
      const takes: { readonly at: number; readonly options: TakeOptions }[] = [];
      const inbox: Inbox = {
        ...memory,
        take(options) {
          takes.push({ at: performance.now(), options });
          return memory.take(options);
        },
        ...changes,
      };
      const times = (suspects: boolean) =>
        takes.filter(({ options }) => (options.suspects ?? false) === suspects).map(({ at }) => at);
      return { inbox, takes, times };
    }

    const gaps = (times: readonly number[]) =>
      times.slice(1).map((at, index) => at - (times[index] as number));

    /** The package, loaded again, where each random number is just below 1: the longest pauses. */
    async function withLongestPauses() {
      vi.spyOn(Math, "random").mockReturnValue(0.999_999);
      onTestFinished(() => void vi.restoreAllMocks());
      vi.resetModules();
      const { createWorker } = await import("@esim-webhooks/core");
      const { defaultBackoff } = await import("../../src/work/worker-options.ts");
      return { createWorker, defaultBackoff };
    }

    it("runs no more handlers of a type than its limit, and leaves the other places to other types", async () => {
      stopTime();
      const { inbox, takes } = watchedInbox();
      await inbox.put([0, 1, 2, 3, 4, 5].map((n) => anyEntry(`limited_${n}`)));
      await inbox.put([0, 1, 2, 3, 4, 5].map((n) => anyEntry(`other_${n}`, "esim.disabled")));
      const open: { readonly type: string; end(): void }[] = [];
      const handler = ({ type }: { type: string }) =>
        new Promise<void>((resolve) => open.push({ type, end: resolve }));
      const worker = running(inbox, { "*": handler }, { concurrency: 4, typeLimits: { "esim.enabled": 2 } });
      const types = () => open.map(({ type }) => type).sort();
      const half = ["esim.disabled", "esim.disabled", "esim.enabled", "esim.enabled"];
      await pass(1);
      expect(types()).toEqual(half);
      expect(worker.slots()).toEqual({ concurrency: 4, running: 4, abandoned: 0 });
      const leaseMs = 30_000;
      expect(takes.slice(1, 3).map(({ options }) => options)).toEqual([
        { limit: 2, leaseMs, only: ["esim.enabled"] },
        { limit: 2, leaseMs, except: ["esim.enabled"] },
      ]);
      for (let rounds = 0; rounds < 2; rounds += 1) {
        for (const { end } of open.splice(0)) end();
        await pass(1);
        expect(types()).toEqual(half); // without waiting for a poll
      }
      for (const { end } of open.splice(0)) end();
      await pass(1);
      expect(await inbox.count({ state: "done" })).toBe(12);
      expect(worker.slots().running).toBe(0);
    });

    it("starts the next event of a limited type when one ends, although it has other places", async () => {
      stopTime();
      const { inbox } = watchedInbox();
      await inbox.put(many(3));
      const started: string[] = [];
      const handler = ({ id }: { id: string }) => void started.push(id);
      running(inbox, { "*": handler }, { concurrency: 10, typeLimits: { "esim.enabled": 1 } });
      await pass(1);
      expect(started).toEqual(["msg_0", "msg_1", "msg_2"]);
    });

    it("says how long ago the inbox answered a take", async () => {
      stopTime();
      await pass(10_000);
      const { inbox } = watchedInbox();
      await inbox.put([anyEntry("a")]);
      const worker = running(inbox, { "*": () => new Promise(() => {}) }, { concurrency: 1 });
      expect(worker.sinceLastTakeMs()).toBe(null);
      await pass(700);
      expect(worker.sinceLastTakeMs()).toBe(700);
    });

    it.each([
      [0, 500],
      [0.5, 1000],
      [0.999, 1499],
    ])("asks an empty inbox again after pollMs, plus or minus up to a half: %d", async (random, pauseMs) => {
      stopTime();
      vi.spyOn(Math, "random").mockReturnValue(random);
      onTestFinished(() => void vi.restoreAllMocks());
      const { inbox, times } = watchedInbox();
      running(inbox, { "*": () => {} }, { pollMs: 1000 });
      await pass(10_000);
      const pauses = gaps(times(false));
      expect(pauses.length).toBeGreaterThan(5);
      for (const ms of pauses) expect(Math.abs(ms - pauseMs)).toBeLessThanOrEqual(100);
      for (const ms of gaps(times(true))) expect(ms).toBeGreaterThanOrEqual(1000);
    });

    it("asks an inbox that does not answer again after 0.2 s, 0.4 s and so on, at most 10 s, and then works on", async () => {
      const { createWorker } = await withLongestPauses();
      stopTime();
      const memory = memoryInbox();
      await memory.put([anyEntry("a")]);
      const logger = keptLog();
      const asked: number[] = [];
      const down = new Error("connection lost");
      const take: Inbox["take"] = async (options) => {
        asked.push(performance.now());
        if (asked.length <= 8) throw down;
        return memory.take(options);
      };
      running({ ...memory, take }, { "*": () => {} }, { logger }, createWorker);
      await pass(60_000);
      expect(gaps(asked).slice(0, 8)).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
      expect(logger.error.mock.calls[0]).toEqual([{ err: down }, "The inbox did not answer."]);
      expect(await memory.get(key("a"))).toMatchObject({ state: "done" });
    });

    it("settles again after 0.2 s, 0.4 s and so on, at most 5 s, when the inbox does not answer", async () => {
      const { createWorker } = await withLongestPauses();
      stopTime();
      const memory = memoryInbox();
      await memory.put([anyEntry("a")]);
      const settled: number[] = [];
      const settle: Inbox["settle"] = async (settlements) => {
        settled.push(performance.now());
        if (settled.length <= 7) throw new Error("connection lost");
        return memory.settle(settlements);
      };
      running({ ...memory, settle }, { "*": () => {} }, {}, createWorker);
      await pass(30_000);
      expect(gaps(settled)).toEqual([200, 400, 800, 1600, 3200, 5000, 5000]);
      expect(await memory.get(key("a"))).toMatchObject({ state: "done" });
    });

    it("waits for up to 1 s after the first failure of an event, doubling up to 15 minutes", async () => {
      const { defaultBackoff } = await withLongestPauses();
      expect([1, 2, 3, 10, 11, 20].map(defaultBackoff)).toEqual([999, 1999, 3999, 511_999, 899_999, 899_999]);
    });

    it("purges while an inbox does not answer that, and logs it", async () => {
      stopTime();
      const down = new Error("connection lost");
      const purge = vi.fn(() => Promise.reject(down));
      const { inbox } = watchedInbox({ purge });
      await inbox.put([anyEntry("a")]);
      const logger = keptLog();
      running(inbox, { "*": () => {} }, { logger });
      await pass(1000);
      expect(logger.error.mock.calls[0]).toEqual([{ err: down }, "The inbox did not answer."]);
      expect(await inbox.get(key("a"))).toMatchObject({ state: "done" });
    });

    it("handles a suspect alone, says so, and keeps the limit of its type while it runs longer than a lease", async () => {
      stopTime();
      const leaseMs = 5000;
      const { inbox } = watchedInbox();
      await inbox.put([anyEntry("suspect")]);
      await inbox.take({ limit: 1, leaseMs }); // by a worker whose process ends
      await pass(leaseMs);
      await inbox.put([anyEntry("other", "esim.disabled"), anyEntry("same")]);
      const started: string[] = [];
      const logger = keptLog();
      const handler = ({ id }: { id: string }) => {
        started.push(id);
        return id === "suspect" ? new Promise(() => {}) : undefined;
      };
      running(inbox, { "*": handler }, { leaseMs, logger, typeLimits: { "esim.enabled": 1 } });
      await pass(leaseMs - 100);
      expect(started).toEqual(["suspect"]);
      expect(logger.warn.mock.calls[0]).toEqual([
        { id: "suspect", type: "esim.enabled", source: "default", attempt: 2 },
        expect.stringContaining("An event is handled alone"),
      ]);
      await pass(leaseMs);
      expect(started).toEqual(["suspect", "other"]);
    });

    it("leaves other events as much time between two suspects as the first one took", async () => {
      stopTime();
      const memory = memoryInbox();
      await memory.put(many(3));
      await memory.take({ limit: 3, leaseMs: 1000 }); // by a worker whose process ends
      await pass(1000);
      const started: number[] = [];
      const handler = async ({ type }: { type: string }) => {
        if (type === "esim.disabled") return new Promise((resolve) => setTimeout(resolve, 100));
        started.push(performance.now());
        return new Promise((resolve) => setTimeout(resolve, 2000));
      };
      await memory.put(Array.from({ length: 500 }, (_, n) => anyEntry(`other_${n}`, "esim.disabled")));
      running(memory, { "*": handler }, { concurrency: 2, pollMs: 100 });
      await pass(10_000);
      const [first = 0, second = 0] = gaps(started);
      expect([first, second].map((ms) => ms >= 4000 && ms < 4400)).toEqual([true, true]);
    });

    it("reports how long each attempt took, and how each batch of results was stored", async () => {
      stopTime();
      await pass(5000);
      const { inbox } = watchedInbox();
      await inbox.put([anyEntry("a")]);
      const ends: SettleMessage[] = [];
      const batches: unknown[] = [];
      onTestFinished(
        observe({
          settle: (end) => ends.push(end),
          settlements: ({ settlements, outcome }) => batches.push([settlements, outcome]),
        }),
      );
      running(inbox, { "*": () => new Promise((resolve) => setTimeout(resolve, 300)) });
      await pass(1000);
      expect(ends).toMatchObject([{ id: "a", type: "esim.enabled", outcome: "done", durationMs: 300 }]);
      expect(batches).toEqual([[1, "settled"]]);
    });

    it("counts, of the events without a handler, those that have one now, and asks for no statistics if there are none", async () => {
      stopTime();
      const memory = memoryInbox();
      const of = (state: string, type: string | null, count: number) => ({ state, type, count });
      const types = [
        of("unhandled", "esim.enabled", 2),
        of("unhandled", "esim.faulted", 4),
        of("unhandled", null, 8),
        of("dead", "esim.enabled", 16),
      ];
      const stats = vi.fn(async () => ({ ...(await memory.stats()), types }) as never);
      const gaugesWith = (unhandled: number) => async () => {
        const gauges = await memory.gauges();
        return { ...gauges, counts: { ...gauges.counts, unhandled } };
      };
      const logger = keptLog();
      const options = { logger };
      running({ ...memory, stats, gauges: gaugesWith(0) }, { "*": () => {} }, options);
      await pass(1);
      expect(stats).not.toHaveBeenCalled();
      running({ ...memory, stats, gauges: gaugesWith(14) }, { "esim.assigned": () => {} }, options);
      await pass(1);
      expect([stats.mock.calls.length, logger.info.mock.calls]).toEqual([1, []]);
      running({ ...memory, stats, gauges: gaugesWith(14) }, { "esim.enabled": () => {} }, options);
      await pass(1);
      expect(logger.info.mock.calls).toEqual([[{ events: 2 }, expect.stringContaining("inbox retry")]]);
    });

    it("logs why a handler discarded an event, and nothing of the kind for others", async () => {
      stopTime();
      const { inbox } = watchedInbox();
      await inbox.put([anyEntry("a"), anyEntry("b", "esim.disabled")]);
      const logger = keptLog();
      const handlers: Handlers<EsimEvents> = {
        "esim.enabled": (_, context) => context.discard("no such order"),
        "esim.disabled": () => {},
      };
      running(inbox, handlers, { logger });
      await pass(1);
      const discarded = logger.info.mock.calls.filter(([, text]) =>
        text.startsWith("An event was discarded"),
      );
      const about = { id: "a", type: "esim.enabled", source: "default" };
      expect(discarded.map(([fields]) => fields)).toEqual([{ ...about, reason: "no such order" }]);
      expect(await inbox.count({ state: "done" })).toBe(2);
    });

    it("keeps with an event that its handler has asked for a retry", async () => {
      stopTime();
      const { inbox } = watchedInbox();
      await inbox.put([anyEntry("a")]);
      running(inbox, { "*": (_, context) => context.retryLater(60_000) });
      await pass(1);
      expect(await inbox.get(key("a"))).toMatchObject({ state: "ready", error: "retryLater" });
    });

    it.each([
      [20, /^invalid: (?:data\.field_\d+: wrong; ){19}data\.field_19: wrong$/],
      [23, /^invalid: (?:data\.field_\d+: wrong; ){20}3 more$/],
    ])("names the first 20 of %i fields that do not fit their schema", async (count, error) => {
      stopTime();
      const { inbox } = watchedInbox();
      await inbox.put([anyEntry("a")]);
      const issues = Array.from({ length: count }, (_, n) => ({ path: [`field_${n}`], message: "wrong" }));
      const schema = {
        "~standard": { version: 1 as const, vendor: "own", validate: () => ({ issues }) },
      };
      running(inbox, { "*": () => {} }, { catalog: defineCatalog({ "esim.enabled": schema }) as never });
      await pass(1);
      const stored = await inbox.get(key("a"));
      expect([stored?.state, stored?.error]).toEqual(["dead", expect.stringMatching(error)]);
    });

    it.each([
      ["rolled_back", () => {}, "lost"],
      ["committed", () => {}, "done"],
      ["rolled_back", (_: unknown, { retryLater }: HandlerContext) => retryLater(60_000), "waiting"],
      ["unused", () => {}, "done"],
    ] as const)("with a transaction that is %s: the event is %s", async (transaction, handler, outcome) => {
      stopTime();
      const { inbox } = watchedInbox({
        transact: async (_, work) => {
          await work({});
          return transaction;
        },
      });
      await inbox.put([anyEntry("a")]);
      const ends: string[] = [];
      onTestFinished(observe({ settle: (end) => ends.push(end.outcome) }));
      running(inbox, { "*": handler });
      await pass(1);
      expect(ends).toEqual([outcome]);
    });
  });

  describe("with a time limit", () => {
    beforeEach(stopTime);

    /** Runs a worker of one event until its handler has been called `calls` times and the last result is settled. */
    async function settlesOf(
      handler: (context: HandlerContext, call: number) => unknown,
      options: WorkerOptions,
      calls = 1,
      onSettle: (settled: number) => void = () => {},
    ) {
      const inbox = memoryInbox();
      const id = `msg_${randomUUID()}`; // an earlier test's handler may end now, and is observed too
      await inbox.put([anyEntry(id)]);
      const stop = new AbortController();
      const settles: SettleMessage[] = [];
      const unwatch = observe({
        settle(message) {
          if (message.id !== id) return;
          settles.push(message);
          onSettle(settles.length);
          if (settles.length === calls) stop.abort();
        },
      });
      onTestFinished(unwatch);
      let call = 0;
      const handlers: Handlers<EsimEvents> = { "esim.enabled": (_, context) => handler(context, ++call) };
      const worker = createWorker(inbox, handlers, {
        pollMs: 5,
        backoff: () => 0,
        shutdownMs: 0,
        ...options,
      });
      await passUntil(worker.run({ signal: stop.signal }));
      return { settles, event: await inbox.get(key(id)) };
    }
    const ended = (signal: AbortSignal) =>
      new Promise((resolve) => signal.addEventListener("abort", resolve));

    it("aborts the signal of its handler with a TimeoutError, and counts what the handler then returns as its result", async () => {
      let reason: unknown;
      const { settles } = await settlesOf(
        async ({ signal }) => {
          await ended(signal);
          reason = signal.reason;
        },
        { timeoutMs: 10, graceMs: 60_000 },
      );
      expect(reason).toMatchObject({
        name: "TimeoutError",
        message: "The handler has run for 10 ms, its time limit.",
      });
      expect(settles).toMatchObject([{ outcome: "done" }]);
    });

    it("shows an abandoned handler that its signal has aborted, even if it looks only after a garbage collection", async () => {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      const looks = Promise.withResolvers<void>();
      const looked = Promise.withResolvers<unknown>();
      await settlesOf(
        async ({ signal }) => {
          await looks.promise;
          looked.resolve(signal.reason);
        },
        { timeoutMs: 10, graceMs: 0, maxAttempts: 1 },
      );
      for (let tick = 0; tick < 3; tick++) {
        await new Promise(setImmediate); // what a WeakRef has answered stays until its tick has ended
        collect();
      }
      looks.resolve();
      expect(await looked.promise).toMatchObject({ name: "TimeoutError" });
    });

    it("fails an attempt whose handler throws after its limit, and keeps what was thrown as the cause", async () => {
      const { settles, event } = await settlesOf(
        async ({ signal }) => {
          await ended(signal);
          throw new Error("connection closed");
        },
        { timeoutMs: 10, graceMs: 60_000, maxAttempts: 1 },
      );
      expect(settles).toMatchObject([
        { outcome: "dead", reason: "timed_out", error: { cause: { message: "connection closed" } } },
      ]);
      expect(event?.error).toBe(
        "TimeoutError: The handler did not end within 10 ms: caused by: Error: connection closed",
      );
    });

    it("uses the limit of the type in place of the general one, and none where neither is set", async () => {
      const { settles } = await settlesOf(
        ({ signal, retryLater }) => ended(signal).then(() => retryLater(0)),
        {
          timeoutMs: 3_600_000,
          timeouts: { "esim.enabled": 10 },
          graceMs: 60_000,
        },
      );
      expect(settles).toMatchObject([{ outcome: "waiting" }]);
      const unlimited = await settlesOf(() => new Promise((resolve) => setTimeout(resolve, 60)), {
        timeouts: { "esim.disabled": 1 },
        graceMs: 0,
      });
      expect(unlimited.settles).toMatchObject([{ outcome: "done" }]);
    });

    it("does not start an event again while its abandoned handler runs, and discards what that returns", async () => {
      const logger = keptLog();
      const first = Promise.withResolvers<void>();
      const started: number[] = [];
      const { settles, event } = await settlesOf(
        (_, call) => {
          started.push(call);
          return call === 1 ? first.promise : undefined;
        },
        {
          timeoutMs: 10,
          graceMs: 10,
          leaseMs: 1000,
          concurrency: 2,
          logger,
        },
        3,
        (settled) => settled === 2 && first.resolve(), // once the event was put off
      );
      const outcomes = settles.map(({ outcome, reason }) => [outcome, reason]);
      expect(outcomes).toEqual([
        ["retry", "timed_out"],
        ["given_back", undefined],
        ["done", undefined],
      ]);
      expect(started).toEqual([1, 2]);
      expect(event?.attempts).toBe(2);
      expect(logger.warn.mock.calls.map(([{ outcome, reason }]) => [outcome, reason])).toContainEqual([
        "retry",
        "timed_out",
      ]);
      expect(logger.warn.mock.calls.map(([, message]) => message)).toContain(
        "A handler that was abandoned has ended. Its result was discarded.",
      );
    });

    it("takes nothing and is not healthy while as many abandoned handlers run as it has slots", async () => {
      const logger = keptLog();
      const inbox = memoryInbox();
      await inbox.put([anyEntry("hangs"), anyEntry("next", "esim.disabled")]);
      const hangs = Promise.withResolvers<void>();
      const stop = new AbortController();
      const handlers: Handlers<EsimEvents> = {
        "esim.enabled": () => hangs.promise,
        "esim.disabled": () => stop.abort(),
      };
      const options = { concurrency: 1, timeoutMs: 10, graceMs: 0, pollMs: 5, logger };
      const worker = createWorker(inbox, handlers, { ...options, maxAttempts: 1 });
      expect([worker.isHealthy(), worker.sinceLastTakeMs()]).toEqual([true, null]);
      const running = worker.run({ signal: stop.signal });
      await pass(200);
      expect(worker.isHealthy()).toBe(false);
      expect(logger.error.mock.calls).toContainEqual([
        { abandoned: 1 },
        expect.stringContaining("The worker takes no more events"),
      ]);
      expect(worker.sinceLastTakeMs()).toBeGreaterThanOrEqual(0);
      expect((await inbox.get(key("next")))?.state).toBe("ready");
      await pass(10_000);
      expect(await inbox.workers()).toMatchObject([{ running: 1, concurrency: 1 }]); // the abandoned handler is in its slot
      hangs.resolve();
      await passUntil(running);
      expect(worker.isHealthy()).toBe(true);
    });

    it("logs that it takes nothing each time that it becomes stuck, not only the first time", async () => {
      const logger = keptLog();
      const inbox = memoryInbox();
      const stop = new AbortController();
      let hangs = Promise.withResolvers<void>();
      const handlers: Handlers<EsimEvents> = { "*": () => hangs.promise };
      const options = { concurrency: 1, timeoutMs: 10, graceMs: 0, pollMs: 5, maxAttempts: 1, logger };
      const running = createWorker(inbox, handlers, options).run({ signal: stop.signal });
      const stuck = () =>
        logger.error.mock.calls.filter(([, message]) => message.startsWith("The worker takes no more events"))
          .length;
      for (const times of [1, 2]) {
        await inbox.put([anyEntry(`msg_${times}`)]);
        await pass(200);
        expect(stuck()).toBe(times);
        const { resolve } = hangs;
        hangs = Promise.withResolvers();
        resolve();
        await pass(200);
        expect(logger.warn).toHaveBeenCalledTimes(times);
      }
      stop.abort();
      await passUntil(running);
    });

    it("does not count the time in which an abandoned handler still ran as time that its handler has waited", async () => {
      const first = Promise.withResolvers<void>();
      const { settles } = await settlesOf(
        ({ retryLater }, call) => (call === 1 ? first.promise : retryLater(0)),
        { timeoutMs: 10, graceMs: 0, leaseMs: 100, concurrency: 2, maxWaitMs: 60 },
        4,
        (settled) => settled === 3 && first.resolve(), // it was put off twice, for 100 ms each
      );
      expect(settles.map(({ outcome, reason }) => [outcome, reason])).toEqual([
        ["retry", "timed_out"],
        ["given_back", undefined],
        ["given_back", undefined],
        ["waiting", undefined],
      ]);
    });

    it("refuses a limit for a type that the catalog does not have", () => {
      const timeouts = { "esim.faultd": 1000 } as object;
      expect(() => createWorker(memoryInbox(), { "*": () => {} }, { timeouts })).toThrow(
        'createWorker: timeouts names "esim.faultd", which is not in the catalog. Did you mean "esim.faulted"?',
      );
    });
  });
});
