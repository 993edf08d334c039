import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { once } from "node:events";
import { type Runner, receiverSuite } from "@esim-webhooks/conformance";
import {
  createProcessor,
  createReceiver,
  createWorker,
  type DedupeStore,
  type Delivery,
  type EsimEvents,
  esimCatalog,
  type HandlerContext,
  type Handlers,
  type Inbox,
  memoryStore,
  nodeHandler,
  type OutcomeCode,
  type WebhookEvent,
  type WorkerOptions,
} from "@esim-webhooks/core";
import {
  type HandleMessage,
  type Observer,
  observe,
  setTraceSource,
  type TraceSource,
} from "@esim-webhooks/core/observe";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { listen } from "../../../test/listen.ts";
import { loggerTo } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { HandlerTimeout } from "../src/handle/handler.ts";

expectWarnings("event_dead", "failed", "handler_failed", "no_matching_key", "timestamp_out_of_tolerance");

const secret = newSecret();
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

const stages = ["receive", "verify", "put", "take", "process", "handle", "settle"] as const;

type Seen = readonly [stage: string, message: Record<string, unknown>];

/** Collects the messages of these stages until the test ends. */
function watched(only: readonly string[] = stages): Seen[] {
  const seen: Seen[] = [];
  const watch = (stage: string) => (message: object) => void seen.push([stage, { ...message }]);
  stops.push(observe(Object.fromEntries(only.map((stage) => [stage, watch(stage)])) as Observer));
  return seen;
}

function delivery(id = "msg_1"): Delivery {
  return signedDelivery(secret, { id });
}

const event: WebhookEvent = {
  id: "msg_1",
  type: "esim.faulted",
  timestamp: "2026-01-01T00:00:00Z",
  data: sampleData("esim.faulted"),
};
const fails = () => {
  throw new Error("no order");
};
const durationMs = expect.any(Number);
const receivedAt = expect.any(Date);
/** What `settle` says of times when a processor had the event, and when a worker had it. */
const times = { durationMs, receivedAt, ageMs: expect.any(Number) };
const workerTimes = { ...times, waitMs: expect.any(Number) };
const lagMs = expect.any(Number);
const skewSeconds = expect.any(Number);
const ref = { source: "default", id: "msg_1", type: "esim.faulted" };
const key = expect.stringMatching(/^key:[0-9a-f]{8}$/);

function skewsIn(seen: readonly (readonly [string, object])[]): readonly (number | undefined)[] {
  return seen.map(([, message]) => (message as { skewSeconds?: number }).skewSeconds);
}

