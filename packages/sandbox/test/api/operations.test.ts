import { describe, expect, it } from "vitest";
import { setStock } from "../../src/account/variants.ts";
import type { SwitchSettings } from "../../src/base/switches.ts";
import { emitEvent } from "../../src/webhook/emit.ts";
import { addEventType, retireEventType } from "../../src/webhook/event-types.ts";
import { endpoint, type GivenApi, givenApi } from "./given-api.ts";

interface Row {
  readonly name: string;
  readonly switches?: SwitchSettings;
  act(given: GivenApi): Promise<Response>;
  readonly status: number;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

const dateTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const record = {
  webhookEndpointReference: expect.any(String),
  ...endpoint,
  description: null,
  active: true,
  createdAt: dateTime,
  updatedAt: dateTime,
};
const withSecret = { ...record, signingSecret: expect.stringMatching(/^whsec_/) };
const problem = (status: number, detail: string) => ({
  type: "about:blank",
  title: expect.any(String),
  status,
  detail: expect.stringContaining(detail),
});
const lastPage = (limit: number) => ({ limit, hasMore: false, nextCursor: null });

async function created({ call }: GivenApi, fields = {}): Promise<string> {
  const answer = await call("POST /management/webhooks", { ...endpoint, ...fields });
  const { data } = (await answer.json()) as { data: { webhookEndpointReference: string } };
  return data.webhookEndpointReference;
}

async function askToken({ api, clientId, clientSecret }: GivenApi, fields = {}, type = "application/json") {
  const request = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
  const body = { ...request, ...fields };
  return api.request("/api/v3/auth/token", {
    method: "POST",
    headers: { "content-type": type },
    body: type === "application/json" ? JSON.stringify(body) : new URLSearchParams(body).toString(),
  });
}

const formType = "application/x-www-form-urlencoded";
const token = { access_token: expect.any(String), token_type: "Bearer", expires_in: 86_400 };

const tokens: Row[] = [
  { name: "JSON", act: (given) => askToken(given), status: 200, body: token },
  { name: "a form", act: (given) => askToken(given, {}, formType), status: 200, body: token },
  {
    name: "no grant_type",
    act: (given) => askToken(given, { grant_type: undefined }),
    status: 200,
    headers: { "cache-control": "no-store" },
    body: token,
  },
  {
    name: "a grant_type that is not for clients",
    act: (given) => askToken(given, { grant_type: "password" }),
    status: 400,
    body: problem(400, "grant_type=client_credentials"),
  },
  {
    name: "a wrong secret",
    act: (given) => askToken(given, { client_secret: "guessed" }),
    status: 401,
    body: problem(401, "Use those that support gave you"),
  },
  {
    name: "no credentials",
    act: (given) => askToken(given, { client_id: undefined, client_secret: undefined }),
    status: 401,
    body: problem(401, "client_id and client_secret"),
  },
  {
    name: "a body that is no JSON",
    act: ({ call }) => call("POST /auth/token", "{"),
    status: 400,
    body: problem(400, "The body is not JSON"),
  },
  {
    name: "JSON where the switch tokenFormat says form",
    switches: { tokenFormat: "form" },
    act: (given) => askToken(given),
    status: 400,
    body: problem(400, formType),
  },
  {
    name: "a form where the switch tokenFormat says json",
    switches: { tokenFormat: "json" },
    act: (given) => askToken(given, {}, formType),
    status: 400,
    body: problem(400, "application/json"),
  },
];

const create = (fields: unknown) => (given: GivenApi) => given.call("POST /management/webhooks", fields);
const creating: Row[] = [
  { name: "an endpoint", act: create(endpoint), status: 201, body: { data: withSecret } },
  {
    name: "an endpoint with a description",
    act: create({ ...endpoint, description: "Production" }),
    status: 201,
    body: { data: { ...withSecret, description: "Production" } },
  },
  {
    name: "an endpoint with a field that is not specified",
    act: create({ ...endpoint, active: false }),
    status: 201,
    body: { data: withSecret },
  },
  ...[
    ["no url", { eventTypes: endpoint.eventTypes }, "url"],
    ["a url that is none", { ...endpoint, url: "/webhooks" }, "url"],
    ["a url that cannot be posted to", { ...endpoint, url: "ftp://example.com/" }, "https: or http:"],
    ["no eventTypes", { url: endpoint.url }, "eventTypes"],
    ["empty eventTypes", { ...endpoint, eventTypes: [] }, "eventTypes"],
    ["an event type twice", { ...endpoint, eventTypes: ["esim.assigned", "esim.assigned"] }, "once"],
    ["a wildcard", { ...endpoint, eventTypes: ["*"] }, "no wildcard"],
    ["a description that is no text", { ...endpoint, description: null }, "description"],
    ["a body that is no object", [], "expected object"],
    ["a body that is no JSON", "{", "The body is not JSON"],
  ].map(([name, body, detail]) => ({
    name: String(name),
    act: create(body),
    status: 400,
    body: problem(400, String(detail)),
  })),
  {
    name: "no body",
    act: (given) => given.call("POST /management/webhooks"),
    status: 400,
  },
  {
    name: "a body that is not marked as JSON",
    act: (given) => given.call("POST /management/webhooks", endpoint, { "content-type": "text/plain" }),
    status: 400,
    body: problem(400, "content-type: application/json"),
  },
  {
    name: "a retired event type",
    act: (given) => {
      retireEventType(given.service, "esim.assigned");
      return create(endpoint)(given);
    },
    status: 400,
    body: problem(400, "esim.assigned"),
  },
  ...(["5", "3"] as const).map(
    (endpointCap): Row => ({
      name: `an endpoint above the cap of ${endpointCap}, whose body is specified`,
      switches: { endpointCap, unstatedErrorBody: "empty" },
      act: async (given) => {
        for (let count = 0; count < Number(endpointCap); count++) await created(given);
        return create(endpoint)(given);
      },
      status: 409,
      body: problem(409, `already has ${endpointCap} webhook endpoints`),
    }),
  ),
];

const list = "GET /management/webhooks";
const listing: Row[] = [
  {
    name: "no endpoint",
    act: ({ call }) => call(list),
    status: 200,
    body: { data: [], pagination: lastPage(20) },
  },
  {
    name: "an endpoint, without its secret",
    act: async (given) => {
      await created(given);
      return given.call(`${list}?limit=1`);
    },
    status: 200,
    body: { data: [record], pagination: lastPage(1) },
  },
  {
    name: "a page of several",
    act: async (given) => {
      await created(given);
      await created(given);
      return given.call(`${list}?limit=1`);
    },
    status: 200,
    body: { data: [record], pagination: { limit: 1, hasMore: true, nextCursor: expect.any(String) } },
  },
  {
    name: "the endpoints of another client",
    act: async (given) => {
      await created(given);
      return given.callAsOther(list);
    },
    status: 200,
    body: { data: [], pagination: lastPage(20) },
  },
  ...[
    "limit=0",
    "limit=101",
    "limit=ten",
    "limit=1.5",
    "limit=",
    "limit=1&limit=2",
    "cursor=junk",
    "cursor=",
  ].map((query) => ({
    name: query,
    act: ({ call }: GivenApi) => call(`${list}?${query}`),
    status: 400,
    body: problem(400, query.split("=")[0] ?? ""),
  })),
];

const rotating: Row[] = [
  {
    name: "the secret of an endpoint",
    act: async (given) => given.call(`POST /management/webhooks/${await created(given)}/rotate-secret`),
    status: 200,
    body: { data: withSecret },
  },
  {
    name: "with a body, which says nothing",
    act: async (given) => given.call(`POST /management/webhooks/${await created(given)}/rotate-secret`, {}),
    status: 200,
    body: { data: withSecret },
  },
  {
    name: "an endpoint that there is not",
    act: ({ call }) => call("POST /management/webhooks/WHE0/rotate-secret"),
    status: 404,
    body: problem(404, "WHE0"),
  },
  {
    name: "an endpoint of another client",
    act: async (given) =>
      given.callAsOther(`POST /management/webhooks/${await created(given)}/rotate-secret`),
    status: 404,
  },
];

const deleting: Row[] = [
  {
    name: "an endpoint",
    act: async (given) => given.call(`DELETE /management/webhooks/${await created(given)}`),
    status: 200,
    body: { data: record },
  },
  {
    name: "an endpoint again",
    act: async (given) => {
      const call = `DELETE /management/webhooks/${await created(given)}`;
      await given.call(call);
      return given.call(call);
    },
    status: 404,
  },
  {
    name: "an endpoint of another client",
    act: async (given) => given.callAsOther(`DELETE /management/webhooks/${await created(given)}`),
    status: 404,
  },
];

const deliveries: Row[] = [
  {
    name: "no delivery",
    act: async (given) => given.call(`GET /management/webhooks/${await created(given)}/deliveries`),
    status: 200,
    body: { data: [], pagination: lastPage(20) },
  },
  {
    name: "a delivery",
    act: async (given) => {
      const reference = await created(given);
      emitEvent(given.service, given.clientId, { type: "esim.assigned", data: { iccid: "1" } });
      return given.call(`GET /management/webhooks/${reference}/deliveries?limit=100`);
    },
    status: 200,
    body: {
      data: [
        {
          eventType: "esim.assigned",
          eventId: expect.any(String),
          payload: { type: "esim.assigned", timestamp: dateTime, data: { iccid: "1" } },
          responseBody: null,
          status: "pending",
          attemptNumber: 0,
          httpStatus: null,
          nextRetryAt: null,
          sentAt: null,
          deliveredAt: null,
        },
      ],
      pagination: lastPage(100),
    },
  },
  ...["limit=0", "limit=101", "cursor=junk"].map((query) => ({
    name: query,
    act: async (given: GivenApi) =>
      given.call(`GET /management/webhooks/${await created(given)}/deliveries?${query}`),
    status: 400,
    body: problem(400, query.split("=")[0] ?? ""),
  })),
  {
    name: "of an endpoint that there is not",
    act: ({ call }) => call("GET /management/webhooks/WHE0/deliveries"),
    status: 404,
  },
  {
    name: "of an endpoint of another client",
    act: async (given) => given.callAsOther(`GET /management/webhooks/${await created(given)}/deliveries`),
    status: 404,
  },
  {
    name: "of an endpoint that was deleted",
    act: async (given) => {
      const reference = await created(given);
      await given.call(`DELETE /management/webhooks/${reference}`);
      return given.call(`GET /management/webhooks/${reference}/deliveries`);
    },
    status: 404,
  },
];

const catalogs: Row[] = [
  {
    name: "the client",
    act: ({ call }) => call("GET /management/client"),
    status: 200,
    body: {
      data: {
        clientReference: expect.stringMatching(/^\d{6}$/),
        name: "Partner",
        defaultEsimVariant: "standard",
        limits: { maxProfiles: 1_000_000 },
      },
    },
  },
  {
    name: "the eSIM variants",
    act: ({ call, service, clientId }) => {
      setStock(service, clientId, "premium", 7);
      return call("GET /catalog/esim-variants");
    },
    status: 200,
    body: {
      data: [
        {
          esimVariant: "premium",
          name: "Premium",
          description: expect.any(String),
          default: false,
          inventory: { available: 7 },
        },
        { esimVariant: "standard", name: "Standard", description: expect.any(String), default: true },
      ],
    },
  },
  {
    name: "the event types",
    act: ({ call, service }) => {
      retireEventType(service, "esim.disabled");
      addEventType(service, "esim.renamed");
      return call("GET /catalog/webhook-event-types");
    },
    status: 200,
    body: {
      data: expect.toSatisfy((data: { eventType: string }[]) => {
        const types = data.map(({ eventType }) => eventType);
        return (
          types.includes("esim.renamed") &&
          types.includes("package.ended") &&
          !types.includes("esim.disabled")
        );
      }),
    },
  },
];

describe.each([
  ["POST /auth/token", tokens],
  ["POST /management/webhooks", creating],
  ["GET /management/webhooks", listing],
  ["POST /management/webhooks/{webhookEndpointReference}/rotate-secret", rotating],
  ["DELETE /management/webhooks/{webhookEndpointReference}", deleting],
  ["GET /management/webhooks/{webhookEndpointReference}/deliveries", deliveries],
  ["GET /management/client and /catalog/…", catalogs],
])("%s", (_, rows) => {
  it.each(rows)("answers $status: $name", async ({ switches = {}, act, status, headers, body }) => {
    const answer = await act(givenApi(switches));
    const text = await answer.text();
    expect({ status: answer.status, text }).toMatchObject({ status });
    expect(answer.headers.get("content-type")).toBe(
      status < 400 ? "application/json" : "application/problem+json",
    );
    expect(Object.fromEntries(answer.headers)).toMatchObject(headers ?? {});
    if (body !== undefined) expect(JSON.parse(text)).toEqual(body);
  });
});

const protectedCalls = [
  "GET /management/client",
  "GET /catalog/esim-variants",
  "GET /catalog/webhook-event-types",
  "POST /management/webhooks",
  "GET /management/webhooks",
  "POST /management/webhooks/WHE0/rotate-secret",
  "DELETE /management/webhooks/WHE0",
  "GET /management/webhooks/WHE0/deliveries",
];

describe.each(protectedCalls)("%s", (call) => {
  it.each([
    ["no token", ""],
    ["a token that is none", "Bearer guessed"],
    ["another scheme", "Basic MTIzNDU2OnNlY3JldA=="],
  ])("answers 401 to %s", async (_, authorization) => {
    const answer = await givenApi().call(call, undefined, { authorization });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(await answer.json()).toEqual(problem(401, "POST /auth/token"));
  });

  it("answers 401 to a token of more than 24 hours", async () => {
    const { call: callApi, service, token } = givenApi();
    service.pass(24 * 60 * 60 * 1000);
    expect((await callApi(call, undefined, { authorization: `Bearer ${token}` })).status).toBe(401);
  });
});

describe("an error whose body is not specified", () => {
  it.each([
    ["problem", "application/problem+json", '"status":404'],
    ["empty", null, ""],
    ["html", "text/html; charset=utf-8", "<h1>404 Not Found</h1>"],
  ] as const)(
    "has the one of the switch unstatedErrorBody: %s",
    async (unstatedErrorBody, mediaType, text) => {
      const { call } = givenApi({ unstatedErrorBody });
      const answer = await call("GET /management/webhooks/WHE0/deliveries");
      expect(answer.status).toBe(404);
      expect(answer.headers.get("content-type")).toBe(mediaType);
      expect(await answer.text()).toContain(text);
    },
  );
});

it("follows nextCursor to the end, each endpoint once", async () => {
  const given = givenApi();
  const references = [];
  for (let count = 0; count < 5; count++) references.unshift(await created(given));
  const seen: string[] = [];
  let query = "limit=2";
  for (let cursor: string | null = ""; cursor !== null; query = `limit=2&cursor=${cursor}`) {
    const page = (await (await given.call(`${list}?${query}`)).json()) as {
      data: { webhookEndpointReference: string }[];
      pagination: { nextCursor: string | null };
    };
    seen.push(...page.data.map(({ webhookEndpointReference }) => webhookEndpointReference));
    cursor = page.pagination.nextCursor;
  }
  expect(seen).toEqual(references);
});
