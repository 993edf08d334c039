import { getEventListeners } from "node:events";
import {
  type Claim,
  createProcessor,
  type DedupeStore,
  defineCatalog,
  type HandlerContext,
  memoryStore,
  WebhookError,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { loggerWith } from "../../../../test/support/loggers.ts";

const timestamp = "2026-11-20T12:00:00Z";
const faulted = { id: "msg_1", type: "esim.faulted", timestamp, data: sampleData("esim.faulted") };

/** Stops the time of one test: it moves by `vi.advanceTimersByTime` alone. */
function useFakeTimers(): void {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"],
  });
  onTestFinished(() => void vi.useRealTimers());
}

/** A clock on which no lease ends, however slow the machine. */
const stopped = { now: () => 0 };

function errorOf(create: () => unknown): WebhookError<string> {
  try {
    create();
  } catch (error) {
    if (WebhookError.is(error)) return error;
  }
  throw new Error("no WebhookError was thrown");
}

describe("handlers at start-up", () => {
  it.each([
    ["esim.fautled", "esim.faulted"],
    ["esim.lifecycle.suspend", "esim.lifecycle.suspended"],
    ["esim.livecycle.*", "esim.lifecycle.*"],
    ["esim_installed", "esim.installed"],
    ["packages.*", "package.*"],
  ])("a misspelt %s fails and suggests %s", (name, suggestion) => {
    const error = errorOf(() => createProcessor({ [name]: () => {} } as never));
    expect(error.code).toBe("unknown_event_type");
    expect(error.message).toContain(
      `"${name}", but the catalog has no such event type. Did you mean "${suggestion}"? A handler of "*" gets types that the catalog does not contain; defineCatalog adds them.`,
    );
  });

  it("an event type unlike any other fails, and the message lists the types", () => {
    const { message } = errorOf(() => createProcessor({ zzzzzzzzzzzzzzzzzzzzzzzzzzzz: () => {} } as never));
    expect(message).toContain("There are: esim.assigned,");
  });

  it.each([
    [
      "no handlers",
      {},
      /There are no handlers, so every event would be acknowledged and dropped\. Pass a map/,
    ],
    ["no map", undefined, /There are no handlers/],
    ["a store", memoryStore(), /a dedupe store was passed as the .*such as \{.*store \}/],
    [
      "a handler that is no function",
      { "esim.faulted": "reorder" },
      /"esim.faulted" is not a function\. Pass \(event/,
    ],
  ])("%s fail", (_, handlers, message) => {
    const error = errorOf(() => createProcessor(handlers as never));
    expect(error.code).toBe("invalid_option");
    expect(error.message).toMatch(message);
  });

  it.each([
    [
      "an inbox, and handlers after it",
      [{ put() {} }, { "*": () => {} }],
      /an inbox was passed as .* createWorker\(inbox, handlers\)/,
    ],
    [
      "a promise of handlers",
      [Promise.resolve({ "*": () => {} })],
      /a promise was passed as the handlers\. Await it\./,
    ],
    [
      "a store in place of the options",
      [{ "*": () => {} }, memoryStore()],
      /a dedupe store was passed as .* such as \{ store \}/,
    ],
  ])("%s fail", (_, passed, message) => {
    const error = errorOf(() => createProcessor(...(passed as [never, never])));
    expect(error.code).toBe("invalid_option");
    expect(error.message).toMatch(/^createProcessor: /);
    expect(error.message).toMatch(message);
  });

  it("asks a store whether it is ready when the process starts, and stays up if it is not", async () => {
    const ready = vi.fn(() => Promise.reject(new Error("not connected")));
    const processor = createProcessor({ "*": () => {} }, { store: { ...memoryStore(), ready } });
    expect(ready).toHaveBeenCalledTimes(1);
    await new Promise(setImmediate); // an unhandled rejection would fail the run
    expect((await processor.process(faulted)).code).toBe("processed");
  });

  it("several unknown options fail, and the message lists the options once", () => {
    const options = { qqqqqqqqqqqq: 1, wwwwwwwwwwww: 2, yyyyyyyyyyyy: 3 };
    const { message } = errorOf(() => createProcessor({ "*": () => {} }, options as never));
    expect(message.split("There are: ")).toHaveLength(2);
  });

  it("an unknown option fails, and the message suggests the nearest", () => {
    const { message } = errorOf(() => createProcessor({ "*": () => {} }, { leaseMS: 5 } as never));
    expect(message).toContain('createProcessor: there is no option "leaseMS". Did you mean "leaseMs"?');
  });
});

describe("dispatch", () => {
  it("runs the most specific handler: exact type, longest family, shorter family, star", async () => {
    const ran: string[] = [];
    const handler = (name: string) => () => void ran.push(name);
    const all = {
      "*": handler("*"),
      "esim.*": handler("esim.*"),
      "esim.lifecycle.*": handler("esim.lifecycle.*"),
    };
    const processor = createProcessor({ ...all, "esim.lifecycle.terminated": handler("exact") });
    for (const type of [
      "package.ended",
      "esim.installed",
      "esim.lifecycle.activated",
      "esim.lifecycle.terminated",
    ] as const) {
      await processor.process({ id: type, type, timestamp, data: sampleData(type) });
    }
    expect(ran).toEqual(["*", "esim.*", "esim.lifecycle.*", "exact"]);
  });

  it("runs the family's handler, or else the star's, for a type that the catalog does not have", async () => {
    const ran: unknown[] = [];
    const handler = (name: string) => (event: WebhookEvent) => void ran.push([name, event.type, event.data]);
    const processor = createProcessor({
      "*": handler("*"),
      "package.*": handler("package.*"),
      "esim.lifecycle.*": handler("esim.lifecycle.*"),
      "package.ended": handler("package.ended"),
    });
    const data = { packageReference: "PKG7Q2M4ZD", nested: [{ anything: null }] };
    for (const type of ["package.created", "port-in.failed", "esim.lifecycle.paused", "esim.new", "*"])
      expect(await processor.process({ id: type, type, timestamp, data })).toEqual({ code: "processed" });
    expect(ran).toEqual([
      ["package.*", "package.created", data],
      ["*", "port-in.failed", data],
      ["esim.lifecycle.*", "esim.lifecycle.paused", data],
      ["*", "esim.new", data],
      ["*", "*", data],
    ]);
  });

  it("keeps an event of an unknown type coming when its handler asks for a retry", async () => {
    const processor = createProcessor({ "*": (_, context) => context.retryLater() });
    const outcome = await processor.process({ ...faulted, type: "port-in.failed" });
    expect(outcome).toEqual({ code: "retry_later", retryAfterMs: 60_000 });
  });

  it("gives the handler its context", async () => {
    const contexts: unknown[] = [];
    const processor = createProcessor({ "*": (_, context) => void contexts.push(context) });
    await processor.process(faulted);
    const receivedAt = new Date(5);
    await processor.process(
      { ...faulted, id: "msg_2" },
      { source: "eu", attempt: 3, replayed: true, receivedAt },
    );
    expect(contexts).toMatchObject([
      {
        source: "default",
        attempt: 1,
        replayed: false,
        receivedAt: expect.any(Date),
        signal: { aborted: false },
      },
      { source: "eu", attempt: 3, replayed: true, receivedAt },
    ]);
  });

  it("gives a context that a wrapper can spread, with its signal and its logger", async () => {
    const contexts: HandlerContext[] = [];
    const processor = createProcessor({ "*": (_, context) => void contexts.push({ ...context }) });
    await processor.process(faulted);
    expect(contexts).toMatchObject([{ signal: { aborted: false }, logger: { warn: expect.any(Function) } }]);
  });

  it("distinguishes unhandled, unknown and invalid events", async () => {
    const processor = createProcessor({ "esim.assigned": () => {} });
    expect(await processor.process(faulted)).toEqual({ code: "unhandled_type" });
    expect(await processor.process({ ...faulted, type: "esim.new" })).toEqual({ code: "unknown_type" });
    expect(await processor.process({ ...faulted, data: {} })).toMatchObject({ code: "invalid" });
    for (const none of [{}, null, undefined, "text"]) {
      expect(await processor.process(none as never)).toMatchObject({ code: "invalid" });
    }
  });

  it("treats any return value as done", async () => {
    const returned = [undefined, null, false, { code: "failed" }, [], { code: "retry_later", afterMs: 7 }];
    const processor = createProcessor({ "*": async (event) => returned[Number(event.id)] });
    for (const index of returned.keys())
      expect(await processor.process({ ...faulted, id: String(index) })).toEqual({ code: "processed" });
  });

  it("resolves to failed, as a worker does, when a schema throws", async () => {
    const broken = new Error("a schema library is broken");
    const validate = () => {
      throw broken;
    };
    const catalog = defineCatalog({
      "esim.odd": { "~standard": { version: 1, vendor: "broken", validate } },
    });
    const processor = createProcessor({ "*": () => {} }, { catalog });
    expect(await processor.process({ ...faulted, type: "esim.odd" })).toEqual({
      code: "failed",
      error: broken,
    });
  });

  it("rejects for a schema that is asynchronous, which is a mistake of the catalog and of no event", async () => {
    const catalog = defineCatalog({
      "esim.odd": { "~standard": { version: 1, vendor: "async", validate: async () => ({ value: {} }) } },
    });
    const processor = createProcessor({ "*": () => {} }, { catalog });
    await expect(processor.process({ ...faulted, type: "esim.odd" })).rejects.toMatchObject({
      code: "async_schema",
    });
  });

  it("runs handlers of a custom catalog, with the data that its schema returns", async () => {
    const catalog = defineCatalog({ "package.created": z.object({ at: z.coerce.date() }) });
    const seen: Date[] = [];
    const processor = createProcessor(
      { "package.created": ({ data }) => void seen.push(data.at) },
      { catalog },
    );
    await processor.process({ id: "1", type: "package.created", timestamp, data: { at: timestamp } });
    expect(seen).toEqual([new Date(timestamp)]);
  });
});

describe("dedupe around the handler", () => {
  it("answers at once, without a promise or a timer, when handler and store do", () => {
    const timers = [vi.spyOn(globalThis, "setInterval"), vi.spyOn(globalThis, "setTimeout")];
    onTestFinished(() => void vi.restoreAllMocks());
    const processor = createProcessor({
      "esim.faulted": () => {},
      "esim.enabled": (_, context) => context.retryLater(7),
    });
    const accept = (type: "esim.faulted" | "esim.enabled") =>
      processor.accept({
        kind: "known",
        type,
        event: { ...faulted, id: type, type, data: sampleData(type) },
      } as never);
    expect([accept("esim.faulted"), accept("esim.faulted"), accept("esim.enabled")]).toEqual([
      { code: "processed" },
      { code: "duplicate" },
      { code: "retry_later", retryAfterMs: 7 },
    ]);
    for (const timer of timers) expect(timer).not.toHaveBeenCalled();
  });

  it("renews a claim as soon as its handler waits, if the call of the handler took longer than a third of the lease", async () => {
    const extended = Promise.withResolvers<void>();
    const store: DedupeStore = {
      ...memoryStore({ clock: stopped }),
      extend: () => {
        extended.resolve();
        return true;
      },
    };
    useFakeTimers();
    const processor = createProcessor(
      {
        "*": () => {
          vi.advanceTimersByTime(40); // as if it had computed for that long: no timer fires before it returns
          return extended.promise;
        },
      },
      { store, leaseMs: 90 },
    );
    expect((await processor.process(faulted)).code).toBe("processed");
  });

  it("runs a failed event again, but never a done one", async () => {
    let runs = 0;
    const processor = createProcessor({
      "*": () => {
        runs += 1;
        if (runs < 3) throw new Error("not yet");
      },
    });
    const outcomes = [];
    for (let i = 0; i < 5; i++) outcomes.push((await processor.process(faulted)).code);
    expect(outcomes).toEqual(["failed", "failed", "processed", "duplicate", "duplicate"]);
    expect(runs).toBe(3);
  });

  it("runs an event that was ignored for want of a handler when it comes again once there is one", async () => {
    const store = memoryStore();
    const ignoring = createProcessor({ "esim.assigned": () => {} }, { store });
    expect(await ignoring.process(faulted)).toEqual({ code: "unhandled_type" });
    const handling = createProcessor({ "esim.faulted": () => {} }, { store });
    expect(await handling.process(faulted)).toEqual({ code: "processed" });
  });

  it("runs once for many concurrent calls, but also for the same id of another source", async () => {
    let runs = 0;
    const processor = createProcessor({
      "*": async () => {
        runs += 1;
        await Promise.resolve();
      },
    });
    const codes = await Promise.all(
      Array.from({ length: 100 }, async () => (await processor.process(faulted)).code),
    );
    expect(runs).toBe(1);
    expect(new Set(codes)).toEqual(new Set(["processed", "busy"]));
    expect((await processor.process(faulted, { source: "other" })).code).toBe("processed");
  });

  it("reports a conflict for a done id with another fingerprint, but not if either has none", async () => {
    const processor = createProcessor({ "*": () => {} });
    const process = (fingerprint?: number) =>
      processor.process(faulted, fingerprint === undefined ? {} : { fingerprint });
    expect(await process(7)).toEqual({ code: "processed" });
    expect(await process(7)).toEqual({ code: "duplicate" });
    expect(await process()).toEqual({ code: "duplicate" });
    expect(await process(8)).toEqual({ code: "conflict" });
  });

  it("handles an exception of a store like a rejection, in each operation", async () => {
    const away = () => {
      throw new Error("away");
    };
    const outcomeWith = async (store: Partial<DedupeStore>, handler: () => unknown = () => {}) =>
      createProcessor(
        { "*": () => void handler() },
        { store: { ...memoryStore(), ...store }, leaseMs: 300 },
      ).process(faulted);
    useFakeTimers();
    expect(await outcomeWith({ claim: away })).toMatchObject({ code: "store_unavailable" });
    const unmarked = outcomeWith({ complete: away });
    await vi.advanceTimersByTimeAsync(300);
    expect(await unmarked).toMatchObject({ code: "store_unavailable" });
    expect(await outcomeWith({ extend: away })).toMatchObject({ code: "processed" });
    const failing = () => {
      throw new Error("no");
    };
    expect(await outcomeWith({ release: away }, failing)).toMatchObject({ code: "failed" });
  });

  it("withStore works with the same handlers on another store, made from its own", async () => {
    let runs = 0;
    const processor = createProcessor({ "*": () => void runs++ });
    expect((await processor.process(faulted)).code).toBe("processed");
    const seen: string[] = [];
    const watched = processor.withStore((store) => ({
      ...store,
      claim: (key, leaseMs) => {
        seen.push(key.id);
        return store.claim(key, leaseMs);
      },
    }));
    expect((await watched.process(faulted)).code).toBe("duplicate");
    expect((await watched.process({ ...faulted, id: "msg_other" })).code).toBe("processed");
    expect(seen).toEqual([faulted.id, "msg_other"]);
    expect(runs).toBe(2);
  });

  it("renews the lease while the handler runs, so a slow handler keeps its claim", async () => {
    useFakeTimers();
    const extended = Promise.withResolvers<void>();
    let extensions = 0;
    const store = memoryStore({ clock: stopped });
    const watched: DedupeStore = {
      ...store,
      extend: async (...args) => {
        extensions += 1;
        if (extensions === 3) extended.resolve();
        return store.extend(...args);
      },
    };
    const processor = createProcessor({ "*": () => extended.promise }, { store: watched, leaseMs: 60 });
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(70);
    expect((await processing).code).toBe("processed");
  });

  it("warns of a handler that blocks the event loop between two renewals, and of no other", async () => {
    useFakeTimers();
    let blockedMs = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + blockedMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const warn = vi.fn();
    const ended = Promise.withResolvers<void>();
    const processor = createProcessor(
      { "*": () => ended.promise },
      {
        store: memoryStore({ clock: stopped }),
        leaseMs: 90,
        logger: loggerWith({ warn }),
      },
    );
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(70);
    expect(warn).not.toHaveBeenCalled();
    blockedMs = 40;
    await vi.advanceTimersByTimeAsync(20);
    expect(warn.mock.calls).toEqual([
      [{ types: [faulted.type], blockedMs: 40 }, expect.stringContaining("worker thread")],
    ]);
    ended.resolve();
    expect((await processing).code).toBe("processed");
  });

  it("aborts the handler's signal when the lease is lost, and does not report the event as done", async () => {
    useFakeTimers();
    const store: DedupeStore = { ...memoryStore(), extend: async () => false, complete: async () => false };
    const processor = createProcessor(
      {
        "*": (_, { signal }) =>
          new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
      },
      { store, leaseMs: 30 },
    );
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(10);
    expect(await processing).toEqual({ code: "lease_lost" });
  });

  it("aborts the handler's signal if its caller stops during the handler's first, synchronous part", async () => {
    const stop = new AbortController();
    let aborted: boolean | undefined;
    const processor = createProcessor({
      "*": async (_, { signal }) => {
        stop.abort();
        await new Promise(setImmediate);
        aborted = signal.aborted;
      },
    });
    await processor.process(faulted, { signal: stop.signal });
    expect(aborted).toBe(true);
  });

  describe("whose claim another owner takes while the handler runs,", () => {
    const leaseMs = 90;

    /** Its first handler runs until `end`, and completes nothing; the next one completes its event. */
    function onLostClaim(extend: DedupeStore["extend"]) {
      useFakeTimers();
      const ended = Promise.withResolvers<void>();
      const signals: AbortSignal[] = [];
      const processor = createProcessor(
        {
          "*": (_, { signal }) => {
            signals.push(signal);
            return signals.length === 1 ? ended.promise : undefined;
          },
        },
        {
          store: {
            ...memoryStore(),
            claim: () => ({ status: "claimed", token: String(signals.length) }),
            extend,
            complete: () => signals.length > 1,
          },
          leaseMs,
        },
      );
      return { signals, end: ended.resolve, process: () => processor.process(faulted) };
    }

    it("aborts the signal with the renewal that the store refuses, not a lease later", async () => {
      const { signals, process } = onLostClaim(() => false);
      void process();
      await vi.advanceTimersByTimeAsync(leaseMs / 3);
      expect(signals[0]?.aborted).toBe(true);
    });

    it("runs the event again although its handler returned: it may have stopped half-way", async () => {
      const { signals, end, process } = onLostClaim(() => false);
      const first = process();
      await vi.advanceTimersByTimeAsync(leaseMs / 3);
      end();
      expect([await first, await process()]).toEqual([{ code: "lease_lost" }, { code: "processed" }]);
      expect(signals).toHaveLength(2);
    });

    it("runs the event again also if a renewal succeeds after the signal has aborted", async () => {
      const renewed = Promise.withResolvers<boolean>();
      const { signals, end, process } = onLostClaim(() => renewed.promise);
      const first = process();
      await vi.advanceTimersByTimeAsync(leaseMs);
      expect(signals[0]?.aborted).toBe(true);
      renewed.resolve(true);
      await vi.advanceTimersByTimeAsync(0);
      end();
      expect([await first, await process()]).toEqual([{ code: "lease_lost" }, { code: "processed" }]);
      expect(signals).toHaveLength(2);
    });
  });

  it("keeps the claim, and the handler running, when one renewal cannot reach the store", async () => {
    useFakeTimers();
    const tried = Promise.withResolvers<void>();
    const renewed = Promise.withResolvers<void>();
    const memory = memoryStore({ clock: stopped });
    let renewals = 0;
    const store: DedupeStore = {
      ...memory,
      extend: async (...args) => {
        renewals += 1;
        if (renewals === 1) {
          tried.resolve();
          throw new Error("connection lost");
        }
        renewed.resolve();
        return memory.extend(...args);
      },
    };
    let aborted: boolean | undefined;
    const handlers = {
      "*": async (_: unknown, { signal }: HandlerContext) => {
        await Promise.all([tried.promise, renewed.promise]);
        aborted = signal.aborted;
      },
    };
    const processor = createProcessor(handlers, { store, leaseMs: 900 });
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(700);
    expect((await processing).code).toBe("processed");
    expect(aborted).toBe(false);
  });

  it.each([
    ["fails", () => Promise.reject(new Error("connection lost"))],
    ["never answers", () => new Promise<boolean>(() => {})],
  ])("aborts the handler's signal when the store %s for a whole lease", async (_case, extend) => {
    useFakeTimers();
    const leaseMs = 60_000;
    const store: DedupeStore = { ...memoryStore(), extend };
    const reasons: unknown[] = [];
    const handlers = {
      "*": (_: unknown, { signal }: HandlerContext) =>
        new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason.message);
            resolve();
          });
        }),
    };
    const processor = createProcessor(handlers, { store, leaseMs });
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(leaseMs);
    expect((await processing).code).toBe("lease_lost");
    expect(reasons).toEqual(["The lease on this event was lost."]);
  });

  it("starts no handler after its claim has ended while another one blocked the event loop, and warns with its type", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const leaseMs = 60_000;
    const memory = memoryStore();
    const bothClaimed = Promise.withResolvers<void>();
    let claims = 0;
    const store: DedupeStore = {
      ...memory,
      claim: async (...args) => {
        const claim = await memory.claim(...args);
        claims += 1;
        if (claims === 2) bothClaimed.resolve();
        await bothClaimed.promise;
        return claim;
      },
    };
    const warn = vi.fn();
    const started: string[] = [];
    const processor = createProcessor(
      {
        "*": ({ id }) => {
          started.push(id);
          vi.advanceTimersByTime(2 * leaseMs); // as if it blocked the event loop
        },
      },
      { store, leaseMs, logger: loggerWith({ warn }) },
    );
    const late = { ...faulted, id: "msg_late" };
    const [, second] = await Promise.all([processor.process(faulted), processor.process(late)]);
    expect(started).toEqual([faulted.id]);
    expect(second).toEqual({ code: "lease_lost" });
    expect(warn.mock.calls).toContainEqual([
      { types: [faulted.type], blockedMs: expect.any(Number) },
      expect.stringContaining("worker thread"),
    ]);
    const other = createProcessor({ "*": () => {} }, { store: memory });
    expect(await other.process(late)).toEqual({ code: "processed" });
  });

  it("frees an event whose handler does not end, ten leases after its signal aborted", async () => {
    useFakeTimers();
    const store = memoryStore();
    const never = createProcessor({ "*": () => new Promise(() => {}) }, { store, leaseMs: 30 });
    const stop = new AbortController();
    void never.process(faulted, { signal: stop.signal });
    stop.abort();
    const other = createProcessor({ "*": () => {} }, { store });
    await vi.advanceTimersByTimeAsync(10 * 30);
    expect((await other.process(faulted)).code).toBe("busy");
    await vi.advanceTimersByTimeAsync(30);
    expect((await other.process(faulted)).code).toBe("processed");
  });

  it("keeps the claim of a handler that its caller stopped for ten more leases, and no longer", async () => {
    useFakeTimers();
    const leaseMs = 90;
    const extend = vi.fn(() => true);
    const store: DedupeStore = { ...memoryStore({ clock: stopped }), extend };
    const processor = createProcessor({ "*": () => new Promise(() => {}) }, { store, leaseMs });
    const stop = new AbortController();
    void processor.process(faulted, { signal: stop.signal });
    await vi.advanceTimersByTimeAsync(2 * leaseMs);
    expect(extend).toHaveBeenCalledTimes(6);
    stop.abort();
    await vi.advanceTimersByTimeAsync(10 * leaseMs);
    expect(extend).toHaveBeenCalledTimes(36);
    await vi.advanceTimersByTimeAsync(10 * leaseMs);
    expect(extend).toHaveBeenCalledTimes(36);
  });

  it("asks for one renewal of a claim at a time, however slow the store is", async () => {
    useFakeTimers();
    const answers = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
    const extend = vi.fn(() => answers[extend.mock.calls.length - 1]?.promise ?? true);
    const store: DedupeStore = { ...memoryStore({ clock: stopped }), extend };
    const ended = Promise.withResolvers<void>();
    const processor = createProcessor({ "*": () => ended.promise }, { store, leaseMs: 90 });
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(60);
    expect(extend).toHaveBeenCalledTimes(1);
    answers[0]?.resolve(true);
    await vi.advanceTimersByTimeAsync(30);
    expect(extend).toHaveBeenCalledTimes(2);
    answers[1]?.resolve(true);
    ended.resolve();
    expect((await processing).code).toBe("processed");
  });

  it("loses a claim a whole lease after its last renewal was asked for, however late the answer to that came", async () => {
    useFakeTimers();
    const [asked, never] = [Promise.withResolvers<boolean>(), new Promise<boolean>(() => {})];
    const extend = vi.fn(() => (extend.mock.calls.length === 1 ? asked.promise : never));
    const store: DedupeStore = { ...memoryStore({ clock: stopped }), extend };
    let isAborted = false;
    const processor = createProcessor(
      {
        "*": async (_, { signal }) => {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          isAborted = true;
        },
      },
      { store, leaseMs: 90 },
    );
    void processor.process(faulted);
    await vi.advanceTimersByTimeAsync(60); // the first renewal is asked for after 30 ms
    asked.resolve(true);
    await vi.advanceTimersByTimeAsync(59);
    expect(isAborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isAborted).toBe(true);
  });

  it("starts no handler whose claim was answered when its lease had ended", async () => {
    useFakeTimers();
    const granted = Promise.withResolvers<Claim>();
    const store: DedupeStore = { ...memoryStore({ clock: stopped }), claim: () => granted.promise };
    const handle = vi.fn();
    const processing = createProcessor({ "*": handle }, { store, leaseMs: 90 }).process(faulted);
    await vi.advanceTimersByTimeAsync(90);
    granted.resolve({ status: "claimed", token: "late" });
    expect((await processing).code).not.toBe("processed");
    expect(handle).not.toHaveBeenCalled();
  });

  it("renews no claim after its event has ended", async () => {
    useFakeTimers();
    const extend = vi.fn(() => true);
    const store: DedupeStore = { ...memoryStore({ clock: stopped }), extend };
    const processor = createProcessor({ "*": async () => {} }, { store, leaseMs: 90 });
    expect((await processor.process(faulted)).code).toBe("processed");
    await vi.advanceTimersByTimeAsync(900);
    expect(extend).not.toHaveBeenCalled();
  });

  it("leaves no listener on a signal that outlives the event, such as a worker's", async () => {
    const { signal } = new AbortController();
    const processor = createProcessor({ "*": async () => {} });
    for (let i = 0; i < 20; i++) await processor.process({ ...faulted, id: `msg_${i}` }, { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("not connected");
      },
    ],
    ["answers no promise", () => true],
    ["answers nothing", () => undefined],
    ["rejects", () => Promise.reject(new Error("connection lost"))],
  ])(
    "takes a store whose every operation %s for unavailable or lost, and never for done",
    async (_, operation) => {
      const broken = operation as never;
      const memory = memoryStore();
      const blocked = createProcessor(
        { "*": () => expect.unreachable() },
        { store: { ...memory, claim: broken } },
      );
      expect((await blocked.process(faulted)).code).toBe("store_unavailable");
      useFakeTimers();
      const waits = () => new Promise((resolve) => setTimeout(resolve, 50));
      const renewing = createProcessor({ "*": waits }, { store: { ...memory, extend: broken }, leaseMs: 30 });
      const processing = renewing.process({ ...faulted, id: "msg_renewing" });
      await vi.advanceTimersByTimeAsync(50);
      expect(["processed", "lease_lost"]).toContain((await processing).code);
    },
  );

  it("frees an event if its store fails in the transaction: the sender's retry runs it again", async () => {
    const memory = memoryStore();
    const error = new WebhookError("store_unavailable", "It is away.", "Wait.");
    let isAway = true;
    const transact: DedupeStore["transact"] = async (key, token, work) => {
      if (isAway) throw error;
      await work({});
      await memory.complete(key, token);
      return "committed";
    };
    let runs = 0;
    const processor = createProcessor({ "*": () => void runs++ }, { store: { ...memory, transact } });
    expect(await processor.process(faulted)).toEqual({ code: "store_unavailable", error });
    isAway = false;
    expect(await processor.process(faulted)).toEqual({ code: "processed" });
    expect(await processor.process(faulted)).toEqual({ code: "duplicate" });
    expect(runs).toBe(1);
  });

  it("does not report an event as done when its claim had ended before the store refused the mark, and does not run it again", async () => {
    useFakeTimers();
    const error = new Error("connection lost");
    const complete = () => {
      throw error;
    };
    let runs = 0;
    const handler = () => {
      runs += 1;
      vi.advanceTimersByTime(90); // as if it had computed for the whole lease
    };
    const processor = createProcessor(
      { "*": handler },
      { store: { ...memoryStore(), complete }, leaseMs: 90 },
    );
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(1);
    expect(await processing).toEqual({ code: "store_unavailable", error });
    await vi.advanceTimersByTimeAsync(900);
    expect((await processor.process(faulted)).code).toBe("duplicate");
    expect(runs).toBe(1);
  });

  it("says of a busy event whether it waits in an inbox, where the sender need not send it again", async () => {
    const outcomeOf = async (given: object) =>
      createProcessor(
        { "*": () => {} },
        { store: { ...memoryStore(), claim: () => ({ status: "busy", retryAfterMs: 9, ...given }) } },
      ).process(faulted);
    expect(await outcomeOf({ inInbox: true })).toStrictEqual({
      code: "busy",
      retryAfterMs: 9,
      inInbox: true,
    });
    expect(await outcomeOf({})).toStrictEqual({ code: "busy", retryAfterMs: 9 });
  });

  it("answers store_unavailable when the done mark cannot be written, and failed when the handler failed", async () => {
    const down = () => Promise.reject(new Error("connection lost"));
    useFakeTimers();
    const store: DedupeStore = { ...memoryStore(), complete: down, release: down };
    let fails = false;
    const processor = createProcessor(
      {
        "*": () => {
          if (fails) throw new Error("handler");
        },
      },
      { store, leaseMs: 90 },
    );
    const processing = processor.process(faulted);
    await vi.advanceTimersByTimeAsync(90);
    expect((await processing).code).toBe("store_unavailable");
    fails = true;
    expect((await processor.process({ ...faulted, id: "msg_2" })).code).toBe("failed");
  });

  it("writes the done mark again when the store was unreachable, and runs nothing twice", async () => {
    const memory = memoryStore();
    let asked = 0;
    const store: DedupeStore = {
      ...memory,
      complete: async (...args) => {
        asked += 1;
        if (asked === 2) await memory.complete(...args); // done, but the answer is lost
        if (asked <= 2) throw new Error("connection lost");
        return memory.complete(...args);
      },
    };
    let runs = 0;
    const processor = createProcessor(
      {
        "*": () => {
          runs += 1;
        },
      },
      { store },
    );
    expect((await processor.process(faulted)).code).toBe("processed");
    expect((await processor.process(faulted)).code).toBe("duplicate");
    expect(runs).toBe(1);
  });

  describe("whose store does not take a done mark, for longer than the lease,", () => {
    const leaseMs = 60;

    /**
     * A processor on a store whose `complete` fails until `recover()`, what it ran, and what it logged. Its handler blocks the event
     * loop for `blockedMs`.
     */
    function onFailingStore(complete: DedupeStore["complete"], blockedMs = 0) {
      const memory = memoryStore();
      let isFailing = true;
      let runs = 0;
      const errors: Record<string, unknown>[] = [];
      let loseClaim = () => {};
      const store: DedupeStore = {
        ...memory,
        claim(key, ...rest) {
          const claim = memory.claim(key, ...rest) as Claim;
          if (claim.status === "claimed") loseClaim = () => void memory.release(key, claim.token);
          return claim;
        },
        complete: (...args) => (isFailing ? complete(...args) : memory.complete(...args)),
      };
      const log = (fields: Record<string, unknown>, message: string) => {
        if (message !== "webhook event") errors.push(fields);
      };
      const logger = loggerWith({ error: log });
      const handler = () => {
        runs += 1;
        vi.advanceTimersByTime(blockedMs);
      };
      const processor = createProcessor({ "*": handler }, { store, leaseMs, logger });
      const other = createProcessor({ "*": () => expect.unreachable() }, { store });
      return {
        errors,
        runs: () => runs,
        loseClaim: () => loseClaim(),
        recover: () => {
          isFailing = false;
        },
        process: (fingerprint?: number) =>
          processor.process(faulted, fingerprint === undefined ? {} : { fingerprint }),
        processElsewhere: () => other.process(faulted),
      };
    }
    const full = () => Promise.reject(new WebhookError("store_full", "It is full.", "Make room."));

    it("remembers the event: answers duplicate or conflict, says so, and keeps the claim from others", async () => {
      useFakeTimers();
      const { process, processElsewhere, errors, runs } = onFailingStore(full);
      const first = process(7);
      await vi.advanceTimersByTimeAsync(600);
      expect((await first).code).toBe("store_unavailable");
      expect((await process(7)).code).toBe("duplicate");
      expect((await process()).code).toBe("duplicate");
      expect((await process(8)).code).toBe("conflict");
      expect((await processElsewhere()).code).toBe("busy");
      expect(runs()).toBe(1);
      expect(errors).toEqual([{ id: faulted.id, source: "default", type: faulted.type }]);
    });

    it("claims the event again if a full store has lost its claim", async () => {
      useFakeTimers();
      const { process, processElsewhere, loseClaim } = onFailingStore(full);
      const first = process();
      await vi.advanceTimersByTimeAsync(60);
      expect((await first).code).toBe("store_unavailable");
      loseClaim();
      await vi.advanceTimersByTimeAsync(600);
      expect((await processElsewhere()).code).toBe("busy");
    });

    it("marks the event as soon as the store takes it, without another delivery", async () => {
      useFakeTimers();
      const { process, processElsewhere, recover, runs } = onFailingStore(full);
      const first = process();
      await vi.advanceTimersByTimeAsync(leaseMs);
      expect((await first).code).toBe("store_unavailable");
      recover();
      await vi.advanceTimersByTimeAsync(leaseMs / 3);
      expect((await processElsewhere()).code).toBe("duplicate");
      expect((await process()).code).toBe("duplicate");
      expect(runs()).toBe(1);
    });

    it("marks the event also if its handler blocked the event loop until its claim ended", async () => {
      useFakeTimers();
      const { process, processElsewhere, recover, runs } = onFailingStore(full, leaseMs);
      const first = process();
      await vi.advanceTimersByTimeAsync(1);
      expect((await first).code).toBe("store_unavailable");
      recover();
      await vi.advanceTimersByTimeAsync(leaseMs); // the ended claim is refused, and then a new one is used
      expect((await processElsewhere()).code).toBe("duplicate");
      expect(runs()).toBe(1);
    });

    it("asks for the marks of many events a few at a time", async () => {
      const memory = memoryStore();
      let underWay = 0;
      let most = 0;
      let isKept = false;
      const store: DedupeStore = {
        ...memory,
        async complete(key, token) {
          if (!isKept) throw new Error("It is away.");
          underWay += 1;
          most = Math.max(most, underWay);
          await new Promise(setImmediate);
          underWay -= 1;
          return memory.complete(key, token);
        },
      };
      const processor = createProcessor({ "*": () => {} }, { store, leaseMs: 3_600_000 });
      const events = Array.from({ length: 200 }, (_, n) => ({ ...faulted, id: `msg_many_${n}` }));
      const all = Promise.all(events.map((event) => processor.process(event)));
      await expect.poll(() => processor.process(events[199] ?? faulted)).toEqual({ code: "duplicate" });
      isKept = true;
      expect((await all).every(({ code }) => code === "processed")).toBe(true);
      expect(most).toBeLessThanOrEqual(16);
    });

    it("claims nothing new once 10,000 events are not marked, and continues when they are", async () => {
      const memory = memoryStore();
      let isAway = true;
      const complete: DedupeStore["complete"] = (key, token) => {
        if (isAway) throw new Error("It is away.");
        return memory.complete(key, token);
      };
      const processor = createProcessor(
        { "*": () => {} },
        { store: { ...memory, complete }, leaseMs: 3_600_000 },
      );
      const eventOf = (n: number) => ({ ...faulted, id: `msg_unmarked_${n}` });
      const all = Promise.all(Array.from({ length: 10_000 }, (_, n) => processor.process(eventOf(n))));
      await expect.poll(() => processor.process(eventOf(9_999))).toEqual({ code: "duplicate" });
      expect(await processor.process(eventOf(10_000))).toMatchObject({
        code: "store_unavailable",
        error: { code: "store_unavailable", message: expect.stringContaining("10000 events") },
      });
      isAway = false;
      await all;
      expect(await processor.process(eventOf(10_001))).toEqual({ code: "processed" });
    });

    it("marks an event whose claim was lost unseen, as by an eviction, with a new claim", async () => {
      useFakeTimers();
      const { process, processElsewhere, recover, runs } = onFailingStore(() => false);
      expect((await process()).code).toBe("lease_lost");
      expect((await process()).code).toBe("duplicate");
      recover();
      await vi.advanceTimersByTimeAsync(leaseMs);
      expect((await processElsewhere()).code).toBe("duplicate");
      expect(runs()).toBe(1);
    });
  });

  it("starts no handler once the signal has aborted, and leaves the id free", async () => {
    let runs = 0;
    const processor = createProcessor({
      "*": () => {
        runs += 1;
      },
    });
    const outcome = await processor.process(faulted, { signal: AbortSignal.abort() });
    expect([outcome.code, runs]).toEqual(["deadline_reached", 0]);
    expect((await processor.process(faulted)).code).toBe("processed");
  });
});
