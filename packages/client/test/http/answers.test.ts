import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { inspect } from "node:util";
import {
  type ApiClient,
  type ApiError,
  type CallMessage,
  createClient,
  type Limiter,
  type Method,
  observeCalls,
} from "@esim-webhooks/client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Step } from "../script-service.ts";
import { credentials, scriptedClient } from "../scripted-client.ts";

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

const exchange = async () => ({ accessToken: "abc", expiresInSeconds: 60 });

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: ApiError) => error,
  );

describe("a body that cannot be read is told for what it is, and not quoted", () => {
  const personal = "+32470000000";
  it.each([
    ["an HTML page", `\n<!doctype html><p>${personal}`, "text/plain"],
    ["an HTML page", `<p>${personal}`, "text/html"],
    ["JSON that was cut short", `\n[{"msisdn":"${personal}"`, "text/plain"],
    ["JSON that was cut short", `{"data":{"msisdn":"${personal}"`, "application/json"],
    ["no JSON", `${personal} [<html`, "text/plain"],
    ["an empty body", "", "application/json"],
  ])("%s", async (shape, body, type) => {
    const { api } = await clientOf((_, response) => response.setHeader("content-type", type).end(body));
    const error = await failureOf(api.client.get());
    expect(error).toMatchObject({ code: "unreadable_answer", status: 200, retryable: true });
    expect(error.message).toContain(shape);
    expect(error.message).not.toContain("3247");
  });

  it("more than 64 MiB, which are not kept in memory", async () => {
    const mebibyte = new Uint8Array(1024 * 1024);
    let sent = 0;
    const body = new ReadableStream({
      pull(stream) {
        sent += 1;
        stream.enqueue(mebibyte);
      },
    });
    const { api, clock } = scriptedClient([], { exchange, fetch: async () => new Response(body) });
    const error = await failureOf(clock.run(api.client.get()));
    expect(error).toMatchObject({ code: "unreadable_answer", status: 200 });
    expect(error.message).toContain("more than 64 MiB");
    expect(sent).toBeGreaterThanOrEqual(65);
    expect(sent).toBeLessThan(70);
  });

  it("a connection that is cut in the middle of the answer is connection_lost", async () => {
    const { api } = await clientOf((_, response) => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      setImmediate(() => response.destroy());
    });
    const error = await failureOf(api.client.get());
    expect(error).toMatchObject({ code: "connection_lost", status: undefined, attempts: 1, retryable: true });
  });

  it.each([
    ["whose headers are too long", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(100_000)}\r\n\r\n`],
    [
      "that switches protocols",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ],
    ["with two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}"],
  ])("an answer %s is connection_lost, not unreachable", async (_, answer) => {
    const { api } = await clientOf(({ socket }) => socket.end(answer));
    expect(await failureOf(api.client.get())).toMatchObject({ code: "connection_lost" });
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
      problemDetails: problem,
      retryable: false,
    });
    expect(error.message).toBe(
      "request: the service answered 409 (Number taken). The reason is in error.problemDetails.",
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
      expect(error).toMatchObject({ code, status, problemDetails: undefined, attempts: 1 });
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

it.each([
  [
    "connection_lost",
    ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "HPE_CLOSED"],
  ],
  ["unreachable", ["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT", undefined]],
])("a request that fails is %s after %j", async (code, causes) => {
  for (const cause of causes) {
    const failed = new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: cause }) });
    const { api, clock } = scriptedClient([], {
      exchange,
      fetch: () => Promise.reject(failed),
      maxAttempts: 1,
    });
    expect(await failureOf(clock.run(api.client.get()))).toMatchObject({ code });
  }
});

it("says at which address nothing answers, without its path, and what to check", async () => {
  const api = createClient({ ...credentials, baseUrl: "http://127.0.0.1:9/api/v3", maxAttempts: 1 });
  const noToken = await failureOf(api.esims.order({}));
  expect(noToken.message).toBe(
    "esims.order: there is no token. auth.token: nothing answers at http://127.0.0.1:9. Check that the service runs and that the base URL (ESIM_API_URL) is right.",
  );
  const sending = createClient({ baseUrl: "http://127.0.0.1:9/api/v3", exchange, maxAttempts: 1 });
  const notSent = await failureOf(sending.esims.order({}));
  expect(notSent.message).toBe(
    "esims.order: nothing answers at http://127.0.0.1:9. Check that the service runs and that the base URL (ESIM_API_URL) is right. It may have been done: call again later with the same body and error.idempotencyKey, which cannot do it twice within 48 hours of the first attempt.",
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

describe("an answer that breaks the protocol", () => {
  const personal = "+32470000000";

  it("is told without its bytes: in the error, its causes and the message to observers", async () => {
    const server = createNetServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () =>
        socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{"msisdn":"${personal}"}`),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const messages: CallMessage[] = [];
    onTestFinished(observeCalls((message) => void messages.push(message)));
    const api = createClient({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`,
      exchange,
      maxAttempts: 1,
    });
    const error = await failureOf(api.client.get());
    expect(error.cause).toBeInstanceOf(Error);
    expect(error.cause).toMatchObject({ cause: { name: "HTTPParserError", message: expect.any(String) } });
    expect(messages).toHaveLength(1);
    for (const value of [error, messages]) {
      const printed = inspect(value, { depth: 9, showHidden: true });
      expect(printed).toContain("HTTPParserError");
      expect(printed).not.toMatch(/32470|51, 50, 52|33 32 34/); // as text, as numbers, as a Buffer
    }
  });
});

it("a cause is one short line, and a chain of causes ends", async () => {
  const endless: Error & { cause?: unknown } = new Error(`one\n\u001b[2Jtwo ${"x".repeat(1000)}`);
  endless.cause = endless;
  const { api, clock } = scriptedClient([], { fetch: () => Promise.reject(endless), maxAttempts: 1 });
  const error = await failureOf(clock.run(api.client.get()));
  const cause = (error.cause as Error).cause as Error; // of the exchange, which could not be sent
  expect(cause.message).toMatch(/^one \[2Jtwo x{100,200}…$/);
  expect(inspect(error, { depth: 99 })).not.toContain("Circular");
});

describe("the title of a problem in a message", () => {
  const titled = (title: string) => ({ answer: 400, body: JSON.stringify({ title }) });

  it("is one line without control characters, of at most 100 characters", async () => {
    const { api, clock } = scriptedClient([
      titled(`No\r\n\u001b[31m\u2028\u202emore ${"x".repeat(100_000)}`),
    ]);
    const { message, problemDetails } = await failureOf(clock.run(api.client.get()));
    expect(message).toMatch(/^client\.get: the service answered 400 \(No \[31m more x{80,100}…\)\. /);
    expect(message).not.toMatch(/x{101}/);
    expect(problemDetails?.title).toContain("\n");
  });

  it("is left out when the token is refused: it may repeat the secret", async () => {
    const fetch = async () => Response.json({ title: "s3cr3t-of-ours is wrong" }, { status: 400 });
    const { api, clock } = scriptedClient([], { fetch });
    const error = await failureOf(clock.run(api.client.get()));
    expect(inspect(error, { depth: 9 })).toContain("the service answered 400.");
    expect(inspect(error, { depth: 9 })).not.toContain("s3cr3t");
  });
});

it("says of 300 to 399 that it is a redirect, except of 304", async () => {
  for (const status of [300, 304, 399, 418]) {
    const { api, clock } = scriptedClient([{ answer: status }]);
    const { code, message } = await failureOf(clock.run(api.client.get()));
    expect(code).toBe("unexpected_status");
    expect(/a redirect.*not followed/.test(message)).toBe(status === 300 || status === 399);
  }
});

it("takes no answer without a status for a success", async () => {
  const { api, clock } = scriptedClient([], { exchange, fetch: async () => Response.error() });
  const error = await failureOf(clock.run(api.request("GET", "/")));
  expect(error).toMatchObject({
    code: "unexpected_status",
    message: expect.not.stringContaining("redirect"),
  });
});

it("names a redirect, and says why it is not followed", async () => {
  const { api, clock } = scriptedClient([{ answer: 307, headers: { location: "https://other.test" } }]);
  const error = await failureOf(clock.run(api.client.get()));
  expect(error.message).toBe(
    "client.get: the service answered 307, a redirect. It was not followed, because the token would go along: check the base URL (ESIM_API_URL).",
  );
});

describe("the time of a call ends it", () => {
  it("even if a fetch that was handed in ignores its signal; a late answer is cancelled", async () => {
    const late = Promise.withResolvers<Response>();
    const isCancelled = Promise.withResolvers<void>();
    const { api, clock } = scriptedClient([], { exchange, fetch: () => late.promise, maxAttempts: 1 });
    const error = await failureOf(clock.run(api.client.get()));
    expect(error).toMatchObject({ code: "timed_out", attempts: 1 });
    late.resolve(new Response(new ReadableStream({ cancel: () => isCancelled.resolve() })));
    await isCancelled.promise;
  });

  it("even if its body never ends, which is cancelled", async () => {
    const isCancelled = Promise.withResolvers<void>();
    const endless = () => new Response(new ReadableStream({ cancel: () => isCancelled.resolve() }));
    const { api, clock } = scriptedClient([], { exchange, fetch: async () => endless(), maxAttempts: 1 });
    expect(await failureOf(clock.run(api.client.get()))).toMatchObject({ code: "timed_out", attempts: 1 });
    await isCancelled.promise;
  });

  it("and a call that has ended leaves no timer, which would keep the process running", async () => {
    const { api, clock } = scriptedClient([{ answer: 503 }, { answer: "drop" }, { answer: 404 }]);
    for (const path of ["/fails", "/succeeds"]) await clock.run(api.request("GET", path)).catch(() => {});
    expect(clock.waiting).toBe(0);
  });

  it("and a signal that is aborted before sends nothing, for a token neither", async () => {
    const { api, service } = scriptedClient();
    const error = await failureOf(api.client.get({ signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: "aborted", attempts: 0 });
    expect([service.tokens, service.seen.length]).toEqual([0, 0]);
  });
});

describe("what to do about a success that cannot be read", () => {
  const address = { street: "s", city: "c", postalCode: "p", countryCode: "BE" };
  const customerInfo = { firstName: "f", lastName: "l", address };
  const allocation = { esimReference: "e", countryCode: "BE", customerInfo };
  const url = "https://receiver.test";
  const create = (api: ApiClient) => api.webhooks.create({ url, eventTypes: ["esim.retired"] });
  const allocate = (api: ApiClient) => api.numbers.allocate("p", allocation);

  async function failureAfter(body: string, call: (api: ApiClient) => Promise<unknown>) {
    const { api, clock, service } = scriptedClient([{ answer: 200, body }]);
    return { api, clock, service, error: await failureOf(clock.run(call(api))) };
  }

  it("a POST or PATCH: its message does not lead to a second effect", async () => {
    const { api, clock, service, error } = await failureAfter('{"data":{"url":5}}', create);
    expect(error).toMatchObject({ code: "unexpected_answer", retryable: false });
    expect(error.message).toContain("use api.request with the same body and error.idempotencyKey");
    const options = { idempotencyKey: error.idempotencyKey };
    const body = { url, eventTypes: ["esim.retired"] };
    await clock.run(api.request("POST", "/management/webhooks", body, options));
    expect(service.effects).toBe(1);
  });

  it.each(["", "<html>", '{"data":'])(
    "%j may be a proxy's: it may have been done, and the same call may succeed",
    async (body) => {
      const { error } = await failureAfter(body, allocate);
      expect(error).toMatchObject({ code: "unreadable_answer", retryable: true });
      expect(error.message).toMatch(
        /a proxy answers.* It may have been done: .* error\.idempotencyKey, which/,
      );
      expect(error.message).not.toContain("did what was asked");
    },
  );

  it("a DELETE: done, if the answer is the service's", async () => {
    const remove = (api: ApiClient) => api.webhooks.delete("abc");
    const { error } = await failureAfter('{"data":{"url":5}}', remove);
    expect(error).toMatchObject({
      code: "unexpected_answer",
      remedy: expect.stringMatching(/Do not call again/),
    });
    const page = await failureAfter("<html>", remove);
    expect(page.error.remedy).toMatch(
      /It may have been done: call again later with the same arguments, [^4]*$/,
    );
  });

  it("names the first five fields that differ", async () => {
    const endpoints = JSON.stringify({ data: Array.from({ length: 9 }, () => ({})) });
    const { error } = await failureAfter(endpoints, (api) => api.webhooks.list().page());
    expect(error.message.match(/"data\.\d\./g)).toHaveLength(5);
    expect(error.remedy).toContain("use api.request, which reads them as they are");
  });

  it("a GET: nothing of what was done, and of no key", async () => {
    for (const body of ["", "<html>", "{}"]) {
      const { error } = await failureAfter(body, (api) => api.client.get());
      expect(error.message).not.toMatch(/done|did|idempotencyKey/);
    }
  });

  it("a token: nothing of api.request, which needs one", async () => {
    const { api, clock } = scriptedClient([], { fetch: async () => Response.json({ token: "t" }) });
    const error = await failureOf(clock.run(api.client.get()));
    expect(error.message).not.toMatch(/api\.request|did what/);
    expect(error.message).toContain('"access_token"');
  });
});

describe("the advice of an error", () => {
  const repeat = /It may have been done: .*the same body and error\.idempotencyKey.* 48 hours/;
  const address = /^Check that the service runs and that the base URL/;
  const problem = JSON.stringify({ title: "No" });

  it.each<[Method, Step, RegExp]>([
    ["GET", { answer: "cut" }, /^Call again later\.$/],
    ["DELETE", { answer: "cut" }, /^Call again later\.$/],
    ["POST", { answer: "cut" }, repeat],
    ["PATCH", { answer: "hang" }, repeat],
    ["GET", { answer: "hang" }, /^Call again later\.$/],
    ["GET", { answer: "drop" }, address],
    ["DELETE", { answer: "drop" }, address],
    ["POST", { answer: "drop" }, new RegExp(`${address.source}.*${repeat.source}`)],
    ["GET", { answer: 503 }, /^Call again later\.$/],
    ["DELETE", { answer: 503, body: problem }, /^Call again later\.$/],
    ["POST", { answer: 503 }, new RegExp(`${repeat.source}.*fails in the same way again.* a new key`)],
    [
      "POST",
      { answer: 423 },
      /^The first request .*call again later with the same body and error\.idempotencyKey/,
    ],
    ["DELETE", { answer: 423 }, /^The first request .*call again later with the same arguments/],
    ["GET", { answer: 423 }, /^The first request .*call again later with the same arguments/],
    ["POST", { answer: 429 }, /^The client id has more callers/],
    ["POST", { answer: 400 }, /^The answer does not say why.* base URL/],
    ["POST", { answer: 400, body: problem }, /^The reason is in error\.problemDetails/],
    ["POST", { answer: 418, body: problem }, /^The reason is in error\.problemDetails/],
    ["POST", { answer: 422 }, /^Use a fresh key/],
    ["GET", { answer: 403 }, /no access/],
    ["GET", { answer: 404 }, /^Check the references.*base URL/],
  ])("of a %s after %j", async (method, step, advice) => {
    const { api, clock } = scriptedClient([step], { maxAttempts: 1 });
    const { remedy, message, attempts } = await failureOf(clock.run(api.request(method, "/path")));
    expect(remedy).toMatch(advice);
    if (!advice.source.includes("done")) expect(remedy).not.toContain("done");
    expect(attempts).toBe(1);
    expect(message).not.toContain("attempts");
  });

  it("says of a fresh token that is refused, too, that the credentials do not fit the address", async () => {
    const { api, clock } = scriptedClient([{ answer: 401 }, { answer: 401 }]);
    const error = await failureOf(clock.run(api.request("POST", "/path")));
    expect(error).toMatchObject({ code: "unauthorized", attempts: 2 });
    expect(error.message).toMatch(/answered 401 .*after 2 attempts\. A fresh token was refused as well/);
  });

  it("says that nothing was sent when its time ended, or it was aborted, while it waited for its slot", async () => {
    const limiter: Limiter = {
      take: (_, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      state: () => ({ waiting: 1, inFlight: 0, remaining: undefined, pauseMs: 0 }),
    };
    const { api, clock } = scriptedClient([], { limiter, exchange });
    const late = await failureOf(clock.run(api.request("POST", "/path")));
    expect(late).toMatchObject({ code: "timed_out", attempts: 0 });
    expect(late.message).toMatch(/nothing was sent.*raise timeoutMs/);
    const stop = new AbortController();
    const call = failureOf(api.request("POST", "/path", {}, { signal: stop.signal }));
    stop.abort();
    const aborted = await call;
    expect(aborted).toMatchObject({ code: "aborted", attempts: 0, remedy: "Call again later." });
    expect(aborted.message).toContain("before anything was sent");
  });

  it("says of a call that is aborted between its attempts that it may have been done, not what was answered", async () => {
    const { api, clock, service } = scriptedClient([{ answer: 503, body: problem }]);
    const stop = new AbortController();
    const call = failureOf(api.request("POST", "/path", {}, { signal: stop.signal }));
    await expect.poll(() => service.seen.length).toBe(1);
    await expect.poll(() => clock.waiting).toBe(2); // its time, and its pause
    stop.abort();
    const error = await call;
    expect(error).toMatchObject({ code: "aborted", attempts: 1, status: 503 });
    expect(error.message).toMatch(/^request: aborted\. It may have been done/);
  });
});

it("names the variables of the environment that it calls", async () => {
  const call = (fetch: typeof globalThis.fetch) =>
    failureOf(createClient({ ...credentials, environment: "test", maxAttempts: 1, fetch }).client.get());
  const refused = await call(async () => new Response(null, { status: 401 }));
  expect(refused.remedy).toContain("Check ESIM_TEST_CLIENT_ID and ESIM_TEST_CLIENT_SECRET");
  const unreachable = await call(() => fetch("http://127.0.0.1:1"));
  expect(unreachable.remedy).toContain("(ESIM_TEST_API_URL)");
});
