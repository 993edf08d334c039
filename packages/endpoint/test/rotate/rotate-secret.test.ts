import { ApiError, type WebhookDelivery } from "@esim-webhooks/client";
import {
  createKeyring,
  type KeyRecord,
  type KeyStore,
  type StoredKey,
  WebhookError,
} from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { type EndpointErrorCode, planRotation, rotateSecret } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";
import type { AtCall } from "../../src/rotate/rotation-record.ts";
import { secretsOf } from "../ensure/service.ts";
import { memoryState } from "../reconcile/memory-state.ts";
import { type MemoryService, memoryService, reconciledState } from "./memory-service.ts";

const fingerprint = (secret: string) => createKeyring([secret]).keysAt(0)[0]?.fingerprint;

/** Every line that was logged. */
function lines() {
  const all: (readonly [level: string, fields: object, message: string])[] = [];
  return {
    all,
    logger: loggerTo((fields, message, level) => all.push([level, fields, message])),
    at: (level: string) => all.filter((line) => line[0] === level).map(([, ...line]) => line),
  };
}

/** The date-time in `ms`, by the clock of the service. */
const timeIn = ({ clock }: MemoryService, ms: number) => new Date(clock.now() + ms).toISOString();

/** An error of the service, as the client has it. */
const failure = (code: ConstructorParameters<typeof ApiError>[0], details = {}) =>
  new ApiError(code, "the service failed.", "Ask its support.", {
    where: "webhooks.rotateSecret",
    ...details,
  });

/** A pass that came to its end. */
const donePass = { interrupted: false, dryRun: false } as never;

/** The fields of a rotation's record, as a run of an hour ago has written them. */
const begunIn = (service: MemoryService) => ({
  kind: "rotate",
  endpoint: service.endpoint,
  startedAt: timeIn(service, -3_600_000),
  idempotencyKey: "key-1",
  keyedAt: timeIn(service, -3_600_000),
  updatedAt: timeIn(service, -7_200_000),
});

/** The record of each step. */
const recordsIn: Readonly<Record<string, (service: MemoryService) => object>> = {
  call: (service) => ({ ...begunIn(service), step: "call" }),
  form: (service) => ({
    ...begunIn(service),
    step: "form",
    rotatedAt: timeIn(service, -60_000),
    secret: "ab".repeat(32),
  }),
  stored: (service) => ({
    ...begunIn(service),
    step: "stored",
    rotatedAt: null,
    newKey: "key:of-a-run",
    oldKeys: ["key:before"],
    oldKeysEndAt: timeIn(service, 60_000),
  }),
};

const recordIn = ({ keys }: MemoryService) => keys.record as KeyRecord;
/** The step that the key store has; undefined: no change is under way. */
const stepIn = (record: KeyRecord) => record.change as Partial<AtCall> | undefined;

/** A service whose key store has the record of this step, with some fields changed. */
function continuing(step: string, fields: (service: MemoryService) => object = () => ({})): MemoryService {
  const service = memoryService();
  const change = { ...recordsIn[step]?.(service), ...fields(service) };
  service.keys.record = { keys: [service.secret()], change: change as NonNullable<KeyRecord["change"]> };
  return service;
}