describe("a delivery that is observed", () => {
  it("is seen as it is verified, handled, settled and answered", async () => {
    const seen = watched();
    await createReceiver({ "*": () => {} }, { secret }).receive(delivery());
    expect(seen).toEqual([
      ["verify", { source: "default", id: "msg_1", outcome: "verified", key, durationMs }],
      [
        "handle",
        {
          ...ref,
          by: "processor",
          attempt: 1,
          replayed: false,
          outcome: "processed",
          receivedAt,
          durationMs,
        },
      ],
      ["settle", { ...ref, by: "processor", attempt: 1, outcome: "done", ...times }],
      ["process", { ...ref, attempt: 1, replayed: false, outcome: "processed", durationMs }],
      ["receive", { ...ref, key, lagMs, skewSeconds, outcome: "processed", durationMs }],
    ]);
  });

  it("is seen as it is put into an inbox, stored or not", async () => {
    const seen = watched(["put", "receive"]);
    const stored = createReceiver({ put: async () => ["conflict"] }, { secret });
    await stored.receive(delivery());
    const error = new Error("disk full");
    await createReceiver({ put: () => Promise.reject(error) }, { secret }).receive(delivery());
    expect(seen).toEqual([
      ["put", { events: [ref], outcome: "put", results: ["conflict"], durationMs }],
      ["receive", { ...ref, key, lagMs, skewSeconds, outcome: "conflict", durationMs }],
      ["put", { events: [ref], outcome: "store_unavailable", error, durationMs }],
      ["receive", { ...ref, key, lagMs, skewSeconds, outcome: "store_unavailable", error, durationMs }],
    ]);
  });

  it("is seen as refused, with the reason and without a key", async () => {
    const seen = watched();
    const { headers, body } = delivery();
    const receiver = createReceiver({ "*": () => {} }, { secret: newSecret() });
    await receiver.receive({ method: "POST", headers, body });
    await receiver.receive({ method: "POST", headers: {}, body });
    expect(seen).toEqual([
      ["verify", { source: "default", id: "msg_1", outcome: "no_matching_key", durationMs }],
      ["receive", { source: "default", id: "msg_1", outcome: "no_matching_key", durationMs }],
      ["receive", { source: "default", outcome: "missing_header", durationMs }],
    ]);
  });

  it("is seen with how far its timestamp is ahead of this clock, only if it is authentic", async () => {
    const seen = watched(["receive"]);
    const receiver = createReceiver({ "*": () => {} }, { secret, clock: { now: () => 1_000_000_500 } });
    const sentAt = (seconds: number, signedWith = secret) =>
      receiver.receive(signedDelivery(signedWith, {}, { at: new Date(seconds * 1000) }));
    await sentAt(999_000); // refused for it
    await sentAt(1_000_100);
    await sentAt(999_990);
    await sentAt(1_000_000, newSecret());
    expect(skewsIn(seen)).toEqual([-1000, 100, -10, undefined]);
  });

  it("shows no skew if its timestamp is out of tolerance and not the newest: it may be a capture that is replayed", async () => {
    const seen = watched(["receive"]);
    let now = 1_000_000_000;
    const receiver = createReceiver({ "*": () => {} }, { secret, clock: { now: () => now } });
    const event = { id: "msg_captured", type: "esim.faulted", data: sampleData("esim.faulted") };
    const captured = signedRequest(event, { secret, at: new Date(now) });
    await receiver.receive(captured);
    now += 3_600_000;
    await receiver.receive(captured);
    await receiver.receive(captured);
    await receiver.receive(signedRequest({ ...event, id: "msg_2" }, { secret, at: new Date(now) }));
    now += 1_000_000; // this clock is set wrong
    await receiver.receive(signedRequest({ ...event, id: "msg_3" }, { secret, at: new Date(now - 995_000) }));
    expect(skewsIn(seen)).toEqual([0, undefined, undefined, 0, -995]);
  });

  it("is seen with the key that signed it after its end", async () => {
    const seen = watched(["verify"]);
    const ended = { secret: newSecret(), notAfter: new Date(Date.now() - 60_000) };
    const receiver = createReceiver({ "*": () => {} }, { secret: [secret, ended] });
    const event = { type: "esim.faulted", data: sampleData("esim.faulted") };
    await receiver.receive(signedRequest(event, { secret: ended.secret }));
    await receiver.receive(signedRequest(event, { secret: newSecret() }));
    const captured = signedRequest(event, { secret: ended.secret, at: new Date(Date.now() - 3_600_000) });
    await receiver.receive(captured); // replayed: the key signs nothing any more
    expect(seen.map(([, { outcome, endedKey }]) => [outcome, endedKey])).toEqual([
      ["no_matching_key", expect.stringMatching(/^key:[0-9a-f]{8}$/)],
      ["no_matching_key", undefined],
      ["no_matching_key", undefined],
    ]);
  });

  it("is seen as a conflict if a done event has another body", async () => {
    const seen = watched(["receive"]);
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const other = { ...sampleData("esim.faulted"), esimReference: "another" };
    await receiver.receive(delivery());
    await receiver.receive(signedRequest({ id: "msg_1", type: "esim.faulted", data: other }, { secret }));
    expect(seen[1]).toEqual([
      "receive",
      { ...ref, key, lagMs, skewSeconds, outcome: "conflict", durationMs },
    ]);
  });

  it("ends at the deadline, before its late handler ends", async () => {
    const seen = watched(["receive", "handle", "settle"]);
    const finish = Promise.withResolvers<void>();
    const receiver = createReceiver({ "*": () => finish.promise }, { secret, deadlineMs: 20 });
    await receiver.receive(delivery());
    finish.resolve();
    await receiver.close();
    expect(seen.map(([stage, { outcome }]) => [stage, outcome])).toEqual([
      ["receive", "deadline_reached"],
      ["handle", "processed"],
      ["settle", "done"],
    ]);
  });

  it("has messages for every outcome of the status contract, without any part of a payload, a header or a secret", async () => {
    const secrets = new Set<string>();
    const messages: unknown[] = [];
    for (const stage of ["receive", "verify", "put", "handle"]) {
      const keep = (message: object) => void messages.push(message);
      const subscribers = { start: keep, end: keep, asyncStart: keep, asyncEnd: keep, error: keep };
      const channel = tracingChannel<unknown, object>(`esim-webhooks:${stage}`);
      channel.subscribe(subscribers);
      stops.push(() => channel.unsubscribe(subscribers));
    }
    const seen = watched();
    const runs: (() => Promise<void>)[] = [];
    const runner: Runner = {
      describe: (name, body) => void (name.endsWith("the status contract") && body()),
      it: (_, body) => void runs.push(body),
    };
    receiverSuite(
      "node",
      (target, options) => {
        if (typeof options.secret === "string") secrets.add(options.secret);
        const handler = nodeHandler(target, options);
        const keepHeaders: typeof handler = Object.assign(
          (...[request, response]: Parameters<typeof handler>) => {
            const { host, "webhook-signature": signature } = request.headers;
            for (const value of [host, signature]) if (value) secrets.add(String(value));
            handler(request, response);
          },
          { ready: handler.ready, close: handler.close },
        );
        return listen(keepHeaders, "/", handler.close);
      },
      runner,
    );
    for (const run of runs) await run();

    const missing = Object.keys(elsewhere satisfies Partial<Record<OutcomeCode, true>>);
    const outcomes = new Set(seen.flatMap(([stage, { outcome }]) => (stage === "receive" ? [outcome] : [])));
    expect(outcomes.size).toBe(allOutcomes.length - missing.length);
    expect([...outcomes, ...missing].sort()).toEqual([...allOutcomes].sort());

    // settlements have a field of the name "reason", too
    const payload = [...leaves(sampleData("esim.faulted"))].filter(
      (text) => text.length > 3 && text !== "reason",
    );
    const forbidden = [...secrets, ...payload];
    expect(forbidden.length).toBeGreaterThan(10);
    const said = [...messages, ...seen.map(([, message]) => message)].flatMap((message) => [
      ...leaves(message),
    ]);
    expect(said.length).toBeGreaterThan(1000);
    expect(said.filter((text) => forbidden.some((one) => text.includes(one)))).toEqual([]);
  });
});

const elsewhere = { body_consumed: true, missing_secret: true } as const;

