import { WebhookError } from "@esim-webhooks/core";
import { describe, expect, it, vi } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import type { EndpointErrorCode } from "../../src/base/errors.ts";
import { ensureEndpoint } from "../../src/ensure/ensure-endpoint.ts";
import { replaceEndpoint } from "../../src/ensure/replace-endpoint.ts";
import type { ReplacePass } from "../../src/ensure/replace-options.ts";
import { readWatermark } from "../../src/reconcile/pass-state.ts";
import { reconcile } from "../../src/reconcile/reconcile.ts";
import { fastClock } from "../fast-clock.ts";
import { knownInbox, memoryState } from "../reconcile/memory-state.ts";
import { killedAt } from "./killed-at.ts";
import { memoryKeys, type Service, secretsOf, startService, url } from "./service.ts";

const create = "POST /management/webhooks";
const rotate = "POST /management/webhooks/{webhookEndpointReference}/rotate-secret";
const first = ["esim.enabled", "esim.faulted"];
const second = ["esim.enabled", "esim.disabled"];
const otherKey = { secret: "utf8:of-another-endpoint", endpoint: "another" };

/** The report of a pass that has recovered all. */
const settled = {
  interrupted: false,
  dryRun: false,
  failing: 0,
  lost: null,
  ledger: { rejected: 0, invalid: 0, conflict: 0, unsettled: 0 },
};

/** An endpoint for the first event types, with its key in the key store, and what replaces it. */
async function existing(service: Service) {
  const keyStore = memoryKeys({ keys: [otherKey] });
  const { endpoint } = await ensureEndpoint(service.api, {
    url,
    eventTypes: first,
    keyStore,
    description: "shop",
  });
  const reconciled: ReplacePass[] = [];
  const clock = fastClock();
  const options = {
    url,
    eventTypes: second,
    keyStore,
    clock,
    async reconcile(from: ReplacePass) {
      reconciled.push(from);
      return settled;
    },
  };
  return { keyStore, options, reconciled, clock, reference: endpoint.webhookEndpointReference };
}

/** There is one endpoint, for the second event types, and its key is in the store next to those of others. */
async function expectReplaced(
  { endpoints }: Service,
  keyStore: ReturnType<typeof memoryKeys>,
): Promise<void> {
  const all = await endpoints();
  expect(all).toMatchObject([{ url, eventTypes: second }]);
  const [{ signingSecret: secret, webhookEndpointReference: endpoint }] = all as [(typeof all)[0] & object];
  expect(keyStore.record).toEqual({ keys: [otherKey, { secret, endpoint }] });
}

/** A machine that stalls for two seconds loses no pass: its heartbeat is written every second. */
const leaseMs = 3000;

/** A worker's pass of the endpoint, which is under way until it is released. */
async function workersPass(
  { api }: Service,
  endpoint: string,
  state: ReturnType<typeof memoryState>,
): Promise<{ release(): Promise<unknown> }> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const deliveries: typeof api.webhooks.deliveries = (...given) => {
    const listing = api.webhooks.deliveries(...given);
    return Object.assign(Object.create(listing), {
      async *pages() {
        await released;
        yield* listing.pages();
      },
    });
  };
  const held = { webhooks: { ...api.webhooks, deliveries } };
  const pass = reconcile(held, endpoint, knownInbox(), { state, since: new Date(0), leaseMs });
  await expect.poll(state.only).toMatchObject({ runner: expect.any(Object) });
  return {
    release() {
      release();
      return pass;
    },
  };
}

