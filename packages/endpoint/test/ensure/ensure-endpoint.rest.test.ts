import { type ApiClient, ApiError } from "@esim-webhooks/client";
import type { KeyStore } from "@esim-webhooks/core";
import { describe, expect, it, vi } from "vitest";
import { wallClock } from "../../src/base/waiting-clock.ts";
import { ensureEndpoint } from "../../src/ensure/ensure-endpoint.ts";
import { replaceEndpoint } from "../../src/ensure/replace-endpoint.ts";
import { fastClock } from "../fast-clock.ts";
import { killedAt } from "./killed-at.ts";
import { type MemoryKeys, memoryKeys, type Service, secretsOf, startService, url } from "./service.ts";

const create = "POST /management/webhooks";
const rotate = "POST /management/webhooks/{webhookEndpointReference}/rotate-secret";
const handlers = { "esim.enabled": () => {}, "esim.lifecycle.*": () => {} };
const types = [
  "esim.enabled",
  "esim.lifecycle.suspended",
  "esim.lifecycle.activated",
  "esim.lifecycle.terminated",
];

/** There is one endpoint, and receivers have its secret of the moment. */
async function expectOne({ endpoints }: Service, keyStore: MemoryKeys): Promise<void> {
  const all = await endpoints();
  expect(all).toMatchObject([{ url, eventTypes: types }]);
  expect(secretsOf(keyStore.record).at(-1)).toBe(all[0]?.signingSecret);
  expect(keyStore.record?.change).toBeUndefined();
}