// a new outcome code does not compile before it is here
const everyOutcome: Readonly<Record<OutcomeCode, true>> = {
  processed: true,
  duplicate: true,
  discarded: true,
  unknown_type: true,
  unhandled_type: true,
  stored: true,
  already_stored: true,
  conflict: true,
  busy: true,
  retry_later: true,
  deadline_reached: true,
  lease_lost: true,
  store_unavailable: true,
  shutting_down: true,
  rotating: true,
  keys_unavailable: true,
  failed: true,
  invalid: true,
  internal_error: true,
  missing_header: true,
  malformed_header: true,
  unusable_header: true,
  timestamp_out_of_tolerance: true,
  key_not_yet_valid: true,
  no_matching_key: true,
  method_not_allowed: true,
  unknown_endpoint: true,
  endpoint_unconfirmed: true,
  too_large: true,
  unsupported_encoding: true,
  overloaded: true,
  body_incomplete: true,
  ...elsewhere,
};
const allOutcomes = Object.keys(everyOutcome);

/** Every name and value in a message, as text, except its error, whose text comes from elsewhere. */
function* leaves(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) yield String(value);
  else {
    for (const [name, inner] of Object.entries(value)) {
      if (name === "error") continue;
      yield name;
      yield* leaves(inner);
    }
  }
}

describe("a claim that is observed", () => {
  async function settled(handlers: Handlers<EsimEvents>, changes: Partial<DedupeStore> = {}) {
    const seen = watched(["settle"]);
    const store = { ...memoryStore(), ...changes };
    await createProcessor(handlers, { store, leaseMs: 600 }).process(event, { source: "eu", attempt: 3 });
    return seen.map(([, message]) => message);
  }
  const about = { ...ref, source: "eu", by: "processor", attempt: 3, ...times };
  const done = { "*": () => {} };

  it.each<[string, Handlers<EsimEvents>, Partial<DedupeStore>, object]>([
    ["done when its handler succeeds", done, {}, { outcome: "done" }],
    [
      "done with its transaction",
      done,
      { transact: async (_key, _token, work) => ((await work({})) ? "committed" : "rolled_back") },
      { outcome: "done" },
    ],
    [
      "lost when another owner has claimed the event",
      done,
      { complete: async () => false },
      { outcome: "lost" },
    ],
    [
      "lost with its transaction",
      done,
      { transact: async (_key, _token, work) => ((await work({})) ? "rolled_back" : "unused") },
      { outcome: "lost" },
    ],
    [
      "not stored when the store stops answering",
      done,
      { complete: () => Promise.reject(new Error("away")) },
      { outcome: "store_unavailable", error: new Error("away") },
    ],
    ["retried when its handler failed", { "*": fails }, {}, { outcome: "retry", reason: "failed" }],
    [
      "lost when the store had no claim to release",
      { "*": fails },
      { release: async () => false },
      { outcome: "lost" },
    ],
    [
      "not stored when the store could not release it",
      { "*": fails },
      { release: () => Promise.reject(new Error("away")) },
      { outcome: "store_unavailable", error: new Error("away") },
    ],
  ])("is %s", async (_, handlers, changes, expected) => {
    expect(await settled(handlers, changes)).toEqual([{ ...about, ...expected }]);
  });

  it.each<[string, Partial<DedupeStore>]>([
    ["", {}],
    [", also when the store does not answer", { release: () => Promise.reject(new Error("away")) }],
  ])("is dead when its handler failed and the queue does not try it again%s", async (_, changes) => {
    const seen = watched(["settle"]);
    const processor = createProcessor({ "*": fails }, { store: { ...memoryStore(), ...changes } });
    const given: unknown[] = [];
    await processor.process(event, { isLastAttempt: (outcome) => given.push(outcome) === 1 });
    const error = new Error("no order");
    const dead = {
      ...ref,
      by: "processor",
      attempt: 1,
      outcome: "dead",
      reason: "failed",
      error,
      ...times,
    };
    expect(seen).toEqual([["settle", dead]]);
    expect(given).toEqual([{ code: "failed", error }]);
  });

  it("is dead when its handler asks for a retry, and the queue does not try it again", async () => {
    const seen = watched(["settle"]);
    const processor = createProcessor({ "*": (_, context) => context.retryLater(9) });
    await processor.process(event, { isLastAttempt: ({ code }) => code === "retry_later" });
    const dead = { ...ref, by: "processor", attempt: 1, outcome: "dead", reason: "retry_later", ...times };
    expect(seen).toEqual([["settle", dead]]);
  });

  it("is lost when another owner had the event by then, also if the queue does not try it again", async () => {
    const seen = watched(["settle"]);
    const store = { ...memoryStore(), release: async () => false };
    const isLastAttempt = vi.fn(() => true);
    await createProcessor({ "*": fails }, { store }).process(event, { isLastAttempt });
    expect(seen).toEqual([["settle", { ...ref, by: "processor", attempt: 1, outcome: "lost", ...times }]]);
    expect(isLastAttempt).not.toHaveBeenCalled();
  });

  it("is retried, and has its outcome, when what says whether the queue tries it again throws", async () => {
    const seen = watched(["settle"]);
    const isLastAttempt = () => {
      throw new Error("no job");
    };
    const outcome = await createProcessor({ "*": fails }).process(event, { isLastAttempt });
    expect(outcome).toEqual({ code: "failed", error: new Error("no order") });
    const retried = { ...ref, by: "processor", attempt: 1, outcome: "retry", reason: "failed", ...times };
    expect(seen).toEqual([["settle", retried]]);
  });

  it("has how long its queue could have handed it out, as the run of its handler has, with its trace", async () => {
    const seen = watched(["handle", "settle"]);
    const processor = createProcessor(done);
    await processor.process(event, { waitMs: 40, trace: "00-of-the-put" });
    await processor.process({ ...event, id: "msg_2" });
    const stated = seen.map(([stage, { waitMs, trace }]) => [stage, waitMs, trace]);
    expect(stated).toEqual([
      ["handle", 40, "00-of-the-put"],
      ["settle", 40, undefined],
      ["handle", undefined, undefined],
      ["settle", undefined, undefined],
    ]);
    for (const [, message] of seen.slice(2))
      for (const name of ["waitMs", "trace"]) expect(Object.keys(message)).not.toContain(name);
  });

  it.each([
    ["retried", false, { outcome: "retry", reason: "timed_out" }],
    ["dead", true, { outcome: "dead", reason: "timed_out", error: expect.any(HandlerTimeout) }],
  ])(
    "is %s with the reason timed_out when its handler fails at a time limit",
    async (_, isLast, expected) => {
      const seen = watched(["settle"]);
      const timesOut = () => Promise.reject(new HandlerTimeout("It took too long."));
      await createProcessor({ "*": timesOut }).process(event, { isLastAttempt: () => isLast });
      expect(seen).toEqual([["settle", { ...ref, by: "processor", attempt: 1, ...times, ...expected }]]);
    },
  );

  it("is given back, whatever its queue says, when its caller stops before its handler starts", async () => {
    const seen = watched(["settle"]);
    const isLastAttempt = vi.fn(() => true);
    const signal = AbortSignal.abort();
    const outcome = await createProcessor(done).process(event, { signal, isLastAttempt });
    expect(outcome).toEqual({ code: "deadline_reached" });
    expect(seen).toEqual([
      ["settle", { ...ref, by: "processor", attempt: 1, ...times, outcome: "given_back" }],
    ]);
    expect(isLastAttempt).not.toHaveBeenCalled();
  });

  describe("by a logger", () => {
    async function logged(handler: (context: HandlerContext) => unknown, changes: Partial<DedupeStore> = {}) {
      vi.useFakeTimers({ toFake: ["performance"] });
      onTestFinished(() => void vi.useRealTimers());
      vi.advanceTimersByTime(1000);
      const lines: [level: string, fields: object, message: string][] = [];
      const logger = loggerTo((fields, message, level) => lines.push([level, fields, message]));
      const handlers = {
        "*": (_: unknown, context: HandlerContext) => {
          vi.advanceTimersByTime(40);
          return handler(context) as undefined;
        },
      };
      const processor = createProcessor(handlers, { store: { ...memoryStore(), ...changes }, logger });
      await processor.process(event);
      return lines;
    }
    const line = { ...ref, attempt: 1, durationMs: 40 };

    it.each<[string, (context: HandlerContext) => unknown, string, object]>([
      ["done", () => {}, "info", { outcome: "done" }],
      [
        "failed, with what was thrown",
        fails,
        "warn",
        { outcome: "retry", reason: "failed", err: new Error("no order") },
      ],
      ["waiting, which is no failure", ({ retryLater }) => retryLater(9), "info", { outcome: "waiting" }],
    ])("has one line, which says that it is %s", async (_, handler, level, fields) => {
      expect(await logged(handler)).toEqual([[level, { ...line, ...fields }, "webhook event"]]);
    });

    it("has a line about a claim that could not be released, with its id", async () => {
      const release = () => Promise.reject(new Error("away"));
      const [first, ...others] = await logged(fails, { release });
      expect(first).toEqual(["debug", { id: event.id }, expect.stringContaining("could not be released")]);
      expect(others).toEqual([
        ["error", { ...line, outcome: "store_unavailable", err: new Error("no order") }, "webhook event"],
      ]);
    });
  });

  it("does not ask whether the queue tries it again while nobody observes", async () => {
    const isLastAttempt = vi.fn(() => true);
    await createProcessor({ "*": fails }).process(event, { isLastAttempt });
    expect(isLastAttempt).not.toHaveBeenCalled();
  });
});