describe("replacing an endpoint", () => {
  it("registers a second one, reconciles the first, deletes it, and drops its key", async () => {
    const service = await startService();
    const { keyStore, options, reconciled, reference } = await existing(service);
    const replaced = await replaceEndpoint(service.api, options);
    expect(replaced).toMatchObject({
      replaced: reference,
      reconciled: { interrupted: false },
      findings: [],
      endpoint: { url, eventTypes: second, description: "shop" },
    });
    const pass = { endpoint: reference, includeComing: true };
    const { webhookEndpointReference: endpoint, createdAt } = replaced.endpoint;
    expect(reconciled).toMatchObject([
      pass, // before anything is changed
      pass, // once the second one is there
      { endpoint, includeComing: false, since: new Date(createdAt) },
    ]);
    await expectReplaced(service, keyStore);
  });

  it("leaves a watermark of the second one, so that the next pass needs no since", async () => {
    const service = await startService();
    const { options, reference } = await existing(service);
    const state = memoryState();
    const replaced = await replaceEndpoint(service.api, {
      ...options,
      reconcile: ({ endpoint, ...pass }) =>
        reconcile(service.api, endpoint, knownInbox(), { state, since: new Date(0), ...pass }),
    });
    const { webhookEndpointReference: second, createdAt } = replaced.endpoint;
    expect(await readWatermark(state, second)).toMatchObject({ mark: new Date(createdAt) });
    expect(replaced.reconciled).toMatchObject({ endpoint: reference });
  });

  it("does not mind that a worker reconciles the second one already", async () => {
    const service = await startService();
    const { keyStore, options } = await existing(service);
    const inUse = new WebhookError<EndpointErrorCode>("reconcile_in_use", "A pass.", "Wait.");
    await replaceEndpoint(service.api, {
      ...options,
      reconcile: async ({ since }) => (since === undefined ? settled : Promise.reject(inUse)),
    });
    await expectReplaced(service, keyStore);
  });

  it.each([
    ["before anything is changed", 0],
    ["before the first one is deleted", 60_000],
  ])("waits for the pass of a worker that is under way %s", async (_when, listingLagMs) => {
    const service = await startService();
    const { keyStore, options, clock, reference } = await existing(service);
    const state = memoryState();
    const shared = { state, since: new Date(0), leaseMs };
    const worker = () => workersPass(service, reference, state);
    let pass = listingLagMs === 0 ? await worker() : undefined;
    const waits: number[] = [];
    const { reconciled } = await replaceEndpoint(service.api, {
      ...options,
      listingLagMs,
      reconcile: ({ endpoint, ...given }) =>
        reconcile(service.api, endpoint, knownInbox(), { ...shared, ...given }),
      clock: {
        ...clock,
        async wait(ms, signal) {
          waits.push(ms);
          if (ms === 60_000) pass = await worker();
          else await pass?.release();
          await clock.wait(ms, signal);
        },
      },
    });
    expect(waits).toContain(5000);
    expect(reconciled).toMatchObject({ endpoint: reference, interrupted: false });
    await expectReplaced(service, keyStore);
  });

  it("waits ten minutes at most for the pass of a worker", async () => {
    const service = await startService();
    const { options, clock } = await existing(service);
    const startMs = clock.now();
    const inUse = new WebhookError<EndpointErrorCode>("reconcile_in_use", "A pass.", "Wait.");
    const busy = { ...options, reconcile: () => Promise.reject(inUse) };
    await expect(replaceEndpoint(service.api, busy)).rejects.toBe(inUse);
    expect(clock.now() - startMs).toBeGreaterThanOrEqual(10 * 60_000);
    expect(await service.endpoints()).toHaveLength(1);
  });

  it("drops the only key that names no endpoint, but none of several: one may be that of another client", async () => {
    for (const others of [[], ["utf8:the-secret-of-another-client"]]) {
      const service = await startService();
      const { keyStore, options } = await existing(service);
      const [, own = ""] = secretsOf(keyStore.record);
      keyStore.record = { keys: [...others, own] };
      await replaceEndpoint(service.api, options);
      const kept = others.length === 0 ? [] : [...others, own];
      expect(keyStore.record?.keys).toEqual([
        ...kept,
        { secret: expect.any(String), endpoint: expect.any(String) },
      ]);
    }
  });

  it("stores the second one's secret in the form that the first one's has", async () => {
    const service = await startService({ clock: "manual", switches: { secretFormat: "custom" } });
    const keyStore = memoryKeys();
    await ensureEndpoint(service.api, { url, eventTypes: first, keyStore, secretForm: "hex" });
    const reconcile = async () => settled;
    await replaceEndpoint(service.api, { url, eventTypes: second, keyStore, reconcile, clock: fastClock() });
    const [made] = await service.endpoints();
    expect(secretsOf(keyStore.record)).toEqual([`hex:${made?.signingSecret}`]);
  });

  it("keeps the first one and its key while it is reconciled, and its key two minutes longer", async () => {
    const service = await startService();
    const { keyStore, options, clock } = await existing(service);
    const [, firstSecret] = secretsOf(keyStore.record);
    const seen: unknown[] = [];
    const look = async () => void seen.push([(await service.endpoints()).length, keyStore.record?.keys]);
    await replaceEndpoint(service.api, {
      ...options,
      overlapMs: 120_000,
      async reconcile(from) {
        await look();
        return options.reconcile(from);
      },
      clock: {
        ...clock,
        async wait(ms, signal) {
          await look();
          await clock.wait(ms, signal);
        },
      },
    });
    const withNotAfter = { secret: firstSecret, notAfter: expect.any(String) };
    const newKey = { secret: expect.stringMatching(/^whsec_/) };
    expect(seen.slice(0, 4)).toMatchObject([
      [1, [otherKey, { secret: firstSecret }]],
      [2, [otherKey, { secret: firstSecret }, newKey]],
      [2, [otherKey, { secret: firstSecret }, newKey]],
      [1, [otherKey, withNotAfter, newKey]],
    ]);
  });

  it("does nothing when the endpoint is as it is wished", async () => {
    const service = await startService();
    const { options, reconciled, reference, keyStore } = await existing(service);
    const before = keyStore.record;
    const same = await replaceEndpoint(service.api, { ...options, eventTypes: first.toReversed() });
    expect(same).toMatchObject({
      replaced: null,
      reconciled: null,
      findings: [],
      endpoint: { eventTypes: first },
    });
    expect(same.endpoint.webhookEndpointReference).toBe(reference);
    expect([reconciled, keyStore.record]).toEqual([[], before]);
  });

  it("replaces one that is not active, though its event types are right", async () => {
    const service = await startService();
    const { options, reference } = await existing(service);
    await service.sandbox.setEndpointActive(reference, false);
    expect(await replaceEndpoint(service.api, { ...options, eventTypes: first })).toMatchObject({
      replaced: reference,
      endpoint: { active: true, eventTypes: first },
    });
  });

  it.each(["5", "3"] as const)(
    "says that the cap of %s is reached before anything is changed",
    async (endpointCap) => {
      const service = await startService({ clock: "manual", switches: { endpointCap } });
      const { options, keyStore } = await existing(service);
      for (let n = 2; n <= Number(endpointCap); n += 1) {
        await service.api.webhooks.create({ url: `${url}/${n}`, eventTypes: first });
      }
      const before = [await service.endpoints(), keyStore.record];
      await expect(replaceEndpoint(service.api, options)).rejects.toMatchObject({ code: "endpoint_cap" });
      expect([await service.endpoints(), keyStore.record]).toEqual(before);
    },
  );

  it("warns when another program deleted the first one before it was reconciled, and does not say that it was", async () => {
    const service = await startService();
    const { options, keyStore, reference } = await existing(service);
    let passes = 0;
    const reconcile = async () => {
      if (passes++ === 0) return settled;
      await service.api.webhooks.delete(reference);
      throw new Error("killed");
    };
    await expect(replaceEndpoint(service.api, { ...options, reconcile })).rejects.toThrow("killed");
    const warnings: unknown[] = [];
    const logger = loggerWith({ warn: (...line: unknown[]) => void warnings.push(line) });
    expect(await replaceEndpoint(service.api, { ...options, logger })).toMatchObject({
      replaced: reference,
      reconciled: null,
    });
    expect(warnings).toEqual([
      [{ endpoint: reference }, expect.stringMatching(/deleted before this run could reconcile it/)],
    ]);
    await expectReplaced(service, keyStore);
  });

  it("says that the first one was reconciled when another program deleted it right after that", async () => {
    const service = await startService();
    const { options, keyStore, reference } = await existing(service);
    let passes = 0;
    const reconcile = async () => {
      if (passes++ === 1) await service.api.webhooks.delete(reference);
      return settled;
    };
    const warn = vi.fn();
    const logger = loggerWith({ warn });
    expect(await replaceEndpoint(service.api, { ...options, reconcile, logger })).toMatchObject({
      replaced: reference,
      reconciled: settled,
    });
    expect(warn).not.toHaveBeenCalled();
    await expectReplaced(service, keyStore);
  });

  it("registers the second one again, with its description and in the form that was given, when it is deleted last", async () => {
    const service = await startService({ clock: "manual", switches: { secretFormat: "custom" } });
    const keyStore = memoryKeys({ keys: [otherKey] });
    const shared = { url, keyStore, secretForm: "hex" } as const;
    await ensureEndpoint(service.api, { ...shared, eventTypes: first, description: "shop" });
    const reconcile = async ({ endpoint, since }: ReplacePass) => {
      if (since === undefined) return settled;
      await service.api.webhooks.delete(endpoint);
      keyStore.record = { ...keyStore.record, keys: [otherKey] };
      return settled;
    };
    const clock = fastClock();
    const replaced = await replaceEndpoint(service.api, { ...shared, eventTypes: second, reconcile, clock });
    expect(replaced.endpoint).toMatchObject({ description: "shop", eventTypes: second });
    const [made] = await service.endpoints();
    expect(secretsOf(keyStore.record)).toEqual([otherKey.secret, `hex:${made?.signingSecret}`]);
  });

  it("is refused without an endpoint of the URL, and with two", async () => {
    const service = await startService();
    const { options } = await existing(service);
    const elsewhere = { ...options, url: `${url}/elsewhere` };
    await expect(replaceEndpoint(service.api, elsewhere)).rejects.toMatchObject({ code: "endpoint_unknown" });
    const secretive = { ...options, url: "https://me:hunter2@shop.example/a?token=t0" };
    await expect(replaceEndpoint(service.api, secretive)).rejects.toMatchObject({
      message:
        "The client has no endpoint of shop.example/a. Register one first: there is nothing to replace.",
    });
    await service.api.webhooks.create({ url, eventTypes: first });
    await expect(replaceEndpoint(service.api, options)).rejects.toMatchObject({
      code: "endpoint_unknown",
      message: expect.stringContaining("it is not clear which one to replace"),
    });
  });

  it("deletes nothing while handlers fail, and continues when they do not", async () => {
    const service = await startService();
    const { options, keyStore } = await existing(service);
    const failing = {
      ...options,
      reconcile: async () => ({ ...settled, failing: 3 }),
    };
    await expect(replaceEndpoint(service.api, failing)).rejects.toMatchObject({
      code: "not_settled",
      message: expect.stringContaining("The handlers of 3 events"),
    });
    expect(await service.endpoints()).toHaveLength(1); // nor registered, as this was found before
    let passes = 0;
    const late = {
      ...options,
      reconcile: async () => ({ ...settled, failing: passes++ }),
    };
    await expect(replaceEndpoint(service.api, late)).rejects.toMatchObject({ code: "not_settled" });
    expect(await service.endpoints()).toHaveLength(2);
    expect((await ensureEndpoint(service.api, { url, keyStore, eventTypes: second })).findings).toMatchObject(
      [
        { code: "change_under_way", remedy: "Finish it with replaceEndpoint, as it was begun." },
        { code: "same_url" },
        { code: "not_subscribed" },
        { code: "not_wanted" },
      ],
    );
    await replaceEndpoint(service.api, options);
    await expectReplaced(service, keyStore);
  });

  it.each([
    ["handlers failed in an earlier pass", { failing: 1 }, /handlers of 1 event/],
    [
      "handlers failed in this pass",
      { ledger: { ...settled.ledger, rejected: 2 } },
      /The handlers of 2 events/,
    ],
    [
      "they are not valid",
      { ledger: { ...settled.ledger, invalid: 3 } },
      /did not accept 3 of the deliveries/,
    ],
    [
      "their ids are taken",
      { ledger: { ...settled.ledger, conflict: 1 } },
      /did not accept 1 of the deliveries/,
    ],
    [
      "the listing has forgotten them",
      { lost: { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" } },
      /no longer shows events from 2026-11-01T00:00:00Z/,
    ],
  ])(
    "deletes nothing whose events would be lost because %s, unless the loss is accepted",
    async (_why, loss, message) => {
      const service = await startService();
      const { options, keyStore } = await existing(service);
      let passes = 0;
      const losing = {
        ...options,
        reconcile: async () => (passes++ === 0 ? settled : { ...settled, ...loss }),
      };
      await expect(replaceEndpoint(service.api, losing)).rejects.toMatchObject({
        code: "not_settled",
        message: expect.stringMatching(message),
      });
      expect(await service.endpoints()).toHaveLength(2);
      await replaceEndpoint(service.api, { ...losing, acceptLoss: true });
      await expectReplaced(service, keyStore);
    },
  );

  it.each([{ interrupted: true }, { dryRun: true }, { ledger: { ...settled.ledger, unsettled: 1 } }])(
    "deletes nothing after a pass that has not come to its end, though a loss is accepted: %j",
    async (unfinished) => {
      const service = await startService();
      const { options } = await existing(service);
      let passes = 0;
      const late = {
        ...options,
        acceptLoss: true,
        reconcile: async () => (passes++ === 0 ? settled : { ...settled, ...unfinished }),
      };
      await expect(replaceEndpoint(service.api, late)).rejects.toMatchObject({ code: "not_settled" });
      expect(await service.endpoints()).toHaveLength(2);
    },
  );

  describe.each(["before a run continues", "while the last pass is made"])(
    "when the second endpoint is out of order %s",
    (when) => {
      /** A replacement whose second endpoint is there, and the first not yet deleted. */
      async function atSecond(breakSecond: (service: Service, reference: string) => Promise<unknown>) {
        const service = await startService();
        const { options, keyStore, reference } = await existing(service);
        const broken = async () => {
          const all = await service.endpoints();
          const made = all.find(({ webhookEndpointReference }) => webhookEndpointReference !== reference);
          if (made !== undefined) await breakSecond(service, made.webhookEndpointReference);
          return made;
        };
        let passes = 0;
        const first = replaceEndpoint(service.api, {
          ...options,
          async reconcile() {
            if (passes++ === 0) return settled;
            if (when === "before a run continues") return { ...settled, failing: 1 };
            await broken();
            return { ...settled, failing: passes - 2 };
          },
        });
        await first.catch(() => {});
        if (when === "before a run continues") await broken();
        return { service, options, keyStore, reference };
      }

      it("deletes the first one only once another second one was registered", async () => {
        const deletes = ({ api }: Service, reference: string) => api.webhooks.delete(reference);
        const { service, options, keyStore, reference } = await atSecond(deletes);
        expect((await service.endpoints()).map((each) => each.webhookEndpointReference)).toContain(reference);
        const deleting: number[] = [];
        const api = { ...service.api, webhooks: { ...service.api.webhooks } };
        api.webhooks.delete = async (...given) => {
          deleting.push((await service.endpoints()).length);
          return service.api.webhooks.delete(...given);
        };
        await replaceEndpoint(api, options);
        expect(deleting).toEqual([2]);
        await expectReplaced(service, keyStore);
      });

      it("does not delete the first one while the second is not active", async () => {
        const { service, options } = await atSecond(({ sandbox }, reference) =>
          sandbox.setEndpointActive(reference, false),
        );
        expect(await service.endpoints()).toHaveLength(2);
        await expect(replaceEndpoint(service.api, options)).rejects.toMatchObject({
          code: "not_settled",
          message: expect.stringMatching(/is not active: .* was not deleted\. Ask support to activate it/),
        });
        expect(await service.endpoints()).toHaveLength(2);
      });
    },
  );

  it.each(["on", "off"] as const)(
    "is finished by the next call, wherever it was killed, with replayShowsSecret %s",
    async (replayShowsSecret) => {
      for (let fatal = 0; ; fatal += 1) {
        const service = await startService({ clock: "manual", switches: { replayShowsSecret } });
        const { options, keyStore } = await existing(service);
        const process = killedAt(fatal, service.api, keyStore);
        const run = replaceEndpoint(process.api, { ...options, keyStore: process.keyStore });
        const ended = await Promise.race([run, process.killed]);
        if (ended !== "killed") return expect(fatal).toBeGreaterThanOrEqual(12);
        await replaceEndpoint(service.api, options);
        await expectReplaced(service, keyStore);
      }
    },
  );

  it.each(["on", "off"] as const)(
    "is finished by the next calls after failures of the service, wherever one was killed, with cacheErrors %s",
    async (cacheErrors) => {
      for (let fatal = 0; ; fatal += 1) {
        const service = await startService({ clock: "manual", switches: { cacheErrors } });
        const { options, keyStore } = await existing(service);
        service.sandbox.faults.add({ kind: "error", call: create, status: 500, done: true, times: 3 });
        service.sandbox.faults.add({ kind: "error", call: rotate, status: 500, times: 3 });
        const process = killedAt(fatal, service.api, keyStore);
        const run = replaceEndpoint(process.api, { ...options, keyStore: process.keyStore });
        const ended = await Promise.race([run.catch(({ code }) => code), process.killed]);
        const again = () => replaceEndpoint(service.api, options);
        for (const _ of [create, rotate]) await again().catch(() => {});
        await again();
        await expectReplaced(service, keyStore);
        if (ended === "killed") continue;
        expect(ended).toBe("service_failed");
        return expect(fatal).toBeGreaterThanOrEqual(5);
      }
    },
  );

  it("replaces it once when two processes begin it at the same time", async () => {
    const service = await startService();
    const { options, keyStore } = await existing(service);
    await Promise.all([replaceEndpoint(service.api, options), replaceEndpoint(service.api, options)]);
    await expectReplaced(service, keyStore);
  });
});