describe("an endpoint that is not there", () => {
  it("is registered for what the handlers take, and its secret is in the key store", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const made = await ensureEndpoint(service.api, { url, handlers, keyStore, description: "shop" });
    expect(made).toMatchObject({ created: true, findings: [], endpoint: { url, description: "shop" } });
    expect(JSON.stringify(made)).not.toContain("whsec_");
    await expectOne(service, keyStore);
  });

  it("is registered once though the answer shows little more than the secret", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const { webhooks } = service.api;
    const create: typeof webhooks.create = async (...given) => {
      const { signingSecret, webhookEndpointReference } = await webhooks.create(...given);
      const nothing = { url: null, eventTypes: null, description: null, active: null };
      return { webhookEndpointReference, ...nothing, createdAt: null, updatedAt: null, signingSecret };
    };
    const api = { ...service.api, webhooks: { ...webhooks, create } };
    expect(await ensureEndpoint(api, { url, handlers, keyStore })).toMatchObject({
      created: true,
      findings: [],
      endpoint: { url, eventTypes: types, active: true },
    });
    await expectOne(service, keyStore);
  });

  it("is found by the next call, also in another spelling of its URL", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const first = await ensureEndpoint(service.api, { url, handlers, keyStore });
    const again = await ensureEndpoint(service.api, {
      url: "HTTPS://shop.example:443/webhooks",
      handlers,
      keyStore,
    });
    expect(again).toEqual({ ...first, created: false });
    await expectOne(service, keyStore);
  });

  it("keeps the keys that are there, and holds off its deliveries until its secret is there", async () => {
    const service = await startService();
    const old = {
      secret: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
      notAfter: "2999-01-01T00:00:00Z",
    };
    const keyStore = memoryKeys({ keys: [old] });
    const during: unknown[] = [];
    const api = withCalls(service.api, { create: () => void during.push(keyStore.record) });
    await ensureEndpoint(api, { url, handlers, keyStore });
    expect(during).toMatchObject([{ keys: [old], change: { kind: "ensure", url } }]);
    const [{ rotatingUntil }] = during as [{ rotatingUntil: string }];
    expect(Date.parse(rotatingUntil)).toBeGreaterThan(Date.now() + 5 * 60_000);
    expect(keyStore.record).toEqual({ keys: [old, expect.anything()] });
    await expectOne(service, keyStore);
  });

  it("is registered next to those of other URLs, which is said once: the URL may be mistyped", async () => {
    const { api } = await startService();
    const eventTypes = ["esim.enabled"];
    const shop = await api.webhooks.create({ url: "https://me:hunter2@shop.example/a?token=t0", eventTypes });
    const keyStore = memoryKeys();
    const ensure = () => ensureEndpoint(api, { url: "https://shop.exampel/a", handlers, keyStore });
    const { endpoint, findings } = await ensure();
    const [made, other] = [endpoint.webhookEndpointReference, shop.webhookEndpointReference];
    expect(findings).toEqual([
      {
        code: "other_endpoints",
        about: [made, other],
        problem: `A new endpoint was registered, ${made} (shop.exampel/a). The client also has 1 other: ${other} (shop.example/a).`,
        remedy: `If the URL is mistyped, delete the new endpoint: api.webhooks.delete(${JSON.stringify(made)}). If you need all of them, do nothing: this is said only once.`,
      },
    ]);
    expect((await ensure()).findings).toEqual([]);
    const third = await ensureEndpoint(api, { url: "https://third.example", handlers, keyStore });
    expect(third.findings).toMatchObject([
      { problem: expect.stringMatching(/\. The client also has 2 others: \S+ \(\S+\) and \S+ \(\S+\)\.$/) },
    ]);
  });

  it("is registered, and keys that have ended go", async () => {
    const { api } = await startService();
    const ended = { secret: "utf8:of-an-endpoint-that-is-gone", notAfter: "2026-01-01T00:00:00Z" };
    const keyStore = memoryKeys({ keys: [ended] });
    await ensureEndpoint(api, { url, handlers, keyStore });
    expect(keyStore.record).toEqual({ keys: [expect.not.objectContaining(ended)] });
  });

  it.each(["changes", "empties"])("keeps its secret though another program %s the key store", async (how) => {
    const service = await startService();
    const keyStore = memoryKeys({ keys: ["utf8:the-secret-of-another-endpoint"] });
    const before = keyStore.record;
    const write = async () => {
      keyStore.record = how === "changes" ? before : { keys: [] };
    };
    const clock = fastClock();
    const restoring = {
      now: clock.now,
      async wait(ms: number, signal: AbortSignal) {
        keyStore.record = before;
        await clock.wait(ms, signal);
      },
    };
    const api = withCalls(service.api, {}, { create: write });
    const { created } = await ensureEndpoint(api, { url, handlers, keyStore, clock: restoring });
    expect(created).toBe(true);
    await expectOne(service, keyStore);
    expect(keyStore.record?.keys[0]).toBe("utf8:the-secret-of-another-endpoint");
  });

  it("keeps trying to store its secret for minutes, after any error of the key store's own program", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const throttled = throttledKeys(keyStore, 200);
    const clock = fastClock();
    const { created } = await ensureEndpoint(service.api, { url, handlers, keyStore: throttled, clock });
    expect(created).toBe(true);
    await expectOne(service, keyStore);
  });

  it("is the next run's when its secret cannot be stored, which says what to do", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const throttled = throttledKeys(keyStore, 100_000);
    await expect(
      ensureEndpoint(service.api, { url, handlers, keyStore: throttled, clock: fastClock() }),
    ).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(
        /^The new secret could not be stored\. Rate exceeded.* run this again soon/,
      ),
    });
    await ensureEndpoint(service.api, { url, handlers, keyStore });
    await expectOne(service, keyStore);
  });

  it("is registered for a list of event types, families and the star", async () => {
    const { api, endpoints } = await startService();
    await ensureEndpoint(api, {
      url,
      eventTypes: ["esim.enabled", "esim.lifecycle.*"],
      keyStore: memoryKeys(),
    });
    expect(await endpoints()).toMatchObject([{ eventTypes: types }]);
    const all = `${url}/all`;
    const offered = (await api.catalog.webhookEventTypes()).map(({ eventType }) => eventType);
    const { endpoint } = await ensureEndpoint(api, { url: all, eventTypes: ["*"], keyStore: memoryKeys() });
    expect(endpoint.eventTypes).toEqual(offered);
  });

  it("is not registered for a type that the service does not offer, since it could not be changed later", async () => {
    const { api, endpoints } = await startService();
    const keyStore = memoryKeys();
    await expect(ensureEndpoint(api, { url, eventTypes: ["esim.fualted"], keyStore })).rejects.toThrow(
      'The service has no event type "esim.fualted", so nothing was registered. Did you mean "esim.faulted"?',
    );
    expect(await endpoints()).toEqual([]);
    expect(keyStore.record).toBeUndefined();
  });

  it("is registered for handlers of which the service offers some, and says which ones it does not", async () => {
    const { api, sandbox, endpoints } = await startService();
    await sandbox.retireEventType("esim.faulted");
    const given = { "esim.enabled": () => {}, "esim.faulted": () => {} };
    const { findings } = await ensureEndpoint(api, { url, handlers: given, keyStore: memoryKeys() });
    expect(await endpoints()).toMatchObject([{ eventTypes: ["esim.enabled"] }]);
    expect(findings).toMatchObject([{ code: "not_offered", about: ["esim.faulted"] }]);
  });

  it.each(["5", "3"] as const)(
    "is refused at the cap of %s, and the key store is as it was",
    async (endpointCap) => {
      const { api, endpoints } = await startService({ clock: "manual", switches: { endpointCap } });
      for (let n = 1; n <= Number(endpointCap); n += 1) {
        await api.webhooks.create({ url: `${url}/${n}`, eventTypes: ["esim.enabled"] });
      }
      const keyStore = memoryKeys({ keys: ["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="] });
      const before = keyStore.record;
      await expect(ensureEndpoint(api, { url, handlers, keyStore })).rejects.toMatchObject({
        code: "endpoint_cap",
        message: expect.stringMatching(
          /Nothing was changed\. Reconcile one that is not needed, then delete it/,
        ),
      });
      expect(keyStore.record).toEqual(before);
      expect(await endpoints()).toHaveLength(Number(endpointCap));
    },
  );
});