describe("the calls of a dedupe store that are observed", () => {
  const calls = ["claim", "extend", "complete"];
  const about = { source: "eu", id: "msg_1", durationMs };
  const error = new Error("away");
  const done = { "*": () => {} };

  async function called(
    handlers: Handlers<EsimEvents>,
    changes: Partial<DedupeStore> = {},
    options: { leaseMs?: number } = {},
  ) {
    const seen = watched(calls);
    const store = { ...memoryStore(), ...changes };
    await createProcessor(handlers, { store, ...options }).process(event, { source: "eu" });
    return seen;
  }

  it.each<[string, Partial<DedupeStore>, [stage: string, fields: object][]]>([
    [
      "claimed and completed",
      {},
      [
        ["claim", { outcome: "claimed" }],
        ["complete", { outcome: "completed" }],
      ],
    ],
    ["done before", { claim: () => ({ status: "done" }) }, [["claim", { outcome: "done" }]]],
    [
      "busy elsewhere",
      { claim: async () => ({ status: "busy", retryAfterMs: 9 }) },
      [["claim", { outcome: "busy" }]],
    ],
    [
      "lost before its completion",
      { complete: async () => false },
      [
        ["claim", { outcome: "claimed" }],
        ["complete", { outcome: "lost" }],
      ],
    ],
    [
      "not answered",
      { claim: () => Promise.reject(error) },
      [["claim", { outcome: "store_unavailable", error }]],
    ],
    [
      "not answered, by a store that throws",
      {
        claim: () => {
          throw error;
        },
      },
      [["claim", { outcome: "store_unavailable", error }]],
    ],
  ])("say that an event is %s", async (_, changes, expected) => {
    const seen = await called(done, changes);
    expect(seen).toEqual(expected.map(([stage, fields]) => [stage, { ...about, ...fields }]));
  });

  it.each<[string, boolean]>([
    ["extended", true],
    ["lost", false],
  ])("say that a claim is %s while its handler runs", async (outcome, isHeld) => {
    const extended = Promise.withResolvers<void>();
    const isOwn = (message: { id: string; outcome: string }) =>
      message.id === about.id && message.outcome === outcome; // a claim of an earlier test may be renewed too
    stops.push(observe({ extend: (message) => void (isOwn(message) && extended.resolve()) }));
    // a lease that no stall of this machine ends: the first renewal is made by moving its timer
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const leaseMs = 600_000;
    const handlers = {
      "*": async () => {
        await new Promise(setImmediate);
        vi.advanceTimersByTime(leaseMs / 3);
        await extended.promise;
      },
    };
    const seen = await called(handlers, { extend: async () => isHeld }, { leaseMs });
    expect(seen).toContainEqual(["extend", { ...about, outcome }]);
  });

  it("show no completion of a transaction: its commit is the completion", async () => {
    const transact: DedupeStore["transact"] = async (_key, _token, work) =>
      (await work({})) ? "committed" : "rolled_back";
    expect(await called(done, { transact })).toEqual([["claim", { ...about, outcome: "claimed" }]]);
  });

  it("are made without a promise, observed or not, if the store and the handler answer so", () => {
    const processor = createProcessor(done, { store: memoryStore() });
    const accept = (id: string) =>
      processor.accept(esimCatalog.parse(id, Buffer.from(JSON.stringify({ ...event, id: undefined }))));
    expect(accept("msg_1")).toEqual({ code: "processed" });
    expect(accept("msg_1")).toEqual({ code: "duplicate" });
    stops.push(observe({ claim() {} }));
    expect(accept("msg_2")).toEqual({ code: "processed" });
  });
});