describe("a rotation", () => {
  it("is recorded step by step, with the times at which each ends", async () => {
    const service = memoryService();
    const { clock, endpoint, endpoints, keys } = service;
    const old = service.secret();
    const [{ updatedAt } = { updatedAt: "" }] = endpoints;
    const startedAt = timeIn(service, 0);
    const [in10Minutes, in2Minutes, inAMinute] = [600_000, 120_000, 60_000].map((ms) => timeIn(service, ms));
    const written: KeyRecord[] = [];
    const write: KeyStore["write"] = async (record, version) => {
      written.push(record);
      return keys.write(record, version);
    };
    const given: unknown[] = [];
    const api = service.withCalls({
      rotateSecret(reference, options) {
        given.push(options);
        return service.api.webhooks.rotateSecret(reference, options);
      },
    });
    const { all, logger } = lines();
    const { signal } = new AbortController();
    const options = { clock, logger, signal, checkReceivers: false };
    const report = await rotateSecret(api, endpoint, { ...keys, write }, options);
    const secret = service.secret();
    const [newKey, oldKey] = [fingerprint(secret), fingerprint(old)];
    const idempotencyKey = service.calls[0];
    const begun = { kind: "rotate", endpoint, startedAt, idempotencyKey, keyedAt: startedAt, updatedAt };
    const rotatedAt = endpoints[0]?.updatedAt;
    const ofStored = { newKey, oldKeys: [oldKey], oldKeysEndAt: in2Minutes };
    expect(written).toEqual([
      { keys: [old], rotatingUntil: in10Minutes, change: { ...begun, step: "call" } },
      {
        keys: [
          { secret: old, notAfter: in2Minutes },
          { secret, endpoint },
        ],
        rotatingUntil: inAMinute,
        change: { ...begun, rotatedAt, step: "stored", ...ofStored },
      },
      { keys: [{ secret, endpoint }] },
    ]);
    expect(rotatedAt).not.toBe(updatedAt);
    expect(given).toEqual([{ idempotencyKey, signal, timeoutMs: 120_000 }]);
    expect(report).toEqual({
      ...{ endpoint, continued: null, startedAt, newKey, oldKeys: [oldKey], otherKeys: [] },
      ...{ newKeyUse: { accepted: 0, refused: 0 }, reconciled: null },
    });
    expect(all).toEqual([
      ["info", { endpoint, key: newKey }, "The new key is stored."],
      [
        "info",
        { endpoint, key: newKey, newKeyUse: report.newKeyUse },
        "Looked for deliveries with the new key.",
      ],
      ["info", { endpoint, key: newKey }, "The rotation is finished."],
    ]);
    expect(timeIn(service, 0)).toBe(in2Minutes);
  });

  it.each(["list", "rotateSecret", "deliveries", "reconcile"] as const)(
    "stops when its signal aborts, and passes the signal to what it is doing: %s",
    async (name) => {
      const service = memoryService();
      const stop = new AbortController();
      const { webhooks } = service.api;
      let calls = 0;
      const stopping =
        (call: (...given: never[]) => unknown) =>
        (...given: { readonly signal?: AbortSignal }[]) => {
          calls += 1;
          stop.abort();
          expect(given.at(-1)?.signal?.aborted).toBe(true);
          return call(...(given as never[]));
        };
      const options =
        name === "reconcile"
          ? { state: await reconciledState(service), reconcile: stopping(async () => donePass) as never }
          : {};
      const api = service.withCalls(name === "reconcile" ? {} : { [name]: stopping(webhooks[name]) });
      const run = service.rotate({ ...options, signal: stop.signal }, api);
      await expect(run).rejects.toThrow(/abort/);
      expect(calls).toBe(1);
    },
  );

  it.each([
    ["asks the receivers", undefined, {}, true],
    ["asks no receiver with checkReceivers: false", undefined, { checkReceivers: false }, false],
    ["asks no receiver if an earlier run may have made the call", "call", {}, false],
  ])("%s", async (_, step, options, asks) => {
    const service = step === undefined ? memoryService() : continuing(step);
    const { at, logger } = lines();
    await rotateSecret(service.api, service.endpoint, service.keys, {
      ...{ clock: service.clock, logger },
      ...options,
    });
    const nothingAnswers = [{ answers: Array(5).fill(null) }, expect.stringContaining("Nothing shows")];
    expect(at("warn")).toEqual(asks ? [nothingAnswers] : []);
  });

  it("of an endpoint that is not active is begun with a warning", async () => {
    const service = memoryService();
    service.changeListed({ active: false });
    const { at, logger } = lines();
    expect((await planRotation(service.api, service.endpoint, service.keys)).active).toBe(false);
    await service.rotate({ logger });
    expect(at("warn")).toEqual([
      [{ endpoint: service.endpoint }, "The endpoint is not active: the service sends it nothing."],
    ]);
  });

  it.each([
    [1, 'It has "endpoint-1".'],
    [2, 'It has "endpoint-1", "endpoint-2".'],
    [0, "It has none."],
  ])("of an endpoint that the client does not have is refused: the client has %i", async (count, remedy) => {
    const service = memoryService();
    if (count === 2) await service.api.webhooks.create({ url: "https://shop.example/b", eventTypes: [] });
    if (count === 0) service.endpoints.pop();
    const before = service.keys.record;
    for (const function_ of [rotateSecret, planRotation]) {
      await expect(function_(service.api, "none", service.keys)).rejects.toMatchObject({
        ...{ code: "endpoint_unknown", endpoint: "none" },
        message: `The client has no endpoint "none". ${remedy}`,
      });
    }
    expect(service.keys.record).toBe(before);
  });

  it.each([
    ["it has no record", undefined, "missing_secret", 'write { "keys": [] }'],
    [
      "a replacement is under way",
      { keys: [], change: { kind: "replace", endpoint: "other" } },
      "change_under_way",
      "A replacement of the endpoint other has begun and has not ended. Finish it with replaceEndpoint",
    ],
  ])("is not begun with a key store that cannot take it: %s", async (_, record, code, message) => {
    const { api, endpoint, keys } = memoryService();
    keys.record = record;
    for (const function_ of [rotateSecret, planRotation]) {
      const refused = { code, message: expect.stringContaining(message) };
      await expect(function_(api, endpoint, keys)).rejects.toMatchObject(refused);
    }
    expect(keys.record).toBe(record);
  });

  it("is not begun before the endpoint was reconciled with the state store, and continued all the same", async () => {
    const service = memoryService();
    const { api, endpoint, keys } = service;
    const before = keys.record;
    const state = memoryState();
    const refused = {
      ...{ code: "no_watermark", option: "since", endpoint },
      message: expect.stringMatching(/The secret was not replaced\. Reconcile it once with \{ since \}/),
    };
    await expect(service.rotate({ state })).rejects.toMatchObject(refused);
    await expect(planRotation(api, endpoint, keys, { state })).rejects.toMatchObject(refused);
    expect(keys.record).toBe(before);
    const begun = continuing("call");
    expect(await planRotation(begun.api, endpoint, begun.keys, { state })).toMatchObject({
      continues: "call",
    });
    expect(await begun.rotate({ state })).toMatchObject({ continued: "call" });
  });
});