it.each([undefined, {}, { webhooks: {} }])("refuses a first argument that is no client: %j", async (api) => {
  const wish = { url, handlers, keyStore: memoryKeys() };
  const calls: readonly ((api: never, wish: never) => Promise<unknown>)[] = [ensureEndpoint, replaceEndpoint];
  for (const call of calls) {
    await expect(call(api as never, wish as never)).rejects.toMatchObject({
      code: "invalid_option",
      message: `${call.name}: the first argument is not a client. Pass what createClient returns.`,
    });
  }
});

describe("what can be wrong with an endpoint", () => {
  /** An endpoint that exists, with its secret in the key store. */
  async function existing(eventTypes: readonly string[] = types) {
    const service = await startService();
    const made = await service.api.webhooks.create({ url, eventTypes });
    const keyStore = memoryKeys({ keys: [made.signingSecret] });
    const ensure = () => ensureEndpoint(service.api, { url, handlers, keyStore });
    return { ...service, keyStore, ensure, reference: made.webhookEndpointReference };
  }

  it("nothing", async () => {
    const { ensure } = await existing();
    expect(await ensure()).toMatchObject({ created: false, findings: [] });
  });

  it("its event types, and nothing of it is changed", async () => {
    const { ensure, sandbox, endpoints, keyStore } = await existing([
      "esim.enabled",
      "esim.faulted",
      "esim.deleted",
    ]);
    await sandbox.retireEventType("esim.deleted");
    const before = [await endpoints(), keyStore.record];
    const { findings } = await ensure();
    expect(findings.map(({ code, about }) => [code, ...about])).toEqual([
      ["not_subscribed", ...types.slice(1)],
      ["retired", "esim.deleted"],
      ["no_handler", "esim.faulted"],
    ]);
    expect([await endpoints(), keyStore.record]).toEqual(before);
  });

  it("it is not active", async () => {
    const { ensure, sandbox, reference } = await existing();
    await sandbox.setEndpointActive(reference, false);
    expect((await ensure()).findings).toMatchObject([{ code: "inactive", about: [reference] }]);
  });

  it.each([
    ["no secret", []],
    ["the secret of another endpoint", [{ secret: "utf8:another", endpoint: "another" }]],
    ["two secrets without an endpoint, so it is not known which is its own", ["utf8:one", "utf8:other"]],
  ])("the key store has %s, and rotating gives one", async (_what, keys) => {
    const { ensure, keyStore, reference } = await existing();
    keyStore.record = { keys };
    expect((await ensure()).findings).toMatchObject([
      {
        code: "no_secret",
        about: [reference],
        remedy: expect.stringMatching(/Else get another one with rotateSecret\.$/),
      },
    ]);
  });

  it("it is not known whether a secret without an endpoint is its own, as the client has another endpoint", async () => {
    const { ensure, api, keyStore, reference } = await existing();
    await api.webhooks.create({ url: `${url}/other`, eventTypes: types });
    expect((await ensure()).findings).toMatchObject([
      {
        code: "no_secret",
        remedy: expect.stringContaining(`put it into the key store with endpoint: "${reference}"`),
      },
    ]);
    const [secret = ""] = secretsOf(keyStore.record);
    keyStore.record = { keys: [{ secret, endpoint: reference }] };
    expect((await ensure()).findings).toEqual([]);
  });

  it("another endpoint has its URL", async () => {
    const { ensure, api, sandbox, keyStore, reference } = await existing();
    const [secret = ""] = secretsOf(keyStore.record);
    keyStore.record = { keys: [{ secret, endpoint: reference }] };
    const { webhookEndpointReference: second } = await api.webhooks.create({ url, eventTypes: types });
    expect(await ensure()).toMatchObject({
      endpoint: { webhookEndpointReference: reference },
      findings: [{ code: "same_url", about: [reference, second] }],
    });
    await sandbox.setEndpointActive(reference, false);
    expect(await ensure()).toMatchObject({ endpoint: { webhookEndpointReference: second } });
  });

  it("a rotation is under way, which stays as it is", async () => {
    const { ensure, keyStore, reference } = await existing();
    keyStore.record = { keys: keyStore.record?.keys ?? [], change: { kind: "rotate", endpoint: reference } };
    expect((await ensure()).findings).toMatchObject([
      {
        code: "change_under_way",
        problem: `A rotation of the endpoint ${reference} has begun and has not ended.`,
        remedy: "Finish it with rotateSecret, as it was begun.",
      },
    ]);
    expect(keyStore.record?.change).toEqual({ kind: "rotate", endpoint: reference });
  });
});