describe("a change of an inbox that is observed", () => {
  it("says what an operator, or a purge, has changed, and not whose data was erased", async () => {
    const seen = watched(["change"]);
    let now = Date.now();
    const inbox = memoryInbox({ clock: { now: () => now } });
    const subject = "esim of all";
    await inbox.put(["a", "b", "c"].map((id) => entry(id, { type: "esim.faulted", esim: subject })));
    const [a, b, c] = await inbox.take({ limit: 3, leaseMs: 1000 });
    if (!a || !b || !c) throw new Error("not taken");
    await inbox.settle([
      { ...a, state: "dead", error: "no" },
      { ...b, state: "dead", error: "no" },
      { ...c, state: "done" },
    ]);
    await inbox.redrive({ ids: ["a"], subject, error: "no" });
    await inbox.purgeDead({ ids: ["b"], subject, error: "no" });
    const until = new Date(now + 3_600_000);
    await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down", until, by: "ops" });
    const pauses = await inbox.resume();
    await inbox.purge();
    await inbox.erase(subject);
    now += 365 * 86_400_000;
    await inbox.purge();
    const none = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
    expect(pauses).toHaveLength(1);
    expect(seen.map(([, message]) => message)).toEqual([
      { change: "redrive", filter: { ids: ["a"], subject: "•••", error: "•••" }, events: 1 },
      { change: "purge_dead", filter: { ids: ["b"], subject: "•••", error: "•••" }, events: 1 },
      { change: "pause", types: ["esim.faulted"], reason: "CRM is down", until, by: "ops" },
      { change: "resume", pauses },
      { change: "erase", events: { ...none, ready: 1, done: 1 } },
      { change: "purge", events: 2 },
    ]);
  });

  it("is not published when it fails", async () => {
    const seen = watched(["change"]);
    await expect(memoryInbox().pause({ reason: "" })).rejects.toMatchObject({ code: "invalid_option" });
    expect(seen).toEqual([]);
  });
});

describe("setTraceSource", () => {
  afterEach(() => setTraceSource(undefined));
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

  /** What an inbox has of the trace of a delivery, and what a worker gets of it. */
  async function traceOf(source: TraceSource | undefined) {
    setTraceSource(source);
    const inbox = memoryInbox();
    const { status } = await createReceiver(inbox, { secret }).receive(delivery());
    const [taken] = await inbox.take({ limit: 1, leaseMs: 1000 });
    return { status, stored: (await inbox.get(ref))?.trace, taken: taken?.trace };
  }

  it("stores what the source returns with each event, and gives it to workers", async () => {
    const stored = { status: 202, stored: traceparent, taken: traceparent };
    expect(await traceOf(() => traceparent)).toEqual(stored);
  });

  it.each<[string, TraceSource | undefined]>([
    ["there is no source", undefined],
    ["it returns nothing", () => undefined],
    [
      "it throws",
      () => {
        throw new Error("no span");
      },
    ],
    ["it returns a longer text than a traceparent", () => `${traceparent}0`],
    ["it returns other characters than those of ASCII", () => "trace-é"],
    ["it returns a line break", () => "trace\n"],
    ["it returns no text", () => 7 as never],
  ])("stores the event without a trace if %s", async (_, source) => {
    expect(await traceOf(source)).toEqual({ status: 202, stored: null, taken: null });
  });
});

