import {
  type ApiClient,
  type ApiError,
  type CallMessage,
  type ClientOptions,
  createClient,
  observeCalls,
} from "@esim-webhooks/client";
import { idempotencyKeyOf, idempotencyKeyOfDelivery, memoryStore, nodeHandler } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../../test/listen.ts";
import { loggerWith } from "../../../test/support/loggers.ts";

interface OfSandbox {
  readonly sandbox: Sandbox;
  readonly api: ApiClient;
}

type Switches = NonNullable<SandboxOptions["switches"]>;

/** A client of a sandbox. The rate limit is off where it is not the matter, since it counts real seconds. */
async function clientOf(
  switches: Switches = {},
  options: ClientOptions = {},
  more: SandboxOptions = {},
): Promise<OfSandbox> {
  const sandbox = await startSandbox({ ...more, switches: { rateLimit: "off", ...switches } });
  onTestFinished(() => sandbox.close());
  return { sandbox, api: createClient({ baseUrl: sandbox.url, ...sandbox.credentials, ...options }) };
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: ApiError) => error,
  );

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** An endpoint at which nothing listens; its deliveries count the events, and so the effects. */
const endpoint = { url: "https://receiver.invalid/webhooks", eventTypes: ["esim.assigned", "esim.faulted"] };

interface Ordered {
  readonly data: { readonly profileReference: string; readonly esimReference: string };
}
const order = async (api: ApiClient) => ((await api.esims.order({})) as Ordered).data;

const address = { street: "Rue", streetNumber: "1", city: "Gent", postalCode: "9000", countryCode: "BE" };
const customerInfo = { firstName: "Ada", lastName: "L", address };
const details = { donorContractType: "prepaid", donorIccid: "8932000000000000000" } as const;