describe("a registration that did not end", () => {
  it("is not begun while another change is under way", async () => {
    const { api, endpoints } = await startService();
    const keyStore = memoryKeys({
      keys: [],
      change: { kind: "ensure", step: "create", url: `${url}/other` },
    });
    await expect(ensureEndpoint(api, { url, handlers, keyStore })).rejects.toMatchObject({
      code: "change_under_way",
      message: expect.stringContaining("Finish it with ensureEndpoint, as it was begun."),
    });
    expect(await endpoints()).toEqual([]);
  });

  it("is not begun while another change is under way, whose URL is shown without its user, password and query", async () => {
    const { api } = await startService();
    const change = { kind: "replace", url: "https://me:hunter2@shop.example/a?token=t0" };
    const run = ensureEndpoint(api, { url, handlers, keyStore: memoryKeys({ keys: [], change }) });
    await expect(run).rejects.toMatchObject({
      code: "change_under_way",
      message:
        "A replacement of the endpoint at shop.example/a has begun and has not ended. Finish it with replaceEndpoint, as it was begun.",
    });
  });

  it.each([
    ["ensure", "rotate", "without the endpoint whose secret is to be rotated"],
    ["replace", "create", "without the endpoint that is to be replaced"],
  ])("is not continued from a record of kind %s at the step %s, %s", async (kind, step) => {
    const { api, endpoints } = await startService();
    const incomplete = { kind, step, url, eventTypes: types, known: [], hidden: 0 };
    const change = { ...incomplete, idempotencyKey: "key", keyedAt: new Date().toISOString() };
    const keyStore = memoryKeys({ keys: [], change });
    const before = keyStore.record;
    const wish = { url, eventTypes: types, keyStore };
    const run =
      kind === "ensure"
        ? ensureEndpoint(api, wish)
        : replaceEndpoint(api, { ...wish, reconcile: () => Promise.reject(new Error("not to be called")) });
    await expect(run).rejects.toMatchObject({ code: "change_under_way" });
    expect(await endpoints()).toEqual([]);
    expect(keyStore.record).toEqual(before);
  });

  it.each(["on", "off"] as const)(
    "is finished after lost answers, with replayShowsSecret %s",
    async (replayShowsSecret) => {
      const service = await startService({ clock: "manual", switches: { replayShowsSecret } });
      const keyStore = memoryKeys();
      service.sandbox.faults.dropNextAnswer(create);
      service.sandbox.faults.dropNextAnswer(rotate);
      expect(await ensureEndpoint(service.api, { url, handlers, keyStore })).toMatchObject({
        created: true,
        findings: [],
      });
      await expectOne(service, keyStore);
    },
  );

  describe.each(["on", "off"] as const)(
    "and whose answers, when given again, have replayShowsSecret %s",
    (replayShowsSecret) => {
      it("is finished by the next call, wherever it was killed", async () => {
        for (let fatal = 0; ; fatal += 1) {
          const service = await startService({ clock: "manual", switches: { replayShowsSecret } });
          service.sandbox.faults.dropNextAnswer(create); // so that a secret must be rotated
          const keyStore = memoryKeys();
          const process = killedAt(fatal, service.api, keyStore);
          const run = ensureEndpoint(process.api, { url, handlers, keyStore: process.keyStore });
          const ended = await Promise.race([run, process.killed]);
          if (ended !== "killed") return expect(fatal).toBeGreaterThanOrEqual(6);
          const { findings } = await ensureEndpoint(service.api, { url, handlers, keyStore });
          expect(findings).toEqual([]);
          await expectOne(service, keyStore);
        }
      });
    },
  );

  describe.each([
    ["on", false],
    ["off", false],
    ["on", true],
  ] as const)(
    "by three failures of the service, with cacheErrors %s and the endpoint registered: %s",
    (cacheErrors, done) => {
      it("is finished by the next calls, wherever one was killed: the endpoints are listed, and the key is a fresh one", async () => {
        for (let fatal = 0; ; fatal += 1) {
          const service = await startService({ clock: "manual", switches: { cacheErrors } });
          service.sandbox.faults.add({ kind: "error", call: create, status: 500, done, times: 3 });
          const keyStore = memoryKeys();
          const process = killedAt(fatal, service.api, keyStore);
          const run = ensureEndpoint(process.api, { url, handlers, keyStore: process.keyStore });
          const ended = await Promise.race([run.catch(({ code }) => code), process.killed]);
          const again = () => ensureEndpoint(service.api, { url, handlers, keyStore });
          if (ended === "killed") await again().catch(() => {}); // the first one that sees the failures
          expect(await again()).toMatchObject({ findings: [] });
          await expectOne(service, keyStore);
          if (ended === "killed") continue;
          expect(ended).toBe("service_failed");
          return expect(fatal).toBeGreaterThanOrEqual(5);
        }
      });

      it("leaves receivers answering 503 until the next call", async () => {
        const service = await startService({ clock: "manual", switches: { cacheErrors } });
        service.sandbox.faults.add({ kind: "error", call: create, status: 500, done, times: 3 });
        const keyStore = memoryKeys();
        await expect(ensureEndpoint(service.api, { url, handlers, keyStore })).rejects.toThrow(
          /answered 500/,
        );
        expect(Date.parse(keyStore.record?.rotatingUntil ?? "")).toBeGreaterThan(Date.now() + 60_000);
      });
    },
  );

  it("holds off what was signed with the lost secret for another minute", async () => {
    const service = await startService({ clock: "manual", switches: { replayShowsSecret: "off" } });
    const keyStore = memoryKeys();
    service.sandbox.faults.dropNextAnswer(create);
    await ensureEndpoint(service.api, { url, handlers, keyStore });
    const untilMs = Date.parse(keyStore.record?.rotatingUntil ?? "");
    expect(untilMs).toBeGreaterThan(Date.now());
    expect(untilMs).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  it("makes one endpoint when several processes begin it concurrently, with one key store", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const all = await Promise.all(
      Array.from({ length: 5 }, () => ensureEndpoint(service.api, { url, handlers, keyStore })),
    );
    expect(new Set(all.map(({ endpoint }) => endpoint.webhookEndpointReference)).size).toBe(1);
    await expectOne(service, keyStore);
    expect(keyStore.record?.keys).toHaveLength(1);
  });

  it("makes no second endpoint after the service has forgotten the key", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const killed = withCalls(service.api, {}, { create: () => Promise.reject(new Error("killed")) });
    await expect(ensureEndpoint(killed, { url, handlers, keyStore })).rejects.toThrow("killed");
    await service.sandbox.advance("3d");
    expect(await ensureEndpoint(service.api, { url, handlers, keyStore, clock: daysLater(3) })).toMatchObject(
      { created: true },
    );
    await expectOne(service, keyStore);
  });

  it("leaves alone an endpoint of the URL that it cannot have registered", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const killed = withCalls(service.api, { create: () => Promise.reject(new Error("killed")) });
    await expect(ensureEndpoint(killed, { url, handlers, keyStore })).rejects.toThrow("killed");
    await service.sandbox.advance("3d");
    const { signingSecret } = await service.api.webhooks.create({ url, eventTypes: types });
    expect(await ensureEndpoint(service.api, { url, handlers, keyStore, clock: daysLater(3) })).toMatchObject(
      { created: false, findings: [{ code: "no_secret" }] },
    );
    expect(await service.endpoints()).toMatchObject([{ signingSecret }]);
  });

  it("says that the URL has another endpoint, which was registered meanwhile", async () => {
    const { api } = await startService();
    const keyStore = memoryKeys();
    const killed = withCalls(api, { create: () => Promise.reject(new Error("killed")) });
    await expect(ensureEndpoint(killed, { url, handlers, keyStore })).rejects.toThrow("killed");
    await api.webhooks.create({ url, eventTypes: types });
    const { created, findings } = await ensureEndpoint(api, { url, handlers, keyStore });
    expect([created, findings.map(({ code }) => code)]).toEqual([true, ["same_url"]]);
  });

  it("begins again when the endpoint was deleted before it was known", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const killed = withCalls(service.api, {}, { create: () => Promise.reject(new Error("killed")) });
    await expect(ensureEndpoint(killed, { url, handlers, keyStore })).rejects.toThrow("killed");
    const [lost] = await service.endpoints();
    await service.api.webhooks.delete(lost?.webhookEndpointReference ?? "");
    expect(await ensureEndpoint(service.api, { url, handlers, keyStore })).toMatchObject({
      created: true,
      findings: [],
    });
    await expectOne(service, keyStore);
    expect(keyStore.record?.keys).toHaveLength(1);
  });

  it("gets another secret when another program got one before the first was known", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const killed = withCalls(service.api, {}, { create: () => Promise.reject(new Error("killed")) });
    await expect(ensureEndpoint(killed, { url, handlers, keyStore })).rejects.toThrow("killed");
    await service.sandbox.advance("1m");
    const [made] = await service.endpoints();
    await service.api.webhooks.rotateSecret(made?.webhookEndpointReference ?? "");
    await ensureEndpoint(service.api, { url, handlers, keyStore });
    await expectOne(service, keyStore);
  });

  it("does not store its secret over a later rotation, when its process was stalled since the call", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const later = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const stalled = withCalls(
      service.api,
      {},
      {
        async create() {
          const { endpoint } = await ensureEndpoint(service.api, { url, handlers, keyStore }); // finishes it
          keyStore.record = { keys: [{ secret: later, endpoint: endpoint.webhookEndpointReference }] };
        },
      },
    );
    expect(await ensureEndpoint(stalled, { url, handlers, keyStore })).toMatchObject({ findings: [] });
    expect(secretsOf(keyStore.record)).toEqual([later]);
  });

  it("ends a call that answers with a secret after two minutes, while receivers hold off", async () => {
    const service = await startService();
    const create = vi.spyOn(service.api.webhooks, "create");
    await ensureEndpoint(service.api, { url, handlers, keyStore: memoryKeys() });
    expect(create).toHaveBeenCalledExactlyOnceWith(
      expect.anything(),
      expect.objectContaining({ timeoutMs: 120_000 }),
    );
  });

  it("gives up after three answers in a row without the secret, and continues in the next run", async () => {
    const service = await startService();
    const keyStore = memoryKeys();
    const { webhooks } = service.api;
    let calls = 0;
    const hides =
      <Given extends readonly unknown[]>(call: (...given: Given) => Promise<unknown>) =>
      async (...given: Given): Promise<never> => {
        calls += 1;
        await call(...given);
        throw new ApiError("secret_not_shown", "The answer does not show the secret.", "");
      };
    const hidden = { create: hides(webhooks.create), rotateSecret: hides(webhooks.rotateSecret) };
    const api = { ...service.api, webhooks: { ...webhooks, ...hidden } };
    await expect(ensureEndpoint(api, { url, handlers, keyStore })).rejects.toMatchObject({
      code: "secret_not_shown",
    });
    expect(calls).toBe(3);
    expect(await ensureEndpoint(service.api, { url, handlers, keyStore })).toMatchObject({ created: true });
    await expectOne(service, keyStore);
  });

  describe("by a refusal, though an attempt before it", () => {
    const forbidden = (call: string) => ({ kind: "error", call, status: 403, times: 1 }) as const;

    it("has registered the endpoint, is finished all the same", async () => {
      const service = await startService();
      const keyStore = memoryKeys();
      service.sandbox.faults.add({ kind: "error", call: create, status: 502, done: true, times: 1 });
      service.sandbox.faults.add(forbidden(create));
      expect(await ensureEndpoint(service.api, { url, handlers, keyStore })).toMatchObject({
        created: true,
        findings: [],
      });
      await expectOne(service, keyStore);
    });

    it("has registered the endpoint in a run that was killed, is finished all the same", async () => {
      const service = await startService();
      const keyStore = memoryKeys();
      const killed = withCalls(service.api, {}, { create: () => Promise.reject(new Error("killed")) });
      await expect(ensureEndpoint(killed, { url, handlers, keyStore })).rejects.toThrow("killed");
      service.sandbox.faults.add(forbidden(create));
      await ensureEndpoint(service.api, { url, handlers, keyStore });
      await expectOne(service, keyStore);
    });

    it("has registered the endpoint whose secret cannot be rotated now, is finished by the next call", async () => {
      const service = await startService({ clock: "manual", switches: { replayShowsSecret: "off" } });
      const keyStore = memoryKeys();
      service.sandbox.faults.dropNextAnswer(create);
      service.sandbox.faults.add(forbidden(rotate));
      await expect(ensureEndpoint(service.api, { url, handlers, keyStore })).rejects.toMatchObject({
        code: "forbidden",
      });
      await ensureEndpoint(service.api, { url, handlers, keyStore });
      await expectOne(service, keyStore);
    });

    it("has done nothing, leaves nothing behind", async () => {
      const { api, sandbox, endpoints } = await startService();
      const keyStore = memoryKeys();
      sandbox.faults.add({ kind: "error", call: create, status: 502, times: 1 });
      sandbox.faults.add(forbidden(create));
      await expect(ensureEndpoint(api, { url, handlers, keyStore })).rejects.toMatchObject({
        code: "forbidden",
      });
      expect(await endpoints()).toEqual([]);
      expect(keyStore.record).toEqual({ keys: [] });
    });
  });
});