describe("an event from a queue that is observed", () => {
  const about = { ...ref, attempt: 1, replayed: false, durationMs };
  const done = { "*": () => {} };
  const invalid = { ...event, data: {} };
  const error = new Error("away");

  it.each<[string, WebhookEvent, Handlers<EsimEvents>, Partial<DedupeStore>, object]>([
    ["processed", event, done, {}, { outcome: "processed" }],
    ["failed", event, { "*": fails }, {}, { outcome: "failed", error: new Error("no order") }],
    ["a duplicate", event, done, { claim: () => ({ status: "done" }) }, { outcome: "duplicate" }],
    [
      "a conflict with a done event",
      event,
      done,
      { claim: () => ({ status: "done", conflict: true }) },
      { outcome: "conflict" },
    ],
    [
      "busy with another body",
      event,
      done,
      { claim: () => ({ status: "busy", retryAfterMs: 9, conflict: true }) },
      { outcome: "busy", conflict: true },
    ],
    ["invalid", invalid, done, {}, { outcome: "invalid" }],
    ["of an unhandled type", event, { "esim.enabled": () => {} }, {}, { outcome: "unhandled_type" }],
    [
      "not claimed when the store does not answer",
      event,
      done,
      { claim: () => Promise.reject(error) },
      { outcome: "store_unavailable", error },
    ],
  ])("is seen as %s", async (_, given, handlers, changes, expected) => {
    const seen = watched(["process"]);
    await createProcessor(handlers, { store: { ...memoryStore(), ...changes } }).process(given);
    expect(seen).toEqual([["process", { ...about, ...expected }]]);
  });

  it("has neither an id nor a type if it is no event at all", async () => {
    const seen = watched(["process"]);
    await createProcessor(done).process(null as never);
    expect(Object.keys(seen[0]?.[1] ?? {})).toEqual(expect.not.arrayContaining(["id", "type"]));
    expect(seen).toEqual([
      ["process", { source: "default", attempt: 1, replayed: false, durationMs, outcome: "invalid" }],
    ]);
  });
});