describe("every operation", () => {
  it.each(["form", "json"] as const)("POST /auth/token takes %s", async (format) => {
    const { api } = await clientOf({ tokenFormat: format }, { tokenRequest: format });
    await expect(api.client.get()).resolves.toBeDefined();
  });

  it("POST /auth/token refuses wrong credentials", async () => {
    const { api } = await clientOf({}, { clientSecret: "wrong" });
    expect(await failureOf(api.client.get())).toMatchObject({ code: "wrong_credentials", status: 401 });
  });

  it("creates, lists, rotates and deletes endpoints; the secret is in two answers alone", async () => {
    const { api } = await clientOf();
    const created = await api.webhooks.create({ ...endpoint, description: "ours" });
    expect(created).toMatchObject({ ...endpoint, description: "ours", active: true });
    const { webhookEndpointReference: reference, signingSecret } = created;
    const rotated = await api.webhooks.rotateSecret(reference);
    expect(rotated.webhookEndpointReference).toBe(reference);
    expect(rotated.signingSecret).not.toBe(signingSecret);
    const [listed] = await allOf(api.webhooks.list());
    expect(listed).toMatchObject({ webhookEndpointReference: reference, description: "ours" });
    expect(listed).not.toHaveProperty("signingSecret");
    expect(await api.webhooks.delete(reference)).toMatchObject({ webhookEndpointReference: reference });
    expect(await allOf(api.webhooks.list())).toEqual([]);
    expect(await failureOf(api.webhooks.delete(reference))).toMatchObject({ code: "not_found", status: 404 });
  });

  it.each([5, 3])("create says that there are %d endpoints already", async (cap) => {
    const { api } = await clientOf({ endpointCap: String(cap) as "5" });
    for (let made = 0; made < cap; made++) await api.webhooks.create(endpoint);
    const error = await failureOf(api.webhooks.create(endpoint));
    expect(error).toMatchObject({ code: "conflict", status: 409, attempts: 1, retryable: false });
    expect(error.problemDetails).toMatchObject({ title: expect.any(String), detail: expect.any(String) });
  });

  it.each(["snapshot", "live"] as const)(
    "lists by pages, whose cursor continues later (%s)",
    async (cursor) => {
      const { api } = await clientOf({ cursor });
      for (let made = 0; made < 5; made++) await api.webhooks.create(endpoint);
      const first = await api.webhooks.list({ limit: 2 }).page();
      expect(first.pagination).toMatchObject({ limit: 2, hasMore: true, nextCursor: expect.any(String) });
      const rest = await allOf(api.webhooks.list({ limit: 2, cursor: first.pagination.nextCursor ?? "" }));
      const seen = [...first.data, ...rest].map((it) => it.webhookEndpointReference);
      expect(new Set(seen).size).toBe(5);
    },
  );

  it("refuses a cursor that is none", async () => {
    const { api } = await clientOf();
    expect(await failureOf(api.webhooks.list({ cursor: "none" }).page())).toMatchObject({
      code: "bad_request",
      status: 400,
    });
  });

  it("lists deliveries", async () => {
    const { api, sandbox } = await clientOf();
    const { webhookEndpointReference } = await api.webhooks.create(endpoint);
    const { esimReference } = await order(api);
    await sandbox.settled();
    const [delivery] = await allOf(api.webhooks.deliveries(webhookEndpointReference, { limit: 1 }));
    expect(delivery).toMatchObject({
      eventType: "esim.assigned",
      payload: { type: "esim.assigned", data: { esimReference } },
      responseBody: null,
      httpStatus: null,
      attemptNumber: expect.any(Number),
    });
    expect(await failureOf(api.webhooks.deliveries("none").page())).toMatchObject({ code: "not_found" });
  });

  it("reads the client and the catalogs", async () => {
    const { api, sandbox } = await clientOf();
    expect(await api.client.get()).toMatchObject({
      clientReference: sandbox.credentials.clientId,
      limits: { maxProfiles: expect.any(Number) },
    });
    const variants = await api.catalog.esimVariants();
    expect(variants.some(({ inventory }) => typeof inventory?.available === "number")).toBe(true);
    expect(variants.filter((variant) => variant.default)).toHaveLength(1);
    expect(await api.catalog.webhookEventTypes()).toContainEqual({ eventType: "esim.faulted" });
  });

  it("orders an eSIM, allocates a number, and changes its lifecycle", async () => {
    const { api } = await clientOf();
    const { profileReference, esimReference } = await order(api);
    const request = { esimReference, countryCode: "BE", type: "mobile", customerInfo } as const;
    const assignment = await api.numbers.allocate(profileReference, request);
    expect(assignment).toMatchObject({
      profileReference,
      esimReference,
      type: "mobile",
      status: "active",
      isPrimary: true,
    });
    for (const operation of ["suspend", "reactivate", "terminate"] as const) {
      await expect(api.lifecycle(profileReference, esimReference, operation)).resolves.toBeDefined();
    }
  });

  it.each([
    ["409", "conflict"],
    ["400", "bad_request"],
    ["422", "key_reused"],
  ] as const)(
    "a change that the state does not allow is not tried again, whether it is %s",
    async (illegalTransition, code) => {
      const { api } = await clientOf({ illegalTransition });
      const { profileReference, esimReference } = await order(api);
      await api.lifecycle(profileReference, esimReference, "terminate");
      const error = await failureOf(api.lifecycle(profileReference, esimReference, "suspend"));
      expect(error).toMatchObject({ code, status: Number(illegalTransition), attempts: 1 });
    },
  );

  it("asks for a port-in, and a second one is a conflict that is not tried again", async () => {
    const { api } = await clientOf();
    const { profileReference, esimReference } = await order(api);
    const request = { msisdn: "32470123456", details };
    const portIn = await api.portIns.create(profileReference, esimReference, request);
    expect(portIn).toMatchObject({
      profileReference,
      esimReference,
      msisdn: "32470123456",
      status: "requested",
    });
    const error = await failureOf(api.portIns.create(profileReference, esimReference, request));
    expect(error).toMatchObject({ code: "conflict", status: 409, attempts: 1 });
    expect(error.problemDetails?.detail).toEqual(expect.any(String));
  });

  it("an order for a profile that exists is a conflict, whose problem says whose it is", async () => {
    const { api } = await clientOf();
    await api.esims.order({ externalProfileId: "ours" });
    const error = await failureOf(api.esims.order({ externalProfileId: "ours" }));
    expect(error).toMatchObject({ code: "conflict", attempts: 1 });
    expect(error.problemDetails?.detail).toContain("ours");
    expect(error.message).not.toContain("ours");
  });
});