describe("the keys that a rotation ends", () => {
  const ended = { secret: newSecret(), notAfter: "2026-01-01T00:00:00Z" };
  const [unlabelled, another] = [newSecret(), newSecret()];
  const own = { secret: newSecret(), endpoint: "endpoint-1" };
  const others = { secret: newSecret(), endpoint: "endpoint-2" };

  it.each<[string, number, (string | StoredKey)[], number[]]>([
    ["the only one without an endpoint, next to one that has ended", 1, [unlabelled, ended], [0, 1]],
    ["none without an endpoint, if there are several", 1, [unlabelled, another], []],
    ["none without an endpoint, if the client has another endpoint", 2, [unlabelled], []],
    ["those of the endpoint, and none of others", 2, [own, others, unlabelled], [0]],
    ["none, if there is none", 1, [], []],
  ])("are %s", async (_, count, stored, oldIndexes) => {
    const old = oldIndexes.map((index) => stored[index] as StoredKey);
    const prints = (keys: readonly (string | StoredKey)[]) =>
      keys.map((key) => fingerprint(typeof key === "string" ? key : key.secret));
    for (const step of [undefined, "call"]) {
      const service = step === undefined ? memoryService() : continuing(step);
      const { api, endpoint, keys } = service;
      keys.record = { ...keys.record, keys: stored };
      if (count === 2) await api.webhooks.create({ url: "https://shop.example/b", eventTypes: [] });
      const others = stored.filter((key) => !old.includes(key as StoredKey));
      const wanted = { oldKeys: prints(old), otherKeys: prints(others) };
      expect(await planRotation(api, endpoint, keys)).toMatchObject(wanted);
      const report = await service.rotate();
      expect(report).toMatchObject(wanted);
      expect(keys.record).toEqual({ keys: [...others, { secret: service.secret(), endpoint }] });
    }
  });
});

describe("planRotation", () => {
  it.each([
    [undefined, { continues: null, asks: true }],
    ["call", { continues: "call", asks: true }],
    ["form", { continues: "form", asks: false }],
    ["stored", { continues: "stored", asks: false, oldKeys: ["key:before"] }],
  ])("says what a run would do at the step %s, and writes nothing", async (step, plan) => {
    const service = step === undefined ? memoryService() : continuing(step);
    const { api, endpoint, keys } = service;
    const before = keys.record;
    const old = fingerprint(service.secret());
    const isKnown = step === "stored";
    const wanted = { endpoint, active: true, oldKeys: [old], otherKeys: isKnown ? [old] : [], ...plan };
    expect(await planRotation(api, endpoint, keys)).toEqual(wanted);
    expect(keys.record).toBe(before);
  });
});

