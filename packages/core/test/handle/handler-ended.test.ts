import {
  createProcessor,
  createWorker,
  type DedupeStore,
  type EsimEvents,
  type Handler,
  type HandlerContext,
  HandlerEnded,
  type Logger,
  memoryStore,
  type WebhookEvent,
  webhookHandler,
} from "@esim-webhooks/core";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it, vi } from "vitest";
import { keptLog } from "../../../../test/support/kept-log.ts";

const event: WebhookEvent = {
  id: "msg_1",
  type: "esim.faulted",
  timestamp: "2026-11-20T12:00:00Z",
  data: sampleData("esim.faulted"),
};

const later = { code: "retry_later", retryAfterMs: 30_000 };
const discarded = { code: "discarded", reason: "not ours" };

type AnyHandler = Handler<WebhookEvent>;

function outcomeOf(handler: AnyHandler, options: { readonly logger?: Logger } = {}) {
  return createProcessor({ "*": handler }, options).process(event);
}

/** What a handler does that catches the error of a call. */
function caught(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

describe("a handler that calls retryLater or discard", () => {
  it.each<[string, AnyHandler, object]>([
    ["and forgets the return", async (_, context) => void context.retryLater(30_000), later],
    ["and forgets the return, without async", (_, context) => void context.retryLater(30_000), later],
    ["and returns it", async (_, context) => context.retryLater(30_000), later],
    ["by a part of its context", (_, { discard }) => discard("not ours"), discarded],
    ["by a copy of its context", (_, context) => ({ ...context }).discard("not ours"), discarded],
    [
      "after an await",
      async (_, context) => Promise.resolve().then(() => context.discard("not ours")),
      discarded,
    ],
    ["and catches what it throws", (_, context) => void caught(() => context.retryLater(30_000)), later],
    [
      "and wraps what it throws",
      (_, context) => {
        const cause = caught(() => context.discard("not ours"));
        throw new Error("the query failed", { cause: new Error("the transaction failed", { cause }) });
      },
      discarded,
    ],
    [
      "in a part that it does not await, and returns",
      (_, context) => void Promise.resolve(caught(() => context.retryLater(30_000))),
      later,
    ],
    [
      "twice with the same arguments",
      (_, context) => {
        caught(() => context.retryLater(30_000));
        return context.retryLater(30_000);
      },
      later,
    ],
    ["without a pause", (_, context) => context.retryLater(), { code: "retry_later", retryAfterMs: 60_000 }],
  ])("%s has the outcome of that call", async (_, handler, outcome) => {
    expect(await outcomeOf(handler)).toEqual(outcome);
  });

  it("runs nothing after the call", async () => {
    const reorder = vi.fn();
    const handler: AnyHandler = async (_, context) => {
      context.retryLater(30_000);
      await reorder();
    };
    expect(await outcomeOf(handler)).toEqual(later);
    expect(reorder).not.toHaveBeenCalled();
  });

  it("throws an error that its own code recognises, also the one of another copy of this package", async () => {
    let thrown: unknown;
    await outcomeOf((_, context) => {
      thrown = caught(() => context.retryLater(30_000));
    });
    expect(HandlerEnded.is(thrown)).toBe(true);
    expect((thrown as Error).message).toMatch(/with retryLater\(30000\).*rethrow/);
    expect(HandlerEnded.is({ [Symbol.for("esim-webhooks.handler-ended")]: true })).toBe(true);
    for (const other of [new Error("no"), null, undefined, "text"])
      expect(HandlerEnded.is(other)).toBe(false);
  });

  it.each<[string, (context: HandlerContext) => unknown]>([
    ["another error", () => new Error("the database is down")],
    ["an error that is its own cause", () => Object.assign(new Error("odd"), { cause: undefined })],
    ["no error at all", () => "text"],
    ["what the call of another event threw", () => new HandlerEnded("retryLater(30000)")],
  ])("has failed when it then throws %s", async (_, other) => {
    let error: unknown;
    const outcome = await outcomeOf((_, context) => {
      caught(() => context.discard("not ours"));
      error = other(context);
      if (error instanceof Error && error.message === "odd") error.cause = error;
      throw error;
    });
    expect(outcome).toEqual({ code: "failed", error });
  });

  it.each<[string, AnyHandler, RegExp]>([
    [
      "retries and discards",
      (_, context) => {
        caught(() => context.retryLater(30_000));
        return context.discard("not ours");
      },
      /retryLater\(30000\), and then discard\("not ours"\)/,
    ],
    [
      "waits for two pauses, and catches both errors",
      (_, context) => {
        caught(() => context.retryLater(1));
        caught(() => context.retryLater(2));
      },
      /retryLater\(1\), and then retryLater\(2\)/,
    ],
    [
      "discards for two reasons, then throws",
      (_, context) => {
        caught(() => context.discard("one"));
        caught(() => context.discard("two"));
        throw new Error("the database is down");
      },
      /discard\("one"\), and then discard\("two"\)/,
    ],
  ])("has failed, with both calls in the error, when it %s", async (_, handler, message) => {
    expect(await outcomeOf(handler)).toMatchObject({
      code: "failed",
      error: { code: "conflicting_outcomes", message: expect.stringMatching(message) },
    });
  });

  it.each<[string, AnyHandler]>([
    ["a negative pause", (_, context) => context.retryLater(-1)],
    ["a pause of NaN", (_, context) => context.retryLater(Number.NaN)],
    ["an infinite pause", (_, context) => context.retryLater(Number.POSITIVE_INFINITY)],
    ["a pause that is text", (_, context) => context.retryLater("30s" as never)],
    ["no reason", (_, context) => context.discard(undefined as never)],
    ["a reason that is no text", (_, context) => context.discard(Object.create(null))],
  ])("has failed after %s, even if it catches the error", async (_, handler) => {
    const failed = { code: "failed", error: { code: "invalid_input" } };
    expect(await outcomeOf(handler)).toMatchObject(failed);
    expect(await outcomeOf((...given) => void caught(() => handler(...given)))).toMatchObject(failed);
  });

  it("gets an error and one line in the log when its event is settled already", async () => {
    const logger = keptLog();
    let context: HandlerContext | undefined;
    const keep: AnyHandler = (_, given) => {
      context = given;
    };
    expect(await outcomeOf(keep, { logger })).toEqual({ code: "processed" });
    expect(logger.error).not.toHaveBeenCalled();
    const error = caught(() => context?.retryLater(30_000));
    expect(error).toMatchObject({
      code: "outcome_too_late",
      message: expect.stringContaining("esim.faulted"),
    });
    expect(HandlerEnded.is(error)).toBe(false);
    expect(logger.error.mock.calls).toEqual([
      [
        { id: "msg_1", source: "default", type: "esim.faulted", err: error },
        "A handler ended its event after it was settled.",
      ],
    ]);
  });

  it("gets the same in a worker that has abandoned it", async () => {
    const inbox = memoryInbox();
    const secret = newSecret();
    const request = signedRequest(event, { secret });
    await webhookHandler(inbox, { secret })(new Request("http://localhost/webhooks", request));
    const logger = keptLog();
    const stop = new AbortController();
    const wait = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<unknown>();
    logger.warn.mockImplementation(() => wait.resolve()); // the line of the failed attempt
    const handlers = {
      "esim.faulted": async (_: unknown, context: HandlerContext) => {
        await wait.promise;
        ended.resolve(caught(() => context.discard("not ours")));
        stop.abort();
      },
    };
    const options = { timeoutMs: 1, graceMs: 0, logger };
    await createWorker<EsimEvents>(inbox, handlers, options).run({ signal: stop.signal });
    expect(await ended.promise).toMatchObject({ code: "outcome_too_late" });
    expect(logger.error).toHaveBeenCalledOnce();
  });
});

describe("a transaction of the store", () => {
  /** A store that keeps what its transactions committed. */
  function transactional() {
    const committed: string[] = [];
    const store: DedupeStore<string[]> = {
      ...memoryStore(),
      async transact(key, token, work) {
        const writes: string[] = [];
        if (!(await work(writes))) return "rolled_back";
        committed.push(...writes);
        return (await store.complete(key, token)) ? "committed" : "rolled_back";
      },
    };
    return { store, committed };
  }

  it.each<[string, (context: HandlerContext<string[]>) => never, string, string[]]>([
    ["is rolled back by retryLater", (context) => context.retryLater(), "retry_later", []],
    ["is committed with the mark by discard", (context) => context.discard("no"), "discarded", ["a write"]],
  ])("%s", async (_, end, code, writes) => {
    const { store, committed } = transactional();
    const processor = createProcessor(
      {
        "*": (_event, context) => {
          context.tx.push("a write");
          end(context);
        },
      },
      { store },
    );
    expect((await processor.process(event)).code).toBe(code);
    expect(committed).toEqual(writes);
  });
});
