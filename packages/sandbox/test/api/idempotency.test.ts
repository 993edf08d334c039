import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createApi } from "../../src/api/api.ts";
import { fingerprintOf } from "../../src/api/call/idempotency.ts";
import { createRateLimits } from "../../src/api/call/rate-limit.ts";
import { hourMs } from "../service.ts";
import { endpoint, type GivenApi, givenApi } from "./given-api.ts";

const create = "POST /management/webhooks";
const key = { "x-idempotency-key": "8a1c7c0e-6d0e-4f86-b5a0-1c2f3a4b5c6d" };

async function endpoints({ call }: GivenApi): Promise<number> {
  const page = (await (await call("GET /management/webhooks")).json()) as { data: unknown[] };
  return page.data.length;
}

it("answers again as the first time, and does nothing again", async () => {
  const given = givenApi();
  const first = await given.call(create, endpoint, key);
  const again = await given.call(create, endpoint, key);
  expect(again.status).toBe(201);
  expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
  expect(await again.text()).toBe(await first.text());
  expect(await endpoints(given)).toBe(1);
});

it("does a call without a key each time, and one with another key", async () => {
  const given = givenApi();
  await given.call(create, endpoint);
  await given.call(create, endpoint);
  await given.call(create, endpoint, key);
  await given.call(create, endpoint, { "x-idempotency-key": "another" });
  expect(await endpoints(given)).toBe(4);
});

it("remembers a key for 48 hours", async () => {
  const given = givenApi();
  await given.call(create, endpoint, key);
  given.service.pass(48 * hourMs - 1);
  await given.call(create, endpoint, key);
  expect(await endpoints(given)).toBe(1);
  given.service.pass(1);
  await given.call(create, { ...endpoint, description: "another body" }, key);
  expect(await endpoints(given)).toBe(2);
  expect(given.service.db.all("select * from idempotencyKeys")).toHaveLength(1);
});

it("takes a body with other whitespace and another order of keys for the same", async () => {
  const given = givenApi();
  await given.call(create, endpoint, key);
  const { url, eventTypes } = endpoint;
  const again = await given.call(create, JSON.stringify({ eventTypes, url }, null, 4), key);
  expect(again.status).toBe(201);
  expect(await endpoints(given)).toBe(1);
});

it("answers 422 to another body, before it is looked at", async () => {
  const given = givenApi();
  await given.call(create, endpoint, key);
  for (const body of [{ ...endpoint, description: "other" }, { url: 7 }, "{", undefined]) {
    expect((await given.call(create, body, key)).status).toBe(422);
  }
  expect(await endpoints(given)).toBe(1);
});

it("does not look at the URL: a key that is used on another path gets the first answer", async () => {
  const given = givenApi();
  const [one, two] = [await given.call(create, endpoint), await given.call(create, endpoint)];
  const references = await Promise.all(
    [one, two].map(async (answer) => {
      const { data } = (await answer.json()) as { data: { webhookEndpointReference: string } };
      return data.webhookEndpointReference;
    }),
  );
  const rotate = (reference = "") =>
    given.call(`POST /management/webhooks/${reference}/rotate-secret`, undefined, key);
  const first = await (await rotate(references[0])).text();
  expect(await (await rotate(references[1])).text()).toBe(first);
});

it("keeps the keys of clients apart", async () => {
  const given = givenApi();
  const one = await given.call(create, endpoint, key);
  const other = await given.callAsOther(create, endpoint, key);
  expect(await other.text()).not.toBe(await one.text());
  expect(await endpoints(given)).toBe(1);
});

it("takes keys of 1 to 255 characters", async () => {
  const { call } = givenApi();
  const status = async (value: string) =>
    (await call(create, endpoint, { "x-idempotency-key": value })).status;
  expect(await status("k".repeat(255))).toBe(201);
  expect(await status("k".repeat(256))).toBe(400);
  expect(await status("")).toBe(400);
});

it("does not look at the key of a DELETE", async () => {
  const given = givenApi();
  const { data } = (await (await given.call(create, endpoint)).json()) as {
    data: { webhookEndpointReference: string };
  };
  const remove = () =>
    given.call(`DELETE /management/webhooks/${data.webhookEndpointReference}`, undefined, key);
  expect((await remove()).status).toBe(200);
  expect((await remove()).status).toBe(404);
});

it("has one effect of 100 calls at once with one key", async () => {
  const given = givenApi();
  const answers = await Promise.all(Array.from({ length: 100 }, () => given.call(create, endpoint, key)));
  const done = answers.filter(({ status }) => status === 201);
  const inFlight = answers.filter(({ status }) => status === 409);
  expect(done.length).toBeGreaterThan(0);
  expect(done.length + inFlight.length).toBe(100);
  expect(new Set(await Promise.all(done.map((answer) => answer.text()))).size).toBe(1);
  for (const { headers } of inFlight) expect(headers.get("retry-after")).toBe("1");
  expect(await endpoints(given)).toBe(1);
});

it("writes a key with the effect of its call, or neither", async () => {
  const given = givenApi();
  given.service.db.run(
    "create temp trigger no_keys before insert on idempotencyKeys begin select raise(abort, 'full'); end",
  );
  expect((await given.call(create, endpoint, key)).status).toBe(500);
  expect(await endpoints(given)).toBe(0);
});