describe("the record of a rotation, which another version may have written", () => {
  it.each(Object.keys(recordsIn))("is continued from the step %s", async (step) => {
    const service = continuing(step);
    const { startedAt } = begunIn(service);
    const { all, logger } = lines();
    const secretForm = step === "form" ? "hex" : undefined;
    expect(await service.rotate({ logger, secretForm })).toMatchObject({ continued: step, startedAt });
    const fields = { endpoint: service.endpoint, step };
    expect(all[0]).toEqual(["info", fields, "Continues the rotation that was begun."]);
  });

  const fields = Object.entries(recordsIn).flatMap(([step, recordOf]) =>
    [...Object.keys(recordOf(memoryService())), "more"].map((field) => [step, field] as const),
  );
  it.each(fields)(
    "is refused, and stays, at the step %s with another form of the field %s",
    async (step, field) => {
      const service = continuing(step, () => ({ [field]: field === "kind" ? "turn" : 1 }));
      const { keys } = service;
      const before = keys.record;
      await expect(service.rotate()).rejects.toMatchObject({ code: "change_under_way" });
      expect(keys.record).toBe(before);
    },
  );

  it("is refused if it is that of another endpoint", async () => {
    const service = continuing("call");
    const created = await service.api.webhooks.create({ url: "https://shop.example/b", eventTypes: [] });
    await expect(
      rotateSecret(service.api, created.webhookEndpointReference, service.keys),
    ).rejects.toMatchObject({
      code: "change_under_way",
      message: `A rotation of the endpoint ${service.endpoint} has begun and has not ended. Finish it with rotateSecret, as it was begun.`,
    });
  });
});

describe("a call that fails", () => {
  const other = "asks again, under another idempotency key";
  const same = "continues with the same call";
  it.each([
    ["service_failed", other],
    ["unexpected_status", other],
    ["bad_request", other],
    ["conflict", other],
    ["forbidden", other],
    ["invalid_request", other],
    ["key_reused", other],
    ["not_found", other],
    ["wrong_credentials", same],
    ["unauthorized", same],
    ["rate_limited", same],
    ["connection_lost", same],
    ["timed_out", same],
    ["unexpected_answer", same],
  ] as const)("with %s ends the run, and the next run %s", async (code, next) => {
    const service = memoryService();
    const { clock, keys } = service;
    let made: string | undefined;
    const cause = failure(code);
    const api = service.withCalls({
      async rotateSecret(_, options) {
        made = options?.idempotencyKey;
        await clock.wait(1000);
        throw cause;
      },
    });
    const startedAt = timeIn(service, 0);
    const advice = cause.retryable ? "" : " Ask its support.";
    const failed = await service.rotate({}, api).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      ...{ code, cause },
      message: `The rotation is not finished. webhooks.rotateSecret: the service failed.${advice} Rotate again soon: the next run ${next}. Deliveries with a new signature are answered 503 for up to 10 minutes, then 401.`,
    });
    expect(stepIn(recordIn(service))?.idempotencyKey === made).toBe(next === same);
    expect(keys.record).toMatchObject({
      rotatingUntil: timeIn(service, next === same ? 599_000 : 600_000),
      change: { step: "call", startedAt, keyedAt: timeIn(service, next === same ? -1000 : 0) },
    });
    const kept = stepIn(recordIn(service))?.idempotencyKey;
    expect(await service.rotate()).toMatchObject({ continued: "call", startedAt });
    expect(service.calls).toEqual([kept]);
  });

  it.each(["list", "rotateSecret"])(
    "with an error that is not of the client rejects with that error: %s",
    async (name) => {
      const service = memoryService();
      const error = new TypeError("not a client");
      const api = service.withCalls({
        [name]: () => {
          throw error;
        },
      });
      await expect(service.rotate({}, api)).rejects.toBe(error);
    },
  );

  it("with an error that names no operation is reported without one", async () => {
    const service = memoryService();
    const rotateSecret = () => Promise.reject(failure("unauthorized", { where: undefined }));
    await expect(service.rotate({}, service.withCalls({ rotateSecret }))).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The rotation is not finished\. the service failed\. Ask its support\. /,
      ),
    });
  });

  it.each([
    [2, 3],
    [3, 3],
  ])(
    "to show the secret %i times is repeated under other idempotency keys: %i calls",
    async (fails, calls) => {
      const service = memoryService();
      const made: (string | undefined)[] = [];
      const api = service.withCalls({
        async rotateSecret(reference, options) {
          made.push(options?.idempotencyKey);
          if (made.length <= fails) throw failure("secret_not_shown");
          return service.api.webhooks.rotateSecret(reference, options);
        },
      });
      const { at, logger } = lines();
      const run = service.rotate({ logger }, api);
      if (fails < calls) expect(await run).toMatchObject({ newKey: fingerprint(service.secret()) });
      else
        await expect(run).rejects.toMatchObject({
          code: "secret_not_shown",
          message: expect.stringContaining("Rotate again soon: the next run continues with the same call."),
        });
      expect(new Set(made).size).toBe(calls);
      expect(at("warn")).toEqual(
        Array(2).fill([
          { endpoint: service.endpoint },
          "The service has replaced the secret without showing it: it is replaced again.",
        ]),
      );
    },
  );
});

