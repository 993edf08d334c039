import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type ApiClient, type ApiError, createClient } from "@esim-webhooks/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { credentials } from "../scripted-client.ts";

/** A client of a real server, which answers every call but that for the token with `answer`. */
async function clientOf(answer: RequestListener): Promise<{ readonly api: ApiClient; readonly url: string }> {
  const server = createServer((request, response) => {
    if (request.url !== "/api/v3/auth/token") return answer(request, response);
    response.end('{"access_token":"abc","expires_in":60}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`;
  return { api: createClient({ ...credentials, baseUrl: url, maxAttempts: 1 }), url };
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: ApiError) => error,
  );

describe("a body that cannot be read is told for what it is, and not quoted", () => {
  const personal = "+32470000000";
  it.each([
    ["an HTML page", `<!doctype html><p>${personal}`, "text/html"],
    ["JSON that was cut short", `{"data":{"msisdn":"${personal}"`, "application/json"],
    ["no JSON", personal, "text/plain"],
    ["an empty body", "", "application/json"],
  ])("%s", async (shape, body, type) => {
    const { api } = await clientOf((_, response) => response.setHeader("content-type", type).end(body));
    const error = await failureOf(api.client.get());
    expect(error).toMatchObject({ code: "unreadable_answer", status: 200, retryable: false });
    expect(error.message).toContain(shape);
    expect(error.message).not.toContain("3247");
  });

  it("a connection that is cut in the middle of the answer is connection_lost", async () => {
    const { api } = await clientOf((_, response) => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      setImmediate(() => response.destroy());
    });
    const error = await failureOf(api.client.get());
    expect(error).toMatchObject({ code: "connection_lost", status: undefined, attempts: 1, retryable: true });
  });

  it("JSON of another form: its fields are named, and their values are not", async () => {
    const { api } = await clientOf((_, response) =>
      response.end(JSON.stringify({ data: { clientReference: 470123123, name: "secret name" } })),
    );
    const error = await failureOf(api.client.get());
    expect(error.code).toBe("unexpected_answer");
    expect(error.message).toMatch(/"data\.clientReference": .*expected string.*"data\.limits"/);
    expect(error.message).not.toMatch(/470|secret name/);
  });
});

describe("an error answer", () => {
  const problem = {
    type: "https://api.test/p",
    title: "Number taken",
    status: 409,
    detail: "+3247000 is taken",
    extra: 1,
  };

  it("has its problem, whole, and its title in the message", async () => {
    const { api } = await clientOf((_, response) => {
      response.writeHead(409, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
    });
    const error = await failureOf(api.request("POST", "/esims", {}));
    expect(error).toMatchObject({
      name: "ApiError",
      code: "conflict",
      status: 409,
      problem,
      retryable: false,
    });
    expect(error.message).toBe(
      "request: the service answered 409 (Number taken). The reason is in error.problem.",
    );
    expect(JSON.stringify(error)).not.toContain("3247");
  });

  it.each([
    [400, "bad_request"],
    [403, "forbidden"],
    [404, "not_found"],
    [409, "conflict"],
    [422, "key_reused"],
    [423, "in_flight"],
    [429, "rate_limited"],
    [500, "service_failed"],
    [503, "service_failed"],
    [418, "unexpected_status"],
  ])("%d is %s, with an HTML page or an empty body too", async (status, code) => {
    for (const body of ["<html>nginx</html>", ""]) {
      const { api } = await clientOf((_, response) => response.writeHead(status).end(body));
      const error = await failureOf(api.request("POST", "/esims", {}));
      expect(error).toMatchObject({ code, status, problem: undefined, attempts: 1 });
      expect(error.message).toMatch(body === "" ? /with an empty body/ : /with an HTML page, 18 bytes/);
    }
  });

  it("that leads elsewhere is not followed: the token stays here", async () => {
    let visits = 0;
    const { api } = await clientOf((_, response) => {
      visits += 1;
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    expect(await failureOf(api.client.get())).toMatchObject({ code: "unexpected_status", status: 302 });
    expect(visits).toBe(1);
  });
});

it("a server that is not there is unreachable", async () => {
  const { url } = await clientOf(() => {});
  const api = createClient({ ...credentials, baseUrl: `${url.replace(/:\d+/, ":1")}`, maxAttempts: 1 });
  const error = await failureOf(api.esims.order({}));
  expect(error).toMatchObject({ code: "unreachable", idempotencyKey: expect.any(String) });
});

it("says at which address nothing answers, without its path, and what to check", async () => {
  const api = createClient({ ...credentials, baseUrl: "http://127.0.0.1:9/api/v3", maxAttempts: 1 });
  const noToken = await failureOf(api.esims.order({}));
  expect(noToken.message).toBe(
    "esims.order: there is no token. auth.token: nothing answers at http://127.0.0.1:9. Check that the service runs and that the base URL (ESIM_API_URL) is right.",
  );
  const exchange = async () => ({ accessToken: "token", expiresInSeconds: 60 });
  const sending = createClient({ baseUrl: "http://127.0.0.1:9/api/v3", exchange, maxAttempts: 1 });
  const notSent = await failureOf(sending.esims.order({}));
  expect(notSent.message).toBe(
    "esims.order: nothing answers at http://127.0.0.1:9. Check that the service runs and that the base URL (ESIM_API_URL) is right. It may have been done: call again later with the same body and error.idempotencyKey, which cannot do it twice.",
  );
});

it("sends what is specified: path, token, type, key and body", async () => {
  const seen: unknown[] = [];
  const { api } = await clientOf(async ({ method, url, headers }, response) => {
    const { authorization, "content-type": type, "x-idempotency-key": key } = headers;
    seen.push({ method, url, authorization, type, key });
    response.end('{"data":null}');
  });
  await api.lifecycle("1111", "a/b", "suspend", { idempotencyKey: "mine" });
  await api.request("GET", "/esims?limit=3");
  expect(seen).toEqual([
    {
      method: "PATCH",
      url: "/api/v3/profiles/1111/esims/a%2Fb/lifecycle",
      authorization: "Bearer abc",
      type: "application/json",
      key: "mine",
    },
    {
      method: "GET",
      url: "/api/v3/esims?limit=3",
      authorization: "Bearer abc",
      type: undefined,
      key: undefined,
    },
  ]);
});
