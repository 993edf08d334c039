import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import { expect, it, onTestFinished } from "vitest";
import { endpoint } from "./given-api.ts";

interface Given {
  readonly sandbox: Sandbox;
  /** Calls the API over HTTP. */
  call(
    call: string,
    body?: unknown,
    headers?: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Response>;
  endpoints(): Promise<number>;
}

async function given(switches: SandboxOptions["switches"] = {}): Promise<Given> {
  const sandbox = await startSandbox({ switches: { rateLimit: "off", ...switches } });
  onTestFinished(() => sandbox.close());
  const { clientId, clientSecret } = sandbox.credentials;
  const asked = await fetch(`${sandbox.url}/auth/token`, {
    method: "POST",
    body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret }),
  });
  const { access_token } = (await asked.json()) as { access_token: string };
  const call: Given["call"] = (call, body, headers = {}, signal) => {
    const [method = "", path = ""] = call.split(" ");
    return fetch(`${sandbox.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  };
  async function endpoints(): Promise<number> {
    const page = (await (await call("GET /management/webhooks")).json()) as { data: unknown[] };
    return page.data.length;
  }
  return { sandbox, call, endpoints };
}

const create = "POST /management/webhooks";
const key = { "x-idempotency-key": "2c1f4f0e" };

it("drops an answer after its call was done, and gives it to the same key", async () => {
  const { sandbox, call, endpoints } = await given();
  sandbox.faults.dropNextAnswer(create);
  await expect(call(create, endpoint, key)).rejects.toThrow("fetch failed");
  expect(await endpoints()).toBe(1);
  expect((await call(create, endpoint, key)).status).toBe(201);
  expect(await endpoints()).toBe(1);
});

it("drops the answer to the same key too, if the fault strikes twice", async () => {
  const { sandbox, call, endpoints } = await given();
  sandbox.faults.add({ kind: "drop_answer", call: create, times: 2 });
  await expect(call(create, endpoint, key)).rejects.toThrow("fetch failed");
  await expect(call(create, endpoint, key)).rejects.toThrow("fetch failed");
  expect((await call(create, endpoint, key)).status).toBe(201);
  expect(await endpoints()).toBe(1);
});

it.each([
  [false, 0],
  [true, 1],
])("answers an error where the call was done: %s", async (done, count) => {
  const { sandbox, call, endpoints } = await given({ cacheErrors: "off" });
  sandbox.faults.add({ kind: "error", call: create, status: 503, done });
  expect((await call(create, endpoint, key)).status).toBe(503);
  expect(await endpoints()).toBe(count);
  const again = await call(create, endpoint, key);
  expect(again.status).toBe(201);
  expect(await endpoints()).toBe(1);
});

it("has 100 calls at once with one key do one thing, although answers are dropped and errors are given", async () => {
  const { sandbox, call, endpoints } = await given({ cacheErrors: "off" });
  for (const fault of [{ kind: "drop_answer" }, { kind: "error", done: true }, { kind: "error" }] as const) {
    sandbox.faults.add({ ...fault, call: create, probability: 0.3 });
  }
  const statuses = await Promise.all(
    Array.from({ length: 100 }, () =>
      call(create, endpoint, key).then(
        ({ status }) => status,
        () => "dropped",
      ),
    ),
  );
  sandbox.faults.clear();
  for (const status of statuses) expect([201, 409, 500, "dropped"]).toContain(status);
  expect((await call(create, endpoint, key)).status).toBe(201);
  expect(await endpoints()).toBe(1);
});

it("answers 429 with all headers, and does nothing", async () => {
  const { sandbox, call, endpoints } = await given();
  sandbox.faults.add({ kind: "rate_limit", call: create });
  const { status, headers } = await call(create, endpoint);
  expect(status).toBe(429);
  expect(headers.get("retry-after")).toBe("1");
  expect(headers.get("x-ratelimit-remaining")).toBe("0");
  expect(headers.has("x-ratelimit-reset")).toBe(true);
  expect(await endpoints()).toBe(0);
});

it("strikes the token endpoint too", async () => {
  const { sandbox } = await given();
  sandbox.faults.add({ kind: "rate_limit", call: "POST /auth/token" });
  expect((await fetch(`${sandbox.url}/auth/token`, { method: "POST" })).status).toBe(429);
});

it("strikes by the call's name, with its parameters as they are called", async () => {
  const { sandbox, call } = await given();
  sandbox.faults.add({ kind: "error", call: "DELETE /management/webhooks/{webhookEndpointReference}" });
  expect((await call("POST /management/webhooks/WHE1/rotate-secret")).status).toBe(404);
  expect((await call("DELETE /management/webhooks/WHE1")).status).toBe(500);
});

it("answers slowly, and whole", async () => {
  const { sandbox, call } = await given();
  sandbox.faults.add({ kind: "slow_answer", call: create, bytesPerSecond: 2000 });
  const startedAt = performance.now();
  const answer = await call(create, endpoint);
  const text = await answer.text();
  expect(JSON.parse(text)).toHaveProperty("data.signingSecret");
  expect(performance.now() - startedAt).toBeGreaterThan(text.length / 4);
});

it.each([
  ["409", 409],
  ["423", 423],
] as const)(
  "hangs, and answers %s to the same key until the first call has gone",
  async (inFlight, expected) => {
    const { sandbox, call, endpoints } = await given({ inFlight });
    sandbox.faults.add({ kind: "hang", call: create });
    const gone = new AbortController();
    const hanging = call(create, endpoint, key, gone.signal);
    await expect.poll(() => sandbox.faults.list()).toEqual([]);
    const refused = await call(create, endpoint, key);
    expect(refused.status).toBe(expected);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await call(create, { ...endpoint, description: "other" }, key)).status).toBe(422);
    expect(await endpoints()).toBe(0);
    gone.abort();
    await expect(hanging).rejects.toThrow();
    await expect.poll(async () => (await call(create, endpoint, key)).status).toBe(201);
    expect(await endpoints()).toBe(1);
  },
);

it("sends the events of a call before its answer", async () => {
  const order: string[] = [];
  const receiver = createServer((request, response) => {
    request.resume().once("end", () => {
      order.push("event");
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void receiver.close());
  const { sandbox, call } = await given();
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await call(create, { ...endpoint, url });
  sandbox.faults.add({ kind: "early_events", call: "POST /esims" });
  const answer = await call("POST /esims", {});
  order.push("answer");
  expect(answer.status).toBe(201);
  expect(order).toEqual(["event", "answer"]);
});