describe("a call that an earlier run may have made", () => {
  const hour = 3_600_000;

  it.each([
    ["was the last one, so its answer is taken", 0, {}, 1],
    ["was followed by another program's", 1, {}, 2],
    ["has an answer without a time", 0, { updatedAt: null }, 2],
  ] as const)("%s", async (_, others, odd, calls) => {
    const service = continuing("call");
    const { api, clock, endpoint } = service;
    await api.webhooks.rotateSecret(endpoint, { idempotencyKey: "key-1" });
    await clock.wait(1000);
    for (let made = 0; made < others; made += 1) await api.webhooks.rotateSecret(endpoint, {});
    await clock.wait(1000);
    service.calls.length = 0;
    const { at, logger } = lines();
    const answering = service.withCalls({
      rotateSecret: async (...given) => ({ ...(await api.webhooks.rotateSecret(...given)), ...odd }),
    });
    await service.rotate({ logger }, answering);
    expect(new Set(service.calls).size).toBe(calls);
    expect(service.calls[0]).toBe("key-1");
    expect(secretsOf(service.keys.record)).toEqual([service.secret()]);
    expect(at("warn")).toEqual(
      calls === 1
        ? []
        : [
            [
              { endpoint },
              "The secret may have been replaced again since the call that is continued: it is replaced once more.",
            ],
          ],
    );
  });

  it.each([
    [47 * hour, true],
    [47 * hour + 1, false],
  ])("%i ms ago is repeated under the same idempotency key only for 47 hours: %s", async (ms, isSame) => {
    const service = continuing("call", (made) => ({ keyedAt: timeIn(made, -ms) }));
    await service.rotate();
    expect(service.calls[0] === "key-1").toBe(isSame);
  });

  it.each([
    [7 * 60_000 + 1, []],
    [7 * 60_000, ["call"]],
    [undefined, ["call"]],
  ])("is repeated while receivers hold off for long enough, or again: %s ms", async (ms, renewed) => {
    const service = continuing("call");
    if (ms !== undefined) service.keys.record = { ...recordIn(service), rotatingUntil: timeIn(service, ms) };
    const steps: (string | undefined)[] = [];
    const { clock, keys, api, endpoint } = service;
    const write: KeyStore["write"] = async (record, version) => {
      const { step } = stepIn(record) ?? {};
      steps.push(step);
      if (step === "call") expect(record.rotatingUntil).toBe(timeIn(service, 10 * 60_000));
      return keys.write(record, version);
    };
    await rotateSecret(api, endpoint, { ...keys, write }, { clock });
    expect(steps).toEqual([...renewed, "stored", undefined]);
    expect(service.calls).toEqual(["key-1"]);
  });
});

describe("a secret whose form is not expected", () => {
  it("is kept, receivers hold off, and a run with the right form stores it", async () => {
    const service = memoryService();
    const { clock, endpoint, keys } = service;
    const secret = "ab".repeat(32);
    const rotatedAt = timeIn(service, 1000);
    const api = service.withCalls({
      rotateSecret: async (...given) => ({
        ...(await service.api.webhooks.rotateSecret(...given)),
        ...{ signingSecret: secret, updatedAt: rotatedAt },
      }),
    });
    for (const continues of [null, "form"]) {
      await clock.wait(1000);
      expect(await planRotation(api, endpoint, keys)).toMatchObject({ continues });
      const until = timeIn(service, 600_000);
      await expect(service.rotate({}, api)).rejects.toMatchObject({
        ...{ code: "invalid_secret", option: "secretForm" },
        message: expect.stringContaining(
          `Rotate again with the option secretForm before ${until}: hex, base64 or utf8.`,
        ),
      });
      expect(keys.record).toMatchObject({
        keys: [expect.any(String)],
        rotatingUntil: until,
        change: { step: "form", secret, rotatedAt, idempotencyKey: service.calls[0] },
      });
    }
    expect(await service.rotate({ secretForm: "hex" })).toMatchObject({ continued: "form" });
    expect(service.calls).toHaveLength(1);
    expect(keys.record).toEqual({ keys: [{ secret: `hex:${secret}`, endpoint }] });
  });

  it.each([
    ["is taken if the service has replaced none since", {}, -60_000, 0],
    ["is replaced again if the service has since replaced it", {}, -59_999, 1],
    ["is taken by the time before the call if the answer had none", { rotatedAt: null }, -7_200_000, 0],
    ["is replaced again if the answer had no time", { rotatedAt: null }, -7_199_999, 1],
  ])("%s", async (_, more, listedMs, calls) => {
    const service = continuing("form", () => more);
    service.changeListed({ updatedAt: timeIn(service, listedMs) });
    const { at, logger } = lines();
    await service.rotate({ secretForm: calls === 0 ? "hex" : undefined, logger });
    expect(service.calls).toHaveLength(calls);
    expect(service.calls).not.toContain("key-1");
    expect(at("warn")).toEqual(
      calls === 0
        ? []
        : [
            [
              { endpoint: service.endpoint },
              "The secret may have been replaced again since the one that was kept: it is replaced once more.",
            ],
          ],
    );
  });
});