describe("a worker that is observed", () => {
  const body = Buffer.from(JSON.stringify({ ...event, id: undefined }));

  /** A memory inbox with one event from an import. `changes` replace its methods. */
  async function inboxOf(changes: Partial<Inbox>): Promise<Inbox> {
    const inbox = memoryInbox();
    await inbox.put([
      { ...ref, event, body, receivedAt: new Date(), replay: { run: "first", rebuilt: false } },
    ]);
    return { ...inbox, ...changes };
  }

  /** Runs a worker until its only event is settled without a retry, or lost. */
  async function work(
    handlers: Handlers<EsimEvents>,
    changes: Partial<Inbox> = {},
    options: WorkerOptions = {},
  ) {
    const seen = watched(["take", "handle", "settle"]);
    const stop = new AbortController();
    stops.push(
      observe({
        settle({ outcome }) {
          if (outcome !== "retry" && outcome !== "waiting") stop.abort();
        },
      }),
    );
    const settings = { pollMs: 5, maxAttempts: 3, backoff: () => 7, ...options };
    await createWorker(await inboxOf(changes), handlers, settings).run({ signal: stop.signal });
    return seen;
  }
  const about = { ...ref, by: "worker", ...workerTimes };

  it("shows each take, each run of a handler with its attempt, and how each lease ended", async () => {
    let runs = 0;
    const handler = (_: unknown, context: HandlerContext) => {
      runs += 1;
      if (runs === 1) return fails();
      return runs === 2 ? context.retryLater(9) : undefined;
    };
    const seen = await work({ "*": handler });
    const handled = {
      ...ref,
      by: "worker",
      replayed: true,
      receivedAt,
      waitMs: workerTimes.waitMs,
      durationMs,
    };
    const events = [{ source: "default", id: "msg_1", type: "esim.faulted", trace: null }];
    expect(seen.filter(([stage, { taken }]) => stage !== "take" || taken === 1)).toEqual([
      ["take", { limit: 20, suspects: false, outcome: "taken", taken: 1, events, durationMs }],
      ["handle", { ...handled, attempt: 1, outcome: "failed", error: new Error("no order") }],
      ["settle", { ...about, attempt: 1, outcome: "retry", reason: "failed", afterMs: 7 }],
      ["take", { limit: 20, suspects: false, outcome: "taken", taken: 1, events, durationMs }],
      ["handle", { ...handled, attempt: 2, outcome: "retry_later" }],
      ["settle", { ...about, attempt: 2, outcome: "waiting", afterMs: 9 }],
      ["take", { limit: 20, suspects: false, outcome: "taken", taken: 1, events, durationMs }],
      ["handle", { ...handled, attempt: 3, outcome: "processed" }],
      ["settle", { ...about, attempt: 3, outcome: "done" }],
    ]);
  });

  async function endings(...given: Parameters<typeof work>) {
    const seen = await work(...given);
    return seen.flatMap(([stage, message]) => (stage === "settle" ? [message] : []));
  }

  it("shows an event that is dead, and an unhandled one", async () => {
    const dead = await endings({ "*": fails }, {}, { maxAttempts: 1 });
    const error = new Error("no order");
    expect(dead).toEqual([{ ...about, attempt: 1, outcome: "dead", reason: "failed", error }]);
    const unhandled = await endings({ "esim.assigned": () => {} });
    expect(unhandled).toEqual([{ ...about, attempt: 1, outcome: "unhandled" }]);
  });

  it("shows why an event is dead", async () => {
    const later = await endings({ "*": (_, context) => context.retryLater(9) }, {}, { maxWaitMs: 0 });
    expect(later).toEqual([{ ...about, attempt: 1, outcome: "dead", reason: "retry_later" }]);
    const take = memoryInbox().take;
    const changed = (change: object): Partial<Inbox> => {
      const lease = { source: "default", id: "msg_1", token: "1" };
      let taken = [{ ...lease, type: "esim.faulted", body, receivedAt: new Date(), attempt: 1, tries: 1 }];
      return {
        take: async (options) => {
          const events = taken.map((one) => ({
            ...one,
            ...{ waitedMs: 0, replayed: false, waitMs: 0, trace: null },
            ...change,
          }));
          taken = [];
          return events.length > 0 ? events : take(options);
        },
        settle: async (settlements) => settlements.map(() => true),
      };
    };
    const dead = { ...about, outcome: "dead" };
    expect(await endings({ "*": () => {} }, changed({ attempt: 4, tries: 4 }))).toEqual([
      { ...dead, attempt: 4, reason: "attempts" },
    ]);
    const { type: _, ...untyped } = dead;
    expect(await endings({ "*": () => {} }, changed({ type: null, body: Buffer.from("{}") }))).toEqual([
      { ...untyped, attempt: 1, reason: "invalid" },
    ]);
  });

  it("shows an event whose type has no handler", async () => {
    expect(await endings({ "esim.enabled": () => {} })).toEqual([
      { ...about, attempt: 1, outcome: "unhandled" },
    ]);
  });

  it("shows an event whose transaction was committed", async () => {
    const transact: Inbox["transact"] = async (_lease, run) => {
      await run({});
      return "committed";
    };
    expect(await endings({ "*": () => {} }, { transact })).toEqual([
      { ...about, attempt: 1, outcome: "done" },
    ]);
  });

  it("shows a lease that was lost", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const leaseMs = 60_000;
    const lost = await endings(
      {
        "*": async (_event, { signal }) => {
          const aborted = once(signal, "abort");
          vi.advanceTimersByTime(leaseMs / 3); // when the lease is renewed
          await aborted;
        },
      },
      { extend: async (leases) => leases.map(() => false) },
      { leaseMs },
    );
    expect(lost).toEqual([{ ...about, attempt: 1, outcome: "lost" }]);
  });

  it.each<[string, Inbox["settle"], object]>([
    ["given back", async () => [true], { outcome: "given_back" }],
    ["lost", async () => [false], { outcome: "lost" }],
    [
      "left to its lease",
      () => Promise.reject(new Error("away")),
      { outcome: "store_unavailable", error: new Error("away") },
    ],
  ])("shows once, when the worker stops, an event that is %s", async (_, settle, expected) => {
    const seen = watched(["settle"]);
    const stop = new AbortController();
    const handler = (_event: unknown, { signal }: { signal: AbortSignal }) => {
      stop.abort();
      return new Promise((resolve) => signal.addEventListener("abort", resolve));
    };
    const inbox = await inboxOf({ settle });
    await createWorker(inbox, { "*": handler }, { shutdownMs: 0 }).run({ signal: stop.signal });
    await new Promise(setImmediate); // the handler has ended too
    expect(seen).toEqual([["settle", { ...about, attempt: 1, ...expected }]]);
  });

  it("shows as done an event whose transaction was committed while the worker gave it back", async () => {
    const seen = watched(["settle"]);
    const stop = new AbortController();
    const finish = Promise.withResolvers<void>();
    const transact: Inbox["transact"] = async (_lease, run) =>
      (await run({})) ? "committed" : "rolled_back";
    const settle = async () => {
      finish.resolve(); // a settlement waits for the row until the transaction has ended
      await new Promise(setImmediate);
      return [false];
    };
    const handler = () => {
      stop.abort();
      return finish.promise; // ignores its signal
    };
    const inbox = await inboxOf({ transact, settle });
    await createWorker(inbox, { "*": handler }, { shutdownMs: 0 }).run({ signal: stop.signal });
    await new Promise(setImmediate);
    expect(seen).toEqual([["settle", { ...about, attempt: 1, outcome: "done" }]]);
  });

  it("shows that its inbox did not answer", async () => {
    const stop = new AbortController();
    const seen = watched(["take"]);
    const error = new Error("away");
    const take = () => {
      stop.abort();
      throw error;
    };
    await createWorker(await inboxOf({ take }), { "*": () => {} }).run({ signal: stop.signal });
    expect(seen).toEqual([
      ["take", { limit: 1, suspects: true, outcome: "store_unavailable", error, durationMs }],
    ]);
  });
});

describe("async context", () => {
  it("is kept: each handler finds the store that was bound at its start", async () => {
    const store = new AsyncLocalStorage<string>();
    const { start } = tracingChannel<string, HandleMessage>("esim-webhooks:handle");
    start.bindStore(store, ({ id, attempt }) => `${id}/${attempt}`);
    stops.push(() => start.unbindStore(store));
    const found = new Map<string, string | undefined>();
    const handler = async ({ id }: { id: string }) => {
      await new Promise(setImmediate);
      found.set(id, store.getStore());
    };
    const receiver = createReceiver({ "*": handler }, { secret });
    const ids = Array.from({ length: 20 }, (_, index) => `msg_${index}`);
    await Promise.all(ids.map((id) => receiver.receive(delivery(id))));
    expect([...found].sort()).toEqual(ids.map((id) => [id, `${id}/1`]).sort());
    expect(store.getStore()).toBeUndefined();
  });

  it("is kept from the start of a delivery, through the dedupe store, to its handler", async () => {
    const store = new AsyncLocalStorage<object>();
    const { start, asyncEnd } = tracingChannel<object, object>("esim-webhooks:receive");
    start.bindStore(store);
    stops.push(() => start.unbindStore(store));
    const ended = new Map<object, unknown>();
    const onEnd = (message: object) => void ended.set(message, (message as { id: string }).id);
    asyncEnd.subscribe(onEnd as never);
    stops.push(() => asyncEnd.unsubscribe(onEnd as never));
    const inHandler = new Map<object | undefined, unknown>();
    const handler = async ({ id }: { id: string }) => {
      await new Promise(setImmediate);
      inHandler.set(store.getStore(), id);
    };
    const receiver = createReceiver({ "*": handler }, { secret });
    await Promise.all(["msg_1", "msg_2", "msg_3"].map((id) => receiver.receive(delivery(id))));
    expect(inHandler).toEqual(ended);
  });
});