it("holds over a restart", async () => {
  const given = givenApi();
  const first = await (await given.call(create, endpoint, key)).text();
  const restarted = createApi(
    given.service,
    given.faults,
    { watchNewDeliveries: () => async () => {} },
    createRateLimits(given.service),
  );
  const again = await restarted.request("/api/v3/management/webhooks", {
    method: "POST",
    headers: { authorization: `Bearer ${given.token}`, "content-type": "application/json", ...key },
    body: JSON.stringify(endpoint),
  });
  expect(await again.text()).toBe(first);
});

it("has no Retry-After on a 409 that trying again does not change", async () => {
  const { call } = givenApi({ endpointCap: "3" });
  for (let count = 0; count < 3; count++) await call(create, endpoint);
  const refused = await call(create, endpoint, key);
  expect(refused.status).toBe(409);
  expect(refused.headers.has("retry-after")).toBe(false);
});

describe.each([
  ["on", 409],
  ["off", 201],
] as const)("an error with the switch cacheErrors: %s", (cacheErrors, statusThen) => {
  it(`is followed by ${statusThen} for the same key, when its cause has gone`, async () => {
    const given = givenApi({ cacheErrors, endpointCap: "3" });
    for (let count = 0; count < 3; count++) await given.call(create, endpoint);
    const refused = await given.call(create, endpoint, key);
    expect(refused.status).toBe(409);
    given.service.db.run("delete from endpoints");
    const again = await given.call(create, endpoint, key);
    expect(again.status).toBe(statusThen);
    if (statusThen === 409) expect(await again.text()).toBe(await refused.text());
  });
});

describe.each([
  ["on", 500],
  ["off", 201],
] as const)("a 500 with the switch cacheErrors: %s", (cacheErrors, statusThen) => {
  it(`is followed by ${statusThen} for the same key`, async () => {
    const given = givenApi({ cacheErrors });
    given.faults.add({ kind: "error", call: create });
    expect((await given.call(create, endpoint, key)).status).toBe(500);
    expect(await endpoints(given)).toBe(0);
    expect((await given.call(create, endpoint, key)).status).toBe(statusThen);
  });
});

it.each([401, 423, 429])("keeps no %i, which says nothing of the operation", async (status) => {
  const given = givenApi();
  given.faults.add({ kind: "error", call: create, status });
  expect((await given.call(create, endpoint, key)).status).toBe(status);
  expect((await given.call(create, endpoint, key)).status).toBe(201);
});

it.each(["empty", "html"] as const)("keeps errors whose body is %s", async (unstatedErrorBody) => {
  const given = givenApi({ unstatedErrorBody });
  const first = await given.call(create, {}, key);
  const again = await given.call(create, {}, key);
  expect([first.status, again.status]).toEqual([400, 400]);
  expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
  expect(await again.text()).toBe(await first.text());
});

describe.each([
  ["on", true],
  ["off", false],
] as const)("the secret, with the switch replayShowsSecret: %s", (replayShowsSecret, isShown) => {
  it(isShown ? "is shown again" : "is shown once, and not kept", async () => {
    const given = givenApi({ replayShowsSecret });
    const first = (await (await given.call(create, endpoint, key)).json()) as {
      data: Record<string, unknown>;
    };
    expect(first.data).toHaveProperty("signingSecret");
    const again = (await (await given.call(create, endpoint, key)).json()) as {
      data: Record<string, unknown>;
    };
    const { signingSecret, ...record } = first.data;
    expect(again.data).toEqual(isShown ? { ...record, signingSecret } : record);
    const kept = JSON.stringify(given.service.db.all("select body from idempotencyKeys"));
    expect(kept.includes(String(signingSecret))).toBe(isShown);
  });
});

describe("the fingerprint of a body", () => {
  it.each([
    [
      "the order of keys, at any depth",
      '{"a":{"b":1,"c":[{"d":1,"e":2}]},"f":3}',
      '{"f":3,"a":{"c":[{"e":2,"d":1}],"b":1}}',
    ],
    ["whitespace", '{"a":1}', '{ "a" :\n1 }'],
    ["escapes", '{"a":"é"}', '{"a":"\\u00e9"}'],
  ])("is the same with any %s", (_, one, other) => {
    expect(fingerprintOf(one)).toBe(fingerprintOf(other));
  });

  it.each([
    ["another value", '{"a":1}', '{"a":2}'],
    ["another order of an array", "[1,2]", "[2,1]"],
    ["a key more", "{}", '{"a":null}'],
    ["a key that is special in JavaScript", "{}", '{"__proto__":{"a":1}}'],
    ["no body and an empty object", "", "{}"],
    ["whole numbers that are rounded to the same", '{"a":9007199254740993}', '{"a":9007199254740992}'],
    [
      "a number that is rounded, and an object that has its digits",
      '{"a":9007199254740993}',
      '{"a":{"number":"9007199254740993"}}',
    ],
    ["numbers beyond all that JavaScript has", '{"a":1e400}', '{"a":null}'],
    ["two that are no JSON", "{", "["],
  ])("differs for %s", (_, one, other) => {
    expect(fingerprintOf(one)).not.toBe(fingerprintOf(other));
  });

  it("is SHA-256 of the canonical JSON", () => {
    const canonical = '{"a":null,"b":[1,{"c":2,"d":1}]}';
    const expected = createHash("sha256").update(canonical).digest("hex");
    expect(fingerprintOf('{ "b": [1, {"d": 1, "c": 2}], "a": null }')).toBe(expected);
  });
});