describe("deliveries with the new key", () => {
  const atMs = (service: MemoryService, ms: number, more: Partial<WebhookDelivery> = {}) => ({
    ...{ eventId: `sent-${ms}`, sentAt: timeIn(service, ms), deliveredAt: null, httpStatus: null },
    ...more,
  });
  const accepted = { deliveredAt: "2100-01-01T00:00:00Z", httpStatus: 202 };
  const refused = { httpStatus: 401 };
  const none = { accepted: 0, refused: 0 };

  it.each<[string, [number, Partial<WebhookDelivery>][], { accepted: number; refused: number }]>([
    ["not those that were sent with the old one", [[0, accepted]], none],
    ["those that were accepted", [[1, accepted]], { accepted: 1, refused: 0 }],
    [
      "those that were refused",
      [
        [1, refused],
        [2, refused],
      ],
      { accepted: 0, refused: 2 },
    ],
    ["not those that fail otherwise", [[1, { httpStatus: 503 }]], none],
    ["not those without a time", [[1, { ...accepted, sentAt: null }]], none],
    [
      "each event once",
      [
        [1, { ...accepted, eventId: "a" }],
        [2, { ...accepted, eventId: "a" }],
        [3, { ...refused, eventId: "b" }],
        [4, { ...refused, eventId: "b" }],
      ],
      { accepted: 1, refused: 1 },
    ],
    ["as accepted what was acknowledged", [[1, { ...accepted, ...refused }]], { accepted: 1, refused: 0 }],
  ])("are in the report: %s", async (_, sent, newKeyUse) => {
    const service = memoryService();
    service.deliveries = sent.map(([ms, more]) => atMs(service, ms, more));
    const { at, logger } = lines();
    expect(await service.rotate({ logger })).toMatchObject({ newKeyUse });
    expect(at("error")).toEqual(
      newKeyUse.refused === 0
        ? []
        : [
            [
              { endpoint: service.endpoint, code: "new_key_refused" },
              expect.stringMatching(/^Receivers answer 401 to deliveries with the new signature\./),
            ],
          ],
    );
  });

  it.each([
    [[-1000], [-1000, -999], 1, null],
    [[], [-1000], 1, null],
    [[-1000], [-1001], 0, null],
    [[-1000], [-1000, -999], 1, "as before"],
  ])(
    "are those that are sent after the first look, if the answer does not say when the secret was replaced: %o, %o",
    async (before, after, count, shown) => {
      const service = memoryService();
      const [{ updatedAt: old } = { updatedAt: "" }] = service.endpoints;
      const delivered = (eventId: string) => (ms: number) =>
        atMs(service, ms, { eventId: `${eventId}-${ms}`, deliveredAt: timeIn(service, ms) });
      const first = before.map(delivered("first"));
      const later = after.map(delivered("later"));
      service.deliveries = first;
      const api = service.withCalls({
        rotateSecret: async (...given) => ({
          ...(await service.api.webhooks.rotateSecret(...given)),
          updatedAt: shown && old,
        }),
      });
      const wait: typeof service.clock.wait = async (...given) => {
        service.deliveries = [...later, ...first];
        return service.clock.wait(...given);
      };
      const report = await service.rotate({ clock: { ...service.clock, wait } }, api);
      expect(report.newKeyUse).toEqual({ accepted: count, refused: 0 });
    },
  );

  it("are looked for every five seconds, and at the end of the old keys", async () => {
    const service = memoryService();
    const startMs = service.clock.now();
    const looks: number[] = [];
    const api = service.withCalls({
      deliveries(...given) {
        looks.push(service.clock.now() - startMs);
        return service.api.webhooks.deliveries(...given);
      },
    });
    await service.rotate({ overlapMs: 62_000 }, api);
    expect(looks).toEqual([...Array.from({ length: 13 }, (_, index) => index * 5000), 62_000]);
  });

  it("are looked for in the newest page only", async () => {
    const service = memoryService();
    const pages = async function* () {
      yield { data: [], pagination: { limit: 100, hasMore: true, nextCursor: "1" } };
      throw new Error("A second page was read.");
    };
    const api = service.withCalls({ deliveries: () => ({ pages }) as never });
    expect((await service.rotate({}, api)).newKeyUse).toEqual(none);
  });
});