describe("a tracer on the channels", () => {
  interface Span {
    readonly name: string;
    readonly parent: Span | undefined;
    ended?: string;
    failed?: true;
  }

  /** Does what a tracer for OpenTelemetry would: starts a span, makes it current, and ends it. */
  function tracer(): { spans: Span[]; current: () => Span | undefined } {
    const active = new AsyncLocalStorage<Span>();
    const spans: Span[] = [];
    for (const name of ["receive", "verify", "put", "take", "handle"]) {
      const channel = tracingChannel<Span, { outcome: string }>(`esim-webhooks:${name}`);
      const byMessage = new WeakMap<object, Span>();
      channel.start.bindStore(active, (message) => {
        const span = { name, parent: active.getStore() };
        spans.push(span);
        byMessage.set(message, span);
        return span;
      });
      const onError = (message: object) => Object.assign(byMessage.get(message) ?? {}, { failed: true });
      const onEnd = (message: unknown) => {
        const { outcome } = message as { outcome: string };
        Object.assign(byMessage.get(message as object) ?? {}, { ended: outcome });
      };
      channel.error.subscribe(onError as never);
      channel.asyncEnd.subscribe(onEnd);
      stops.push(() => {
        channel.start.unbindStore(active);
        channel.error.unsubscribe(onError as never);
        channel.asyncEnd.unsubscribe(onEnd);
      });
    }
    return { spans, current: () => active.getStore() };
  }

  it("gets a handler's span inside that of its delivery, current while the handler runs", async () => {
    const { spans, current } = tracer();
    let inHandler: Span | undefined;
    const handler = async () => {
      await new Promise(setImmediate);
      inHandler = current();
      throw new Error("no order");
    };
    await createReceiver({ "*": handler }, { secret }).receive(delivery());
    const receive = { name: "receive", parent: undefined, ended: "failed", failed: true };
    const handle = { name: "handle", parent: receive, ended: "failed", failed: true };
    expect(spans).toEqual([receive, { name: "verify", parent: receive, ended: "verified" }, handle]);
    expect(inHandler).toBe(spans[2]);
  });

  it("gets one span for each handler that a worker runs", async () => {
    const { spans, current } = tracer();
    const stop = new AbortController();
    const inbox = memoryInbox();
    const receiver = createReceiver(inbox, { secret });
    for (const id of ["msg_1", "msg_2"]) await receiver.receive(delivery(id));
    const stored = spans.splice(0);
    expect(stored.slice(0, 3).map(({ name, parent }) => [name, parent?.name])).toEqual([
      ["receive", undefined],
      ["verify", "receive"],
      ["put", "receive"],
    ]);
    const inHandlers: (Span | undefined)[] = [];
    const handler = async () => {
      await new Promise(setImmediate);
      inHandlers.push(current());
      if (inHandlers.length === 2) stop.abort();
    };
    await createWorker(inbox, { "*": handler }).run({ signal: stop.signal });
    const handled = spans.filter(({ name }) => name === "handle");
    const handle = { name: "handle", parent: undefined, ended: "processed" };
    expect(handled).toEqual([handle, handle]);
    expect(new Set(inHandlers)).toEqual(new Set(handled));
    expect(spans[0]).toEqual({ name: "take", parent: undefined, ended: "taken" });
  });
});

describe("observe", () => {
  it("continues when an observer throws, and warns once", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    stops.push(() => emitWarning.mockRestore());
    stops.push(observe({ handle: fails, receive: async () => fails() }));
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const replies = await Promise.all(["msg_1", "msg_2"].map((id) => receiver.receive(delivery(id))));
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    await new Promise(setImmediate);
    expect(emitWarning).toHaveBeenCalledTimes(1);
    expect(emitWarning).toHaveBeenCalledWith(
      expect.stringContaining('The observer of "handle" threw.'),
      expect.objectContaining({ code: "observer_failed", detail: expect.stringContaining("no order") }),
    );
  });

  it("calls the observer's functions as its methods, and not after it was stopped", async () => {
    class Counter {
      #count = 0;
      get count() {
        return this.#count;
      }
      receive() {
        this.#count += 1;
      }
    }
    const counter = new Counter();
    const stop = observe(counter);
    const receiver = createReceiver({ "*": () => {} }, { secret });
    await receiver.receive(delivery("msg_1"));
    stop();
    stop();
    await receiver.receive(delivery("msg_2"));
    expect(counter.count).toBe(1);
  });

  it("ignores the other fields of an observer, such as the counters of a class", async () => {
    class Metrics {
      readonly counts = new Map<string, number>();
      total = 0;
      receive() {
        this.total += 1;
      }
    }
    const metrics = new Metrics();
    stops.push(observe(metrics));
    await createReceiver({ "*": () => {} }, { secret }).receive(delivery());
    expect(metrics.total).toBe(1);
  });

  it("refuses an unknown name, and suggests a similar one", () => {
    expect(() => observe({ recieve: () => {} } as Observer)).toThrow('Did you mean "receive"?');
    expect(() => observe({ handle: "no function" } as unknown as Observer)).toThrow(
      '"handle": expected a function',
    );
  });
});
