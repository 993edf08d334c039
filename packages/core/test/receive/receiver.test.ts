import { brotliCompressSync } from "node:zlib";
import {
  createReceiver,
  type Delivery,
  defineCatalog,
  esimCatalog,
  type HandlerContext,
  type LoadedKeys,
  type Logger,
  memoryStore,
  type ReceiverOptions,
  sign,
  type Target,
  WebhookError,
  webhookHandler,
} from "@esim-webhooks/core";
import { observe, type ReceiveMessage } from "@esim-webhooks/core/observe";
import { type Fault, memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";
import { oddThrows } from "../../../conformance/src/base/odd-throws.ts";
import { readReceiverOptions } from "../../src/receive/receiver-options.ts";
import { createKeyring } from "../../src/verify/keyring.ts";

const secret = newSecret();

interface Line {
  level: string;
  fields: Record<string, unknown>;
}

function logged(): { logger: Logger; lines: Line[] } {
  const lines: Line[] = [];
  return { logger: loggerTo((fields, _, level) => lines.push({ level, fields })), lines };
}

function delivery(fault?: Fault, id = "msg_1"): Delivery {
  const { method, headers, body } = signedDelivery(secret, { id }, fault && { fault });
  return { method, headers, body: Buffer.from(body) };
}

async function receive(target: Target, given: Delivery, options: ReceiverOptions = {}) {
  const { logger, lines } = logged();
  const reply = await createReceiver(target, { secret, logger, ...options }).receive(given);
  return { reply, lines };
}

describe("what is logged of a delivery", () => {
  it("one line: the outcome, the event's id and type, the source, which key matched, and how long it took", async () => {
    const { lines } = await receive({ "*": () => {} }, delivery(), { source: "eu" });
    expect(lines).toEqual([
      {
        level: "info",
        fields: {
          source: "eu",
          id: "msg_1",
          type: "esim.faulted",
          key: expect.stringMatching(/^key:[0-9a-f]{8}$/),
          outcome: "processed",
          durationMs: expect.any(Number),
        },
      },
    ]);
  });

  it.each([
    [
      "wrong_key",
      "warn",
      {
        outcome: "no_matching_key",
        reason: expect.stringMatching(
          /none of the keys \(key:\w{8}\) made the signature over these bytes; .*esim-webhooks verify/,
        ),
      },
    ],
    [
      "stale",
      "error",
      {
        outcome: "timestamp_out_of_tolerance",
        key: expect.stringMatching(/^key:/),
        reason: expect.stringMatching(
          /^signed 60\d s before this machine's time, and toleranceSeconds is 300$/,
        ),
        skew: { direction: "past", seconds: expect.any(Number) },
      },
    ],
    ["invalid", "error", { outcome: "invalid", issues: ["data: expected an object"] }],
  ] as const)("%s at level %s", async (fault, level, fields) => {
    const { lines } = await receive({ "*": () => {} }, delivery(fault));
    expect(lines).toMatchObject([{ level, fields }]);
  });

  it("a conflict at level error, with what became of the two bodies", async () => {
    const { logger, lines } = logged();
    const receiver = createReceiver({ "*": () => {} }, { secret, logger });
    for (const reason of ["user_rejected", "install_failed"]) {
      const data = { ...sampleData("esim.faulted"), reason };
      await receiver.receive(signedRequest({ id: "msg_same", type: "esim.faulted", data }, { secret }));
    }
    expect(lines.at(-1)).toMatchObject({
      level: "error",
      fields: {
        outcome: "conflict",
        reason: expect.stringMatching(/another body, which stays.*an id of its own$/),
      },
    });
  });

  it("one warning for each type that no handler takes, for at most a hundred types, besides the line of each delivery", async () => {
    const { logger, lines } = logged();
    const receiver = createReceiver({ "esim.assigned": () => {} }, { secret, logger });
    const types = ["esim.faulted", ...Array.from({ length: 200 }, (_, n) => `esim.unheard_of_${n}`)];
    for (const type of [...types, ...types]) {
      const { status } = await receiver.receive(
        signedRequest({ type, data: sampleData("esim.faulted") }, { secret }),
      );
      expect(status).toBe(200);
    }
    const warnings = lines.filter(({ level }) => level === "warn");
    expect(warnings).toEqual(
      types.slice(0, 100).map((type) => ({ level: "warn", fields: { type, source: "default" } })),
    );
    const outcomes = lines.filter(({ level }) => level === "info").map(({ fields }) => fields["outcome"]);
    expect(outcomes).toHaveLength(402);
    expect(new Set(outcomes)).toEqual(new Set(["unhandled_type", "unknown_type"]));
  });

  it("never the payload: no reference, ICCID or EID, and no secret", async () => {
    const faults: (Fault | undefined)[] = [
      undefined,
      "tampered",
      "stale",
      "wrong_key",
      "unknown_type",
      "invalid",
    ];
    for (const fault of faults) {
      const { lines, reply } = await receive({ "*": () => {} }, delivery(fault));
      for (const value of [...Object.values(sampleData("esim.faulted")), secret.slice(6)]) {
        expect(JSON.stringify([lines, reply])).not.toContain(value);
      }
    }
  });

  it("the handler's own error, and not in the answer", async () => {
    const error = new Error("orders table is locked");
    const { lines, reply } = await receive({ "*": () => Promise.reject(error) }, delivery());
    expect(lines).toMatchObject([{ level: "error", fields: { outcome: "failed", err: error } }]);
    expect(JSON.stringify(reply)).not.toContain("locked");
  });

  it.each(oddThrows())(
    "what a handler threw, and as text where the logger cannot write it: $of",
    async ({ thrown, reason }) => {
      const { logger, lines } = logged();
      const writable: unknown[] = [];
      const error: Logger["error"] = (fields, message) => {
        const { err } = fields as { err: Error | undefined };
        writable.push(
          typeof err === "object" && err !== null ? `${err.name}${err.message}${err.stack}` : err,
        );
        logger.error(fields, message);
      };
      const receiver = createReceiver(
        { "*": () => Promise.reject(thrown) },
        { secret, logger: { ...logger, error } },
      );
      for (const _ of ["first", "tried again"]) {
        const { status, outcome } = await receiver.receive(delivery());
        expect([status, outcome.code]).toEqual([500, "failed"]);
      }
      expect(lines).toHaveLength(2);
      for (const { fields } of lines) expect([thrown, reason]).toContain(fields["err"]);
    },
  );

  it("the outcome of a handler that ended after the answer was given", async () => {
    const { logger, lines } = logged();
    const finish = Promise.withResolvers<void>();
    const receiver = createReceiver({ "*": () => finish.promise }, { secret, logger, deadlineMs: 5 });
    expect((await receiver.receive(delivery())).status).toBe(503);
    finish.resolve();
    await receiver.close();
    expect(lines.map(({ fields }) => [fields["outcome"], fields["late"]])).toEqual([
      ["deadline_reached", undefined],
      ["processed", true],
    ]);
  });
});

describe("remainingMs of a delivery", () => {
  it.each([0, -1, Number.NaN])("answers 503 and runs nothing with %d ms", async (remainingMs) => {
    const run = vi.fn();
    const receiver = createReceiver({ "*": run }, { secret });
    expect(await receiver.receive({ ...delivery(), remainingMs })).toMatchObject({
      status: 503,
      outcome: { code: "deadline_reached" },
    });
    expect(run).not.toHaveBeenCalled();
  });

  it("is the deadline if it is less than deadlineMs, and no more than that", async () => {
    const endless = { "*": () => new Promise<void>(() => {}) };
    const soon = createReceiver(endless, { secret });
    expect((await soon.receive({ ...delivery(), remainingMs: 5 })).outcome.code).toBe("deadline_reached");
    const limited = createReceiver(endless, { secret, deadlineMs: 5 });
    expect((await limited.receive({ ...delivery(), remainingMs: 900_000 })).outcome.code).toBe(
      "deadline_reached",
    );
  });
});

describe("toleranceSeconds", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  const capabilities = { durable: true, multiProcess: true, transactional: false, retentionMs: 60_000_000 };
  const durable = { ...memoryStore(), capabilities };
  const outcomeAt = async (skewSeconds: number, options: ReceiverOptions) => {
    const at = new Date(now + skewSeconds * 1000);
    const request = signedDelivery(secret, {}, { at });
    const { reply } = await receive({ "*": () => {} }, request, { clock: { now: () => now }, ...options });
    return JSON.parse(reply.body).outcome ?? JSON.parse(reply.body).code;
  };

  it("may be another one for the past than for the future, as where all attempts have the timestamp of the first", async () => {
    const options = { store: durable, toleranceSeconds: { past: 57_100 } };
    expect(await outcomeAt(-57_090, options)).toBe("processed");
    expect(await outcomeAt(-57_101, options)).toBe("timestamp_out_of_tolerance");
    expect(await outcomeAt(301, options)).toBe("timestamp_out_of_tolerance");
    expect(await outcomeAt(30, { toleranceSeconds: { future: 20 } })).toBe("timestamp_out_of_tolerance");
    expect(await outcomeAt(-300, { toleranceSeconds: { future: 20 } })).toBe("processed");
  });

  it.each([301, { past: 301 }, { future: 301 }])(
    "of more than 300 needs a durable store or inbox, for its done ids stop replays: %j",
    (toleranceSeconds) => {
      const create = (target: object, options: object) => () =>
        createReceiver(target as Target, { secret, toleranceSeconds, ...options });
      const refusal =
        /"toleranceSeconds" is more than 300, and no durable store.*durable \(SQLite with durability "full", Redis without allowEviction/;
      expect(create({ "*": () => {} }, {})).toThrow(refusal);
      expect(create({ "*": () => {} }, { store: memoryStore() })).toThrow(refusal);
      expect(create({ put: async () => [] }, {})).toThrow(refusal);
      expect(create({ "*": () => {} }, { store: durable })).not.toThrow();
      expect(create({ put: async () => [], capabilities }, {})).not.toThrow();
    },
  );

  it("is never longer, in both directions together, than done ids are remembered", () => {
    const create = (past: number) => () =>
      createReceiver({ "*": () => {} }, { secret, store: durable, toleranceSeconds: { past } });
    expect(create(59_700)).not.toThrow();
    expect(create(59_701)).toThrow(
      /accepts a delivery for 60001 s .*forgets done ids after 60000 s\. Lower toleranceSeconds, or raise/,
    );
  });
});

describe("a receiver without a logger warns of the first delivery", () => {
  const thrower = {
    "*": () => {
      throw new Error("orders table is locked");
    },
  };
  const mistakes: [string, Target, Fault, RegExp][] = [
    [
      "timestamp_out_of_tolerance",
      { "*": () => {} },
      "stale",
      /answered 503: signed 60\d s before .*Set this machine's clock/,
    ],
    [
      "no_matching_key",
      thrower,
      "wrong_key",
      /answered 401: none of the keys \(key:.*esim-webhooks verify.*logger/,
    ],
    ["invalid", thrower, "invalid", /answered 500: data: expected an object\..*logger/],
  ];

  it.each(mistakes)("that is %s, and of no other", async (code, target, fault, message) => {
    const warnings = await warningsOf(target, [fault, fault]);
    expect(warnings).toEqual([[expect.stringMatching(message), expect.objectContaining({ code })]]);
    for (const value of Object.values(sampleData("esim.faulted")))
      expect(JSON.stringify(warnings)).not.toContain(value);
  });

  it("whose handler threw, with the stack, and of no other", async () => {
    const [[message, options] = [], ...more] = await warningsOf(thrower, [undefined, undefined]);
    expect(message).toMatch(/answered 500: its handler threw.*logger/);
    expect(options).toMatchObject({ code: "failed", detail: expect.stringMatching(/locked\n +at /) });
    expect(more).toEqual([]);
  });

  it("whose handler threw undefined", async () => {
    const thrower = {
      "*": () => {
        throw undefined;
      },
    };
    const [[message] = []] = await warningsOf(thrower, [undefined]);
    expect(message).toBe("A delivery was answered 500: its handler threw. Pass { logger }.");
  });

  it("whatever its handler threw", async () => {
    for (const { thrown } of oddThrows()) {
      const warnings = await warningsOf({ "*": () => Promise.reject(thrown) }, [undefined, undefined]);
      expect(warnings).toEqual([[expect.stringContaining("its handler threw"), expect.anything()]]);
    }
  });

  it("whose schema threw, with the stack", async () => {
    const parse = () => {
      throw new Error("a schema library is broken");
    };
    const catalog = { ...esimCatalog, parse };
    const [[message, options] = []] = await warningsOf({ "*": () => {} }, [undefined], { catalog });
    expect(message).toMatch(/answered 500: a schema threw, or .*logger/);
    expect(options).toMatchObject({ code: "internal_error", detail: expect.stringMatching(/broken\n +at /) });
  });

  it("without the words of the user's schemas, which may quote values", async () => {
    const schema = {
      "~standard": {
        version: 1 as const,
        vendor: "by-hand",
        validate: () => ({
          issues: ["iccid", "owner"].map((key) => ({ path: [key], message: "Jan Peeters has no such eSIM" })),
        }),
      },
    };
    const catalog = defineCatalog({ "esim.faulted": schema });
    const warnings = await warningsOf({ "*": () => {} }, [undefined], { catalog } as never);
    expect(warnings).toEqual([
      [
        expect.stringContaining("data.iccid: does not fit the schema; data.owner: does not fit the schema."),
        expect.anything(),
      ],
    ]);
  });

  it("and with one, of none: the lines say it", async () => {
    const { logger } = logged();
    expect(await warningsOf(thrower, [undefined, "wrong_key", "stale", "invalid"], { logger })).toEqual([]);
  });

  /** The process warnings of a receiver in a process that was not warned before. */
  async function warningsOf(target: Target, faults: (Fault | undefined)[], options: ReceiverOptions = {}) {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      vi.resetModules();
      const fresh = await import("@esim-webhooks/core");
      const receiver = fresh.createReceiver(target, { secret, ...options });
      for (const fault of faults) await receiver.receive(delivery(fault));
      return [...warn.mock.calls] as unknown[][];
    } finally {
      warn.mockRestore();
    }
  }
});

describe("arguments in the wrong place", () => {
  const handlers = { "*": () => {} };
  const inbox = { put: async () => [] };
  const mistakes: [string, () => unknown, string][] = [
    [
      "an inbox as the store",
      () => createReceiver(handlers, { secret, store: inbox as never }),
      "pass an inbox in place of the handlers.",
    ],
    [
      "handlers in place of the options, beside an inbox",
      () => createReceiver(inbox, handlers as never),
      "a map of handlers was passed as the options. Pass handlers or an inbox, not both, then options such as { secret, store }.",
    ],
    [
      "an inbox in place of the options, beside handlers",
      () => createReceiver(handlers, inbox as never),
      "an inbox was passed as the options. Pass handlers or an inbox, not both",
    ],
    [
      "the options before the handlers",
      () => createReceiver({ secret } as never, handlers as never),
      "a map of handlers was passed as the options. Swap the arguments.",
    ],
    [
      "the options before the inbox",
      () => createReceiver({ secret } as never, memoryInbox() as never),
      "an inbox was passed as the options. Swap the arguments.",
    ],
    [
      "a store in place of the options",
      () => createReceiver(handlers, memoryStore() as never),
      "a dedupe store was passed as the options. Pass handlers or an inbox, not both, then options such as { secret, store }.",
    ],
    [
      "a promise of handlers",
      () => createReceiver(Promise.resolve(handlers) as never, { secret }),
      "a promise was passed as the target. Await it.",
    ],
    [
      "a promise of options",
      () => createReceiver(handlers, Promise.resolve({ secret }) as never),
      "a promise was passed as the options. Await it.",
    ],
    ["null as the options", () => createReceiver(handlers, null as never), "the options are not an object."],
  ];

  it.each(mistakes)("are said as such: %s", (_, create, message) => {
    expect(create).toThrow(message);
  });
});

describe("close", () => {
  it("waits for what is in flight, for everybody who calls it, and resolves at once when there is nothing", async () => {
    const finish = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const handlers = {
      "*": () => {
        started.resolve();
        return finish.promise;
      },
    };
    const receiver = createReceiver(handlers, { secret });
    const inFlight = receiver.receive(delivery());
    await started.promise;
    let closed = 0;
    const closing = [receiver.close(), receiver.close()].map((close) =>
      close.then(() => {
        closed += 1;
      }),
    );
    expect((await receiver.receive(delivery(undefined, "msg_2"))).status).toBe(503);
    expect(closed).toBe(0);
    finish.resolve();
    expect((await inFlight).status).toBe(200);
    await Promise.all(closing);
    await receiver.close();
    await createReceiver({ "*": () => {} }, { secret }).close();
  });
});

describe("createReceiver", () => {
  it("takes another body that has the same CRC-32 for the same one, which only an owner of the secret can make", async () => {
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const { body } = signedDelivery(secret);
    const codes = ["plumless", "buckeroo"].map(async (note) => {
      const noted = body.replace("{", `{"note":"${note}",`);
      const headers = { ...sign({ id: "msg_same", body: noted }, secret) };
      return (await receiver.receive({ method: "POST", headers, body: Buffer.from(noted) })).outcome.code;
    });
    expect(await Promise.all(codes)).toEqual(["processed", "duplicate"]);
  });

  it("asks for no body behind headers that it refuses, and parses none that is not authentic", async () => {
    const body = vi.fn();
    const parse = vi.fn(esimCatalog.parse);
    const options = { catalog: { ...esimCatalog, parse } };
    const { headers, ...rest } = delivery();
    const malformed = { ...rest, headers: { ...headers, "webhook-signature": "v2,other" }, body };
    const codes = [malformed, delivery("tampered"), delivery("wrong_key"), delivery("stale")].map(
      async (given) => (await receive({ "*": () => {} }, given, options)).reply.outcome.code,
    );
    expect(await Promise.all(codes)).toEqual([
      "malformed_header",
      "no_matching_key",
      "no_matching_key",
      "timestamp_out_of_tolerance",
    ]);
    expect(body).not.toHaveBeenCalled();
    expect(parse).not.toHaveBeenCalled();
  });

  it("answers 500 to what nobody foresaw, and never rejects", async () => {
    const body = () => {
      throw new Error("the framework is broken");
    };
    const broken = { ...delivery(), body };
    const { reply, lines } = await receive({ "*": () => {} }, broken);
    expect([reply.status, JSON.parse(reply.body).code]).toEqual([500, "internal_error"]);
    expect(lines).toMatchObject([{ level: "error", fields: { outcome: "internal_error" } }]);
  });

  it.each([
    ["cannot store", () => Promise.reject(new Error("disk full"))],
    ["answers nothing", async () => []],
    ["answers null", async () => [null]],
    ["answers a word of its own", async () => ["ok"]],
    ["answers a name that every object has", async () => ["toString"]],
    ["answers no list", async () => "stored"],
    [
      "throws",
      () => {
        throw new Error("not connected");
      },
    ],
  ])("answers 503 when the inbox %s", async (_, put) => {
    const { reply } = await receive({ put } as unknown as Target, delivery());
    expect([reply.status, JSON.parse(reply.body).code]).toEqual([503, "store_unavailable"]);
  });

  it("answers in the same tick, and starts no timer, when handler and store answer synchronously", async () => {
    const timers = [vi.spyOn(globalThis, "setInterval"), vi.spyOn(globalThis, "setTimeout")];
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const order: string[] = [];
    const received = receiver.receive(delivery()).then(({ outcome }) => order.push(outcome.code));
    await Promise.resolve().then(() => order.push("the next microtask"));
    await received;
    expect(order).toEqual(["processed", "the next microtask"]);
    for (const timer of timers) expect(timer).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("counts what a handler blocks the event loop for as a part of the deadline", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const handlers = {
        "*": () => {
          vi.advanceTimersByTime(20_000);
          return new Promise(() => {});
        },
      };
      const received = receive(handlers, delivery());
      await vi.advanceTimersByTimeAsync(5_000);
      expect((await received).reply.status).toBe(503);
    } finally {
      vi.useRealTimers();
    }
  });

  it("answers at the deadline of 25 s, unless set otherwise", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const started = Promise.withResolvers<void>();
      const handlers = {
        "*": () => {
          started.resolve();
          return new Promise(() => {});
        },
      };
      let answered = false;
      const received = receive(handlers, delivery()).finally(() => {
        answered = true;
      });
      await started.promise;
      await vi.advanceTimersByTimeAsync(24_999);
      expect(answered).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect((await received).reply.status).toBe(503);
    } finally {
      vi.useRealTimers();
    }
  });

  it("answers, and marks the event as done, though the logger throws", async () => {
    const broken = () => {
      throw new Error("the log disk is full");
    };
    const logger: Logger = { ...loggerTo(broken), child: broken };
    const handlers = { "*": (_: unknown, context: HandlerContext) => context.logger.info({}, "hello") };
    const receiver = createReceiver(handlers, { secret, logger });
    const given = delivery();
    expect((await receiver.receive(given)).status).toBe(200);
    expect((await receiver.receive(given)).outcome).toEqual({ code: "duplicate" });
  });

  it("takes a body that is text for its UTF-8 bytes, as a serverless platform hands it in", async () => {
    const given = delivery();
    const body = Buffer.from(given.body as Uint8Array).toString();
    expect((await receive({ "*": () => {} }, { ...given, body })).reply.status).toBe(200);
    const { reply, lines } = await receive({ "*": () => {} }, { ...given, body: { parsed: true } as never });
    expect(reply).toMatchObject({ status: 500, outcome: { code: "body_consumed" } });
    expect(lines[0]?.fields).toEqual({ code: "body_consumed" });
  });

  it("resolves to the outcome beside the reply, so that nobody has to parse the body", async () => {
    const error = new Error("orders table is locked");
    const { reply } = await receive({ "*": () => Promise.reject(error) }, delivery());
    expect(reply.outcome).toEqual({ code: "failed", error });
    expect(reply.body).not.toContain("locked");
  });

  it("logs one line a second of deliveries that anybody can send, for each outcome, with a count, and all authentic ones in time", async () => {
    const { logger, lines } = logged();
    const receiver = createReceiver({ "*": () => {} }, { secret, logger });
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    try {
      const unsigned: Delivery = { method: "POST", headers: {}, body: "{}" };
      const given = [
        delivery("wrong_key"),
        unsigned,
        { ...unsigned, method: "GET" },
        delivery("stale"),
        delivery(),
      ];
      for (let n = 0; n < 20; n++) for (const one of given) await receiver.receive(one);
      now = 1000;
      for (const fault of ["wrong_key", "stale"] as const) await receiver.receive(delivery(fault));
    } finally {
      vi.restoreAllMocks();
    }
    const of = (outcome: string) => lines.filter(({ fields }) => fields["outcome"] === outcome);
    const alike = (outcome: string) => of(outcome).map(({ level, fields }) => [level, fields["alike"]]);
    expect(alike("no_matching_key")).toEqual([
      ["warn", undefined],
      ["warn", 19],
    ]);
    expect(alike("timestamp_out_of_tolerance")).toEqual([
      ["error", undefined],
      ["error", 19],
    ]);
    expect([of("missing_header"), of("method_not_allowed")].map(({ length }) => length)).toEqual([1, 1]);
    expect([of("processed"), of("duplicate")].map(({ length }) => length)).toEqual([1, 19]);
  });

  it("logs one error a second about bodies that cannot be verified, however many come", async () => {
    const { logger, lines } = logged();
    const receiver = createReceiver({ "*": () => {} }, { secret, logger, maxBodyBytes: 10 });
    for (let n = 0; n < 20; n++) {
      const { status, outcome } = await receiver.receive(delivery());
      expect([status, outcome.code]).toEqual([503, "too_large"]);
    }
    expect(lines.length).toBeLessThan(20);
    expect(lines[0]).toMatchObject({ level: "error", fields: { id: "msg_1", outcome: "too_large" } });
  });

  it("asks for at most a day's pause", async () => {
    const { reply } = await receive({ "*": (_, context) => context.retryLater(1e24) }, delivery());
    expect(reply.headers["retry-after"]).toBe("86400");
  });

  it("answers 503 when the claim went to another owner while the handler ran", async () => {
    const store = { ...memoryStore(), complete: async () => false };
    const { reply } = await receive({ "*": () => {} }, delivery(), { store });
    expect([reply.status, JSON.parse(reply.body).code]).toEqual([503, "lease_lost"]);
  });

  it("hands the inbox the type, of an invalid event too, null where there is none, and when it was received", async () => {
    const entries: unknown[] = [];
    const inbox = {
      put: async (given: readonly unknown[]) => {
        entries.push(...given);
        return ["stored" as const];
      },
    };
    await receive(inbox, delivery(), { source: "eu" });
    await receive(inbox, delivery("invalid"));
    const text = "not JSON";
    const headers = sign({ id: "msg_1", body: text, timestamp: new Date() }, secret);
    await receive(inbox, { method: "POST", headers: { ...headers }, body: text });
    expect(entries).toMatchObject([
      { source: "eu", id: "msg_1", type: "esim.faulted", receivedAt: expect.any(Date) },
      { source: "default", id: "msg_1", type: "esim.faulted", event: null },
      { source: "default", id: "msg_1", type: null, event: null },
    ]);
  });

  it.each([
    [{ source: "x".repeat(256) }, '"source"'],
    [{ deadlineMs: 0 }, '"deadlineMs": expected at least 1 ms'],
    [{ deadlineMs: 30_000 }, '"deadlineMs": the sender gives up after 30,000 ms'],
    [{ leaseMs: 2 ** 31 }, '"leaseMs": expected at most 2147483647 ms'],
    [{ secrets: secret }, 'no option "secrets". Did you mean "secret"?'],
    [{ catalog: { parse() {}, check() {} } }, '"catalog": expected a catalog: use defineCatalog'],
    ...["300", null, 0, -1, 1.5, Number.NaN, [], { past: "300" }, { future: 0 }, { pst: 300 }].map(
      (toleranceSeconds): [object, string] => [
        { toleranceSeconds },
        '"toleranceSeconds": expected whole seconds from 1, or { past, future }',
      ],
    ),
    [{ maxUnverifiedBytes: 1000 }, '"maxUnverifiedBytes" is 1000, and "maxBodyBytes" 1048576'],
    [{ bodyTimeoutMs: 0 }, '"bodyTimeoutMs": expected at least 1 ms'],
    [{ maxBodyByte: 5 }, 'no option "maxBodyByte". Did you mean "maxBodyBytes"?'],
    [{ logger: { info() {} } }, '"logger": expected an object with debug(), info(), warn(), error()'],
    [{ store: new Map() }, '"store": expected an object with claim()'],
    [{ toleranceSeconds: 301 }, '"toleranceSeconds" is more than 300'],
    [{ endpoints: () => null }, 'there are "endpoints" and also a "secret"'],
    [
      { toleranceSeconds: 301, store: { ...memoryStore(), capabilities: { durable: true, retentionMs: 1 } } },
      '"toleranceSeconds" accepts a delivery for 602 s',
    ],
  ])("says what is wrong with an option: %#", (options, message) => {
    const create = () => createReceiver({ "*": () => {} }, { secret, ...options } as never);
    expect(create).toThrow(message);
    expect(create).toThrow(expect.objectContaining({ code: "invalid_option", where: "webhook receiver" }));
  });

  it("gives unverified bodies 64 MiB, or as much as the longest has, and a body no more time than the answer", () => {
    const mib = 1024 * 1024;
    expect(readReceiverOptions({}, [])).toMatchObject({
      source: "default",
      maxBodyBytes: mib,
      maxUnverifiedBytes: 64 * mib,
      bodyTimeoutMs: 10_000,
    });
    const larger = { maxBodyBytes: 100 * mib, deadlineMs: 500 };
    expect(readReceiverOptions(larger, [])).toMatchObject({
      maxUnverifiedBytes: 100 * mib,
      bodyTimeoutMs: 500,
    });
    const whole = { maxBodyBytes: 100, maxUnverifiedBytes: 100 };
    expect(readReceiverOptions(whole, [])).toMatchObject(whole);
  });

  it("knows an adapter's own option, and does not read it", () => {
    expect(() => readReceiverOptions({ path: /any/ }, ["path"])).not.toThrow();
    expect(() => readReceiverOptions({ path: /any/ }, [])).toThrow('no option "path"');
  });

  it.each([
    ["gzip", "503 unsupported_encoding"],
    ["identity, gzip", "503 unsupported_encoding"],
    ["identity", "401 no_matching_key"],
    ["Identity", "401 no_matching_key"],
    ["", "401 no_matching_key"],
  ])(
    "answers a body with the content-encoding %j, whose bytes no key signed, %s",
    async (encoding, answer) => {
      const { headers, ...rest } = delivery("wrong_key");
      const encoded = { ...rest, headers: { ...headers, "content-encoding": encoding } };
      const { reply } = await receive({ "*": () => {} }, encoded);
      expect(`${reply.status} ${reply.outcome.code}`).toBe(answer);
    },
  );

  it("accepts an encoded body whose bytes are signed", async () => {
    const { headers, ...rest } = delivery();
    const encoded = { ...rest, headers: { ...headers, "content-encoding": "gzip" } };
    expect((await receive({ "*": () => {} }, encoded)).reply.status).toBe(200);
  });

  it("names the encoding of a body that was signed after compression, and of one that no key signed", async () => {
    const body = brotliCompressSync(JSON.stringify(sampleData("esim.faulted")));
    for (const [key, outcome] of [
      [
        secret,
        { code: "invalid", issues: [{ message: "the body is br data: it was signed after compression" }] },
      ],
      [
        newSecret(),
        { code: "unsupported_encoding", reason: expect.stringContaining("content-encoding (br)") },
      ],
    ] as const) {
      const headers = { ...sign({ id: "msg_1", body }, key), "content-encoding": "br" };
      const { reply } = await receive({ "*": () => {} }, { method: "POST", headers, body });
      expect(reply.outcome).toMatchObject(outcome);
    }
  });

  it("answers 503 to another body with an id that is being handled, and says so in the log and in its message", async () => {
    const { logger, lines } = logged();
    const messages: ReceiveMessage[] = [];
    onTestFinished(observe({ receive: (message) => messages.push(message) }));
    const finish = Promise.withResolvers<void>();
    const receiver = createReceiver({ "*": () => finish.promise }, { secret, logger });
    const [one, another] = ["lost", "stolen"].map((reason) => {
      const data = { ...sampleData("esim.faulted"), reason };
      return signedRequest({ id: "msg_same", type: "esim.faulted", data }, { secret });
    }) as [Delivery, Delivery];
    const [first, same, other] = [one, one, another].map(receiver.receive);
    expect(await Promise.all([same, other])).toMatchObject([
      { status: 503, outcome: { code: "busy" } },
      { status: 503, outcome: { code: "busy" } },
    ]);
    finish.resolve();
    expect((await first)?.status).toBe(200);
    expect(messages.map(({ outcome, conflict }) => [outcome, conflict])).toEqual([
      ["busy", undefined],
      ["busy", true],
      ["processed", undefined],
    ]);
    expect(lines.map(({ level, fields }) => [level, fields["conflict"]])).toEqual([
      ["info", undefined],
      ["error", true],
      ["info", undefined],
    ]);
  });

  it("measures from an event's own timestamp to its answer", async () => {
    const messages: ReceiveMessage[] = [];
    onTestFinished(observe({ receive: (message) => messages.push(message) }));
    const at = new Date(Date.now() - 90_000);
    const old = { type: "esim.faulted", data: sampleData("esim.faulted"), timestamp: at.toISOString() };
    await receive({ "*": () => {} }, signedRequest(old, { secret }));
    const { lagMs } = messages[0] as ReceiveMessage;
    expect(lagMs).toBeGreaterThanOrEqual(90_000);
    expect(lagMs).toBeLessThan(180_000);
  });

  it("is ready until it is closed", async () => {
    const receiver = createReceiver({ "*": () => {} }, { secret });
    await receiver.ready();
    void receiver.close();
    await expect(receiver.ready()).rejects.toMatchObject({ code: "shutting_down" });
    expect(receiver.closing.aborted).toBe(true);
  });

  describe("with a key source", () => {
    const newer = newSecret();
    const signedWith = (secret: string, fault?: Fault) => signedDelivery(secret, {}, fault && { fault });

    /** The codes of deliveries, one after the other, and how often the source was asked. Its last answer stays. */
    async function received(loads: readonly (() => LoadedKeys)[], deliveries: readonly Delivery[]) {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      let asked = 0;
      const load = async () => (loads[Math.min(asked++, loads.length - 1)] as () => LoadedKeys)();
      const { logger, lines } = logged();
      const receiver = createReceiver({ "*": () => {} }, { secret: { load }, logger });
      const codes: string[] = [];
      for (const given of deliveries) {
        const answer = receiver.receive(given);
        await vi.advanceTimersByTimeAsync(1000); // a source is asked at most once a second
        codes.push((await answer).outcome.code);
      }
      return { codes, asked, receiver, lines };
    }
    const fails = () => {
      throw new Error("the secret manager is down");
    };
    const rotatingUntil = new Date(Date.now() + 60_000);

    it("accepts the new key in the middle of a rotation, and holds off what no key matches only until the rotation's end", async () => {
      const rotating = () => ({ keys: [secret, newer], rotatingUntil });
      const { codes } = await received(
        [() => ({ keys: [secret], rotatingUntil }), rotating, rotating, () => ({ keys: [newer] })],
        [signedWith(newer), signedWith(newSecret()), signedWith(newSecret())],
      );
      expect(codes).toEqual(["processed", "rotating", "no_matching_key"]);
    });

    it("answers that a key is not valid yet also while a rotation is under way", async () => {
      const later = { secret: newer, notBefore: new Date(Date.now() + 600_000) };
      const { codes } = await received(
        [() => ({ keys: [secret, later], rotatingUntil })],
        [signedWith(newer)],
      );
      expect(codes).toEqual(["key_not_yet_valid"]);
    });

    it("answers 503 to all deliveries while there are no keys, and asks again for them", async () => {
      const { codes, lines } = await received(
        [fails, fails, () => ({ keys: [secret] })],
        [signedWith(secret), signedWith(secret)],
      );
      expect(codes).toEqual(["keys_unavailable", "processed"]);
      expect(lines.map(({ fields }) => fields["reason"])).toContain("the key source could not be loaded");
    });

    it("does not ask again for a delivery that is authentic and has an unusable id", async () => {
      const id = "m".repeat(1025);
      const [key] = createKeyring(secret).keysAt(0);
      const headers = {
        "webhook-id": id,
        "webhook-timestamp": "1",
        "webhook-signature": `v1,${key?.mac(`${id}.1.`, Buffer.from("{}"))}`,
      };
      const { codes, asked } = await received(
        [() => ({ keys: [secret] })],
        [{ method: "POST", headers, body: "{}" }],
      );
      expect([codes, asked]).toEqual([["unusable_header"], 1]);
    });

    it("is ready once it has keys, for which it asks again itself, and says that it has none until then", async () => {
      const { receiver } = await received([fails, fails, () => ({ keys: [secret] })], []);
      const first = expect(receiver.ready()).rejects.toMatchObject({ code: "keys_unavailable" });
      await vi.advanceTimersByTimeAsync(1000);
      await first;
      const second = receiver.ready();
      await vi.advanceTimersByTimeAsync(1000);
      await second;
    });

    it("of webhookHandler asks it once, not for each delivery", async () => {
      const load = vi.fn(async () => [secret]);
      const handler = webhookHandler({ "*": () => {} }, { secret: { load } });
      for (let n = 0; n < 3; n += 1) {
        const { headers, body } = signedWith(secret);
        const response = await handler(new Request("http://127.0.0.1/", { method: "POST", headers, body }));
        expect(response.status).toBe(200);
      }
      expect(load).toHaveBeenCalledOnce();
    });
  });

  it("says what is wrong when the options are null", () => {
    expect(() => createReceiver({ "*": () => {} }, null as never)).toThrow(WebhookError);
  });

  describe("for two endpoints", () => {
    const warnings = (...receivers: ((logger: Logger) => unknown)[]) => {
      const { logger, lines } = logged();
      for (const create of receivers) create(logger);
      return lines.filter(({ fields }) => fields["code"] === "shared_source").length;
    };
    const one = { secret: newSecret() };
    const other = { secret: newSecret() };
    const handlers = { "*": () => {} };

    it("says at start-up that they share a store and a source, and have different keys", () => {
      const store = memoryStore();
      const on = (options: ReceiverOptions) => (logger: Logger) =>
        createReceiver(handlers, { ...options, store, logger });
      expect(warnings(on(one), on(other))).toBe(1);
      const inbox = { put: async () => [] };
      const into = (options: ReceiverOptions) => (logger: Logger) =>
        createReceiver(inbox, { ...options, logger });
      expect(warnings(into(one), into(other))).toBe(1);
    });

    it("says nothing where each has a source or a store, where they share a key, and once one is closed", () => {
      const on = (options: ReceiverOptions) => (logger: Logger) =>
        createReceiver(handlers, { ...options, logger });
      expect(warnings(on(one), on(other))).toBe(0);
      const store = memoryStore();
      expect(warnings(on({ ...one, store, source: "eu" }), on({ ...other, store, source: "us" }))).toBe(0);
      const both = { secret: [one.secret, other.secret], store: memoryStore() };
      expect(warnings(on({ ...one, store: both.store }), on(both))).toBe(0);
      const closing = memoryStore();
      const closed = (logger: Logger) => createReceiver(handlers, { ...one, store: closing, logger }).close();
      expect(warnings(closed, on({ ...other, store: closing }))).toBe(0);
    });

    it("says at start-up that they share a store and a secret, and have two sources", () => {
      const { secret } = one;
      const codes = (target: object, ...options: ReceiverOptions[]) => {
        const { logger, lines } = logged();
        for (const given of options) createReceiver(target as typeof handlers, { ...given, secret, logger });
        return lines.map(({ fields }) => fields["code"]);
      };
      const store = memoryStore();
      expect(codes(handlers, { store, source: "eu" }, { store, source: "us" })).toEqual(["shared_secret"]);
      expect(codes(handlers, { store: memoryStore(), source: "eu" })).toEqual([]);
      const inbox = { put: async () => [] };
      expect(codes(inbox, { source: "eu" }, { source: "eu" }, { source: "us" })).toEqual(["shared_secret"]);
    });

    it("says so once one of two receivers with the same key is closed, for the other still has it", () => {
      const store = memoryStore();
      const on = (options: ReceiverOptions) => (logger: Logger) =>
        createReceiver(handlers, { ...options, store, logger });
      const closed = (logger: Logger) => on(one)(logger).close();
      expect(warnings(on(one), closed, on(other))).toBe(1);
    });
  });

  it("refuses a store beside an inbox, which deduplicates by itself", () => {
    const create = () => createReceiver({ put: async () => [] }, { secret, store: memoryStore() });
    expect(create).toThrow(/Leave the store out/);
    expect(create).toThrow(expect.objectContaining({ code: "invalid_option" }));
  });

  it.each(["stored", "already_stored", "conflict"] as const)(
    "answers 202 with %s, as the inbox does",
    async (code) => {
      const { reply } = await receive({ put: async () => [code] }, delivery());
      expect([reply.status, reply.outcome]).toEqual([202, { code }]);
    },
  );

  it("asks for an event again whose id another receiver handles inline, on the tables of the inbox", async () => {
    const { reply } = await receive({ put: async () => ["busy"] }, delivery());
    expect([reply.status, reply.outcome.code, reply.headers["retry-after"]]).toEqual([503, "busy", "5"]);
  });
});