describe("an endpoint that was deleted", () => {
  it.each<[string, { readonly overlapMs?: number }]>([
    ["call", {}],
    ["form", {}],
    ["stored", {}],
    ["call", { overlapMs: 60_000 }],
  ])("ends its rotation at the step %s, and the keys that name it: %o", async (step, options) => {
    const service = continuing(step);
    const { endpoint, endpoints, keys } = service;
    const own = { secret: newSecret(), endpoint };
    const others = [newSecret(), { secret: newSecret(), endpoint: "endpoint-2" }];
    keys.record = { ...keys.record, keys: [own, ...others] };
    endpoints.pop();
    const endsAt = timeIn(service, options.overlapMs ?? 120_000);
    const { all, logger } = lines();
    await expect(service.rotate({ ...options, logger })).rejects.toMatchObject({
      ...{ code: "endpoint_unknown", endpoint },
      message: `The endpoint "${endpoint}" was deleted, so its rotation was ended. There is nothing left to rotate. The keys that name it are valid until ${endsAt}, the other keys stay. If you need the endpoint, register it again with ensureEndpoint.`,
    });
    expect(keys.record).toEqual({ keys: [{ ...own, notAfter: endsAt }, ...others] });
    expect(service.calls).toEqual([]);
    expect(all.at(-1)).toEqual([
      "warn",
      { endpoint, endsAt },
      "The endpoint is gone, so its rotation was ended, and the keys that name it end. The others stay.",
    ]);
  });

  it.each([
    ["ends the rotation when the pass finds that it is gone", true, "endpoint_unknown", undefined],
    ["is not taken for deleted by the pass while the service lists it", false, "endpoint_unknown", "stored"],
    ["is not taken for deleted by another error of the pass", true, "invalid_state", "stored"],
  ])("%s", async (_, isDeleted, code, step) => {
    const service = memoryService();
    const { api, endpoint } = service;
    const state = await reconciledState(service);
    const error = new WebhookError(code as "invalid_secret", "Thrown by the pass.", "See above.");
    const reconcile = async () => {
      if (isDeleted) await api.webhooks.delete(endpoint);
      throw error;
    };
    const run = service.rotate({ state, reconcile });
    if (step === undefined)
      await expect(run).rejects.toMatchObject({ code, message: expect.stringContaining("was deleted") });
    else await expect(run).rejects.toBe(error);
    expect(stepIn(recordIn(service))?.step).toBe(step);
  });

  it.each([
    ["while the service does not list endpoints", "not_found", true],
    ["by a call that fails otherwise", "service_failed", false],
  ] as const)("is not taken for deleted %s", async (_, code, isDown) => {
    const service = memoryService();
    const { list } = service.api.webhooks;
    let isCalled = false;
    const api = service.withCalls({
      list(...given) {
        if (isCalled && isDown) throw failure("service_failed");
        return list(...given);
      },
      async rotateSecret(reference) {
        isCalled = true;
        await service.api.webhooks.delete(reference);
        throw failure(code);
      },
    });
    await expect(service.rotate({}, api)).rejects.toMatchObject({ code });
    expect(stepIn(recordIn(service))?.step).toBe("call");
  });
});

describe("a rotation that another process moves on", () => {
  const moved = { code: "change_under_way" };

  it.each<[string, (service: MemoryService) => KeyRecord | undefined, object]>([
    [
      "finished with another key",
      ({ endpoint }) => ({ keys: [{ secret: newSecret(), endpoint }] }),
      { ...moved, message: expect.stringMatching(/^The key store no longer has this rotation: /) },
    ],
    [
      "followed by another change",
      () => ({ keys: [], change: { kind: "ensure", url: "https://shop.example/a" } }),
      { ...moved, message: expect.stringContaining("A registration of the endpoint at shop.example/a") },
    ],
  ])("during the call is %s: its secret is not stored", async (_, theirs, refusal) => {
    const service = memoryService();
    const record = theirs(service);
    const api = service.withCalls({
      async rotateSecret(...given) {
        service.keys.record = record;
        return service.api.webhooks.rotateSecret(...given);
      },
    });
    await expect(service.rotate({}, api)).rejects.toMatchObject(refusal);
    expect(service.keys.record).toBe(record);
  });

  it.each([
    ["has its key: it ends well", true, undefined],
    ["does not have its key", false, undefined],
    ["has its key, but another change has begun", true, { kind: "ensure" }],
  ])("to its end while the old keys are valid, and then %s", async (_, hasKey, change) => {
    const service = memoryService();
    const { endpoint, keys } = service;
    const reconcile = async () => {
      const key = { secret: hasKey ? service.secret() : newSecret(), endpoint };
      keys.record = { keys: [key], ...(change && { change }) };
      return donePass;
    };
    const run = service.rotate({ state: await reconciledState(service), reconcile });
    if (!hasKey || change) await expect(run).rejects.toMatchObject(moved);
    else expect(await run).toMatchObject({ newKey: fingerprint(service.secret()), otherKeys: [] });
  });

  it("away before a failed call is recorded is not begun again", async () => {
    const service = memoryService();
    const record = { keys: [newSecret()] };
    const api = service.withCalls({
      async rotateSecret() {
        service.keys.record = record;
        throw failure("in_flight");
      },
    });
    await expect(service.rotate({}, api)).rejects.toMatchObject({
      ...moved,
      message: expect.stringMatching(/^The key store no longer has this rotation: /),
    });
    expect(service.keys.record).toBe(record);
  });
});