/** The machine's clock, that many days later. */
function daysLater(days: number) {
  return { ...wallClock, now: () => wallClock.now() + days * 86_400_000 };
}

/** The key store of a program of its own, whose first writes of a secret are refused. */
function throttledKeys(keyStore: MemoryKeys, refusals: number): KeyStore {
  let left = refusals;
  return {
    ...keyStore,
    async write(record, version) {
      if (record.keys.length > 0 && left-- > 0) throw new Error("Rate exceeded");
      return keyStore.write(record, version);
    },
  };
}

interface Calls {
  readonly create?: () => Promise<void> | undefined | void;
}

/** The API, with something that happens before or after the answer of a call. */
function withCalls(api: ApiClient, before: Calls, after: Calls = {}): ApiClient {
  return {
    ...api,
    webhooks: {
      ...api.webhooks,
      async create(...given) {
        await before.create?.();
        const made = await api.webhooks.create(...given);
        await after.create?.();
        return made;
      },
    },
  };
}

describe("a secret of an unexpected form", () => {
  it.each(["on", "off"] as const)(
    "does not end the registration, with replayShowsSecret %s",
    async (replayShowsSecret) => {
      const switches = { secretFormat: "custom", replayShowsSecret } as const;
      const service = await startService({ clock: "manual", switches });
      const keyStore = memoryKeys();
      await expect(ensureEndpoint(service.api, { url, handlers, keyStore })).rejects.toMatchObject({
        code: "invalid_secret",
        message: expect.stringContaining("Run it again with the option secretForm: hex, base64 or utf8."),
      });
      await ensureEndpoint(service.api, { url, handlers, keyStore, secretForm: "hex" });
      const [made, ...others] = await service.endpoints();
      expect(secretsOf(keyStore.record)).toEqual([`hex:${made?.signingSecret}`]);
      expect(others).toEqual([]);
    },
  );
});