describe("what the API leaves open", () => {
  it.each(["problem", "empty", "html"] as const)("errors whose body is %s", async (unstatedErrorBody) => {
    const { api } = await clientOf({ unstatedErrorBody });
    const error = await failureOf(api.webhooks.delete("none"));
    expect(error).toMatchObject({ code: "not_found", status: 404 });
    expect(error.problemDetails !== undefined).toBe(unstatedErrorBody === "problem");
  });

  it.each(["409", "423"] as const)(
    "a first request in flight is %s: the second call waits for it",
    async (inFlight) => {
      const repeated: unknown[] = [];
      const logger = loggerWith({ debug: (fields) => void repeated.push(fields) });
      const { api, sandbox } = await clientOf({ inFlight }, { logger });
      sandbox.faults.add({ kind: "hang", call: "POST /esims" });
      const key = { idempotencyKey: "same" };
      const first = new AbortController();
      const hanging = failureOf(api.esims.order({}, { ...key, signal: first.signal }));
      await expect.poll(() => sandbox.faults.list()).toEqual([]);
      const second = api.esims.order({}, key);
      await expect.poll(() => repeated).toContainEqual(expect.objectContaining({ reason: "in_flight" }));
      first.abort();
      expect(await hanging).toMatchObject({ code: "aborted", attempts: 1, idempotencyKey: "same" });
      await expect(second).resolves.toBeDefined();
    },
  );

  it.each(["on", "off"] as const)(
    "a secret whose first answer is lost (shown again: %s)",
    async (replayShowsSecret) => {
      const { api, sandbox } = await clientOf({ replayShowsSecret });
      sandbox.faults.dropNextAnswer("POST /management/webhooks");
      const created = api.webhooks.create(endpoint);
      if (replayShowsSecret === "on") {
        await expect(created).resolves.toHaveProperty("signingSecret");
      } else {
        const error = await failureOf(created);
        expect(error).toMatchObject({
          code: "secret_not_shown",
          message: expect.stringContaining("rotateSecret"),
        });
      }
      const [one, ...others] = await allOf(api.webhooks.list());
      expect(others).toEqual([]);
      await expect(api.webhooks.rotateSecret(one?.webhookEndpointReference ?? "")).resolves.toHaveProperty(
        "signingSecret",
      );
    },
  );

  it.each(["409", "403", "422"] as const)(
    "an order above maxProfiles is %s, and is not tried again",
    async (maxProfilesStatus) => {
      const { api, sandbox } = await clientOf({ maxProfilesStatus });
      const { clientId, clientSecret } = await sandbox.addClient({ maxProfiles: 1 });
      const small = createClient({ baseUrl: sandbox.url, clientId, clientSecret });
      await small.esims.order({});
      expect(await failureOf(small.esims.order({}))).toMatchObject({
        status: Number(maxProfilesStatus),
        attempts: 1,
      });
      await expect(api.esims.order({})).resolves.toBeDefined();
    },
  );
});