describe("the pass of a rotation, in memory", () => {
  it.each([
    [{ interrupted: false, dryRun: false }, undefined],
    [{ interrupted: true, dryRun: false }, "the pass was interrupted."],
    [{ interrupted: false, dryRun: true }, "the pass was a dry run."],
  ])("ends the rotation only if it has settled everything: %o", async (pass, problem) => {
    const service = memoryService();
    const { clock } = service;
    const startMs = clock.now();
    const options = {
      state: await reconciledState(service),
      async reconcile() {
        expect(clock.now() - startMs).toBe(120_000);
        return pass as never;
      },
    };
    const run = service.rotate(options);
    if (problem === undefined) expect(await run).toMatchObject({ reconciled: pass });
    else {
      await expect(run).rejects.toMatchObject({
        code: "not_settled",
        message: expect.stringContaining(`${problem} Rotate again: it reconciles again.`),
      });
      expect(stepIn(recordIn(service))?.step).toBe("stored");
      const next = service.rotate({ ...options, reconcile: async () => donePass });
      expect(await next).toMatchObject({ continued: "stored", reconciled: donePass });
    }
  });
});

it("waits for the pass of a worker that is under way, and reconciles then", async () => {
  const service = memoryService();
  let passes = 0;
  const reconcile = async () => {
    passes += 1;
    if (passes < 4) throw new WebhookError<EndpointErrorCode>("reconcile_in_use", "A pass.", "Wait.");
    return donePass;
  };
  const state = await reconciledState(service);
  expect(await service.rotate({ state, reconcile })).toMatchObject({ reconciled: donePass });
});

describe("arguments and options", () => {
  const { api, endpoint, keys } = memoryService();
  it.each<[unknown[], string]>([
    [[undefined, endpoint, keys], "the first argument is not a client"],
    [[{ webhooks: 1 }, endpoint, keys], "the first argument is not a client"],
    [[api, "", keys], "there is no endpoint reference"],
    [[api, undefined, keys], "there is no endpoint reference"],
    [[api, endpoint, undefined], "this key source cannot be changed"],
    [[api, endpoint, { load: keys.load }], "cannot be changed. Pass a key store: fileKeySource(path)"],
    [[api, endpoint, { load: keys.load, read: keys.read }], "this key source cannot be changed"],
    [[api, endpoint, { load: keys.load, write: keys.write }], "this key source cannot be changed"],
    [[api, endpoint, keys, { reconcile: async () => donePass }], "reconcile needs state"],
    [[api, endpoint, keys, { state: memoryState(), reconcile: {} }], "expected a function"],
    [[api, endpoint, keys, { state: {} }], '"state"'],
    [[api, endpoint, keys, { checkReceivers: "no" }], '"checkReceivers"'],
    [[api, endpoint, keys, { overlapMs: 59_999 }], '"overlapMs"'],
    [[api, endpoint, keys, { secretForm: "octal" }], '"secretForm"'],
    [[api, endpoint, keys, { signal: "none" }], '"signal"'],
    [[api, endpoint, keys, { wait: 1 }], 'no option "wait"'],
  ])("that cannot be right are refused: %#", async (given, problem) => {
    for (const [name, function_] of Object.entries({ rotateSecret, planRotation })) {
      const run = (function_ as (...all: unknown[]) => Promise<unknown>)(...given);
      const error = await run.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "invalid_option", message: expect.stringContaining(problem) });
      expect((error as Error).message).toContain(name);
    }
  });
});