describe("one effect, even if the answer is lost", () => {
  /** How many orders took effect, by the deliveries of their events. */
  async function ordersAfter(
    fault: Parameters<Sandbox["faults"]["add"]>[0],
    switches: Switches = {},
  ): Promise<number> {
    const { api, sandbox } = await clientOf(switches, { attemptTimeoutMs: 1000 });
    const { webhookEndpointReference } = await api.webhooks.create(endpoint);
    sandbox.faults.add({ ...fault, call: "POST /esims" } as never);
    const key = await api.esims.order({}).then(
      () => undefined,
      (error: ApiError) => error.idempotencyKey,
    );
    // the same call again; with another key when it fails in the same way, as the service keeps the failure for the first one
    if (key !== undefined)
      await api.esims.order({}, { idempotencyKey: key }).catch(() => api.esims.order({}));
    return (await allOf(api.webhooks.deliveries(webhookEndpointReference))).length;
  }

  it.each([
    { kind: "drop_answer" },
    { kind: "drop_answer", times: 3 },
    { kind: "error", status: 500, done: true },
    { kind: "error", status: 500, done: false },
    { kind: "error", status: 503, done: true, times: 2 },
    { kind: "hang" },
    { kind: "rate_limit" },
    { kind: "slow_answer", bytesPerSecond: 50 },
    { kind: "early_events" },
  ] as const)("%o", async (fault) => {
    expect(await ordersAfter(fault)).toBe(1);
  });

  it("a DELETE whose answer is lost has deleted", async () => {
    const { api, sandbox } = await clientOf();
    const { webhookEndpointReference } = await api.webhooks.create(endpoint);
    sandbox.faults.dropNextAnswer("DELETE /management/webhooks/{webhookEndpointReference}");
    expect(await api.webhooks.delete(webhookEndpointReference)).toBeUndefined();
    expect(await allOf(api.webhooks.list())).toEqual([]);
  });

  it("a 500 that the service keeps for its key is not asked for again and again", async () => {
    const { api, sandbox } = await clientOf();
    sandbox.faults.add({ kind: "error", call: "POST /esims" });
    expect(await failureOf(api.esims.order({}))).toMatchObject({ code: "service_failed", attempts: 3 });
  });

  it("a key is refused with another body", async () => {
    const { api } = await clientOf();
    const idempotencyKey = idempotencyKeyOfDelivery({ id: "msg_1" }, "reorder");
    await api.esims.order({}, { idempotencyKey });
    const error = await failureOf(api.esims.order({ externalProfileId: "other" }, { idempotencyKey }));
    expect(error).toMatchObject({ code: "key_reused", status: 422, attempts: 1 });
  });

  it.each(["delivery", "event"] as const)(
    "one event orders once at two endpoints, and after support has sent it again under new ids (an id per %s)",
    async (idPer) => {
      const { api, sandbox } = await clientOf({ idPer }, {}, { clock: "manual" });
      const counting = await api.webhooks.create({ ...endpoint, eventTypes: ["esim.assigned"] });
      const runs: string[] = [];
      const store = memoryStore();
      for (const source of ["eu", "us"]) {
        const { promise: secret, resolve } = Promise.withResolvers<string>();
        const handler = nodeHandler(
          {
            "esim.faulted": async (event) => {
              runs.push(`${source} ${event.id}`);
              await api.esims.order({}, { idempotencyKey: idempotencyKeyOf(event, "reorder") });
            },
          },
          { source, store, secret: { load: async () => [await secret] } },
        );
        const server = await listen(handler, "/webhooks", handler.close);
        onTestFinished(server.close);
        const { signingSecret } = await api.webhooks.create({
          url: server.url,
          eventTypes: ["esim.faulted"],
        });
        resolve(signingSecret);
      }
      const data = { ...sampleData("esim.faulted"), reason: "download_order_expired" };
      const ids = await sandbox.emit({ type: "esim.faulted", data });
      await sandbox.settled();
      await sandbox.replay({ ids, under: "new" });
      await sandbox.settled();
      expect(new Set(runs).size).toBe(4);
      expect(await allOf(api.webhooks.deliveries(counting.webhookEndpointReference))).toHaveLength(1);
    },
  );
});

describe("time", () => {
  it("a token that ends in the middle, while the client's clock says otherwise, is replaced", async () => {
    const { api, sandbox } = await clientOf({}, {}, { clock: "manual" });
    await api.client.get();
    await sandbox.advance("25h");
    const tokens: CallMessage[] = [];
    onTestFinished(
      observeCalls((message) => void (message.operation === "auth.token" && tokens.push(message))),
    );
    await Promise.all(Array.from({ length: 8 }, () => api.client.get()));
    expect(tokens).toHaveLength(1);
  });

  it.each(["epoch", "seconds"] as const)(
    "a client that is alone is never answered 429 (reset: %s)",
    async (rateLimitReset) => {
      const { api } = await clientOf({ rateLimit: "on", rateLimitReset });
      const calls: CallMessage[] = [];
      onTestFinished(
        observeCalls((message) => void (message.operation === "client.get" && calls.push(message))),
      );
      await Promise.all(Array.from({ length: 35 }, () => api.client.get()));
      expect(calls.map(({ status, attempts }) => [status, attempts])).toEqual(
        Array.from({ length: 35 }, () => [200, 1]),
      );
    },
  );
});
