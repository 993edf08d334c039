import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { importDeliveries } from "@esim-webhooks/import";
import {
  type Dump,
  type EsimHandle,
  Refused,
  type Sandbox,
  startSandbox,
  type Time,
} from "@esim-webhooks/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { registerOverApi } from "../register-over-api.ts";
import { startEndpoint } from "../sender/endpoint.ts";
import { type Answer, call, register } from "./call.ts";

/** A request with headers that `fetch` does not let anybody set. */
async function withHeaders(url: string, headers: Record<string, string>): Promise<[number, string]> {
  const sent = request(url, { headers }).end();
  const [response] = await once(sent, "response");
  return [response.statusCode, String(Buffer.concat(await response.toArray()))];
}

const nested = (levels: number) => `{"type":"a.b","data":{"a":${"[".repeat(levels)}${"]".repeat(levels)}}}`;

describe("the control side", () => {
  it.each([
    [{ host: "evil.example" }, 403],
    [{ host: "evil.example:4011" }, 403],
    [{ host: "127.0.0.1.evil.example" }, 403],
    [{ host: "localhost" }, 200],
    [{ host: "[::1]:4011" }, 200],
    [{ origin: "http://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ host: "localhost:4011", origin: "http://localhost:3000" }, 403],
    [{ host: "localhost:4011", origin: "http://localhost:4011" }, 200],
  ])(
    "is for this machine under a loopback name, and for its own page: %j is answered %i",
    async (headers, expected) => {
      await using sandbox = await startSandbox();
      for (const path of ["/", "/esims", "/live"]) {
        if (path === "/live" && expected === 200) continue; // it does not end
        const [status, body] = await withHeaders(sandbox.controlUrl + path, headers);
        expect(status).toBe(expected);
        if (expected === 403) expect(JSON.parse(body).error.code).toMatch(/^foreign_/);
      }
    },
  );

  it("refuses a delivery that was sent to it, and says which URL to register instead", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    const { profileReference } = await sandbox.orderEsim();
    await register(sandbox, `${sandbox.controlUrl}/reset`);
    await sandbox.emit({ type: "esim.enabled", data: {} });
    await sandbox.settled();
    expect((await call(sandbox, "GET", "/esims")).data).toMatchObject([{ profileReference }]);
    expect((await call(sandbox, "GET", "/deliveries")).data).toMatchObject([
      { httpStatus: 421, responseBody: expect.stringContaining("Register the URL of your receiver") },
    ]);
  });

  it("lets no page of another origin read its answers", async () => {
    await using sandbox = await startSandbox();
    const { headers } = await fetch(`${sandbox.controlUrl}/state`);
    expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });

  it.each([
    ["POST", "/esims", '{"colour":"red"}', 400, /colour/],
    ["POST", "/esims", "{", 400, /The body is not JSON\. Send a JSON object, or nothing\./],
    ["POST", "/esims", "[]", 400, /expected object/],
    [
      "POST",
      "/events",
      `{"type":"a.b","data":{"text":"${"x".repeat(1024 * 1024)}"}}`,
      413,
      /larger than 1 MiB/,
    ],
    [
      "POST",
      "/faults",
      '{"kind":"drop_anser"}',
      400,
      /There is no fault of kind "drop_anser"\. Did you mean "drop_answer"\?/,
    ],
    [
      "POST",
      "/faults",
      '{"kind":"drop_answer","call":"POST /esim"}',
      400,
      /The API has no call "POST \/esim"\. Did you mean "POST \/esims"\?/,
    ],
    [
      "POST",
      "/faults",
      '{"kind":"cut","eventType":"esim.enable"}',
      400,
      /There is no event type "esim\.enable"\. Did you mean "esim\.enabled"\? .*POST \/event-types/,
    ],
    ["POST", "/events", '{"type":"esim.enable"}', 400, /Did you mean "esim\.enabled"\?/],
    [
      "POST",
      "/endpoints",
      '{"url":"http://[::1]/","eventTypes":["esim.enable"]}',
      400,
      /Did you mean "esim\.enabled"\?/,
    ],
    ["POST", "/clock", "{}", 400, /"advance": expected a duration such as "8h", or a number of ms/],
    [
      "POST",
      "/esims/1/network",
      '{"country":"NL","mcc":"204"}',
      400,
      /expected either .*country.* or .*mcc.*mnc/,
    ],
    [
      "POST",
      "/esims/1/port-in/schedule",
      '{"date":"tomorrow"}',
      400,
      /"date": expected a day such as "2026-12-31"/,
    ],
    ["POST", "/clock", '{"advance":"8h"}', 400, /The clock goes by itself\. .*manual clock/],
    ["GET", "/esims?limit=101", null, 400, /limit/],
    ["POST", "/esims/123/installed", null, 404, /There is no eSIM 123\./],
    ["PATCH", "/endpoints/WHE1", '{"active":false}', 404, /There is no webhook endpoint WHE1\. List/],
    ["POST", "/support/replay", '{"ids":["msg_1"]}', 404, /no event msg_1 of the last 7 days/],
    ["POST", "/endpoints", '{"url":"nonsense"}', 400, /"url": expected a URL/],
    ["POST", "/endpoints", '{"url":"javascript:alert(1)"}', 400, /"url": expected a URL/],
    ["POST", "/endpoints", '{"url":"http://127.0.0.1/","eventTypes":[]}', 400, /"eventTypes": /],
    [
      "POST",
      "/endpoints",
      '{"url":"http://127.0.0.1/","eventTypes":["esim.enabled","esim.enabled"]}',
      400,
      /"eventTypes": expected each event type once/,
    ],
    [
      "POST",
      "/endpoints",
      '{"url":"http://127.0.0.1/","clientReference":"1"}',
      404,
      /There is no client 1\. Add it/,
    ],
    ["POST", "/events", '{"type":"a.b","clientReference":"1"}', 404, /There is no client 1\./],
    ["POST", "/events", nested(400_000), 400, /nested deeper than 100 levels\. Send a flatter one\./],
    [
      "POST",
      "/clients",
      '{"variants":[{"esimVariant":"a","name":"","description":""},{"esimVariant":"a","name":"","description":""}]}',
      400,
      /The variant "a" is there twice\./,
    ],
    ["POST", "/clients", '{"defaultEsimVariant":"gold"}', 400, /"gold" is none of the client's variants\./],
    ["POST", "/support/replay", '{"clientReference":"1"}', 404, /There is no client 1\./],
    ["POST", "/support/dump", '{"clientReference":"1"}', 404, /There is no client 1\./],
    ["POST", "/support/replay", '{"webhookEndpointReference":"WHE1"}', 404, /no webhook endpoint WHE1/],
    ["POST", "/support/dump", '{"webhookEndpointReference":"WHE1"}', 404, /no webhook endpoint WHE1/],
    ["DELETE", "/esims", null, 404, /has no DELETE \/esims\. docs\/sandbox\.md/],
  ])("answers %s %s with an error that says how to mend it", async (method, path, body, status, message) => {
    await using sandbox = await startSandbox();
    const response = await fetch(sandbox.controlUrl + path, { method, body });
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as Answer;
    expect(error).toEqual({ code: expect.any(String), message: expect.stringMatching(message) });
  });

  it("refuses what the state does not allow, and changes nothing", async () => {
    await using sandbox = await startSandbox();
    const { data } = await call(sandbox, "POST", "/esims");
    const path = `/esims/${String(data["esimReference"])}`;
    const refused = await call(sandbox, "POST", `${path}/lifecycle`, { operation: "reactivate" });
    expect(refused).toMatchObject({ status: 409, error: { code: "illegal_transition" } });
    expect((await call(sandbox, "GET", path)).data).toEqual(data);
  });

  it.each(["15h51m30s", "8h", "90s", 90_000, "0s"])("advances a manual clock by %s", async (duration) => {
    await using sandbox = await startSandbox({ clock: "manual" });
    const before = (await call(sandbox, "GET", "/state")).data["now"] as unknown as string;
    const after = (await call(sandbox, "POST", "/clock", { advance: duration })).data[
      "now"
    ] as unknown as string;
    const ms = { "15h51m30s": 57_090_000, "8h": 28_800_000, "90s": 90_000, "0s": 0 }[duration] ?? duration;
    expect(Date.parse(after) - Date.parse(before)).toBe(ms);
  });

  it.each(["8 h", "8", "h", "-1s", "1.5h", -1, 0.5, "8 hours"])(
    "refuses to advance the clock by %j",
    async (duration) => {
      await using sandbox = await startSandbox({ clock: "manual" });
      await expect(sandbox.advance(duration)).rejects.toThrow(/is not a duration\. Write it/);
    },
  );

  it("refuses to advance the clock by more than ten years", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await expect(sandbox.advance("11000d")).rejects.toThrow(/"11000d" is longer than ten years\. Advance/);
  });

  it("adds up what is advanced at the same time", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    const before = Date.parse(String((await call(sandbox, "GET", "/state")).data["now"]));
    await Promise.all([sandbox.advance("1h"), sandbox.advance("2h")]);
    const after = Date.parse(String((await call(sandbox, "GET", "/state")).data["now"]));
    expect(after - before).toBe(3 * 60 * 60 * 1000);
  });

  it("lists eSIMs, endpoints and deliveries of all clients in pages, newest first", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    const other = await sandbox.addClient({ name: "Other" });
    await register(sandbox, endpoint.url);
    await call(sandbox, "POST", "/endpoints", { url: endpoint.url, clientReference: other.clientId });
    const esims = [];
    for (const clientReference of [undefined, other.clientId, undefined])
      esims.unshift((await sandbox.orderEsim({ clientReference })).esimReference);
    await sandbox.settled();
    for (const list of ["/esims", "/deliveries"]) {
      const first = await call(sandbox, "GET", `${list}?limit=2`);
      expect(first.pagination.hasMore).toBe(true);
      const last = await call(sandbox, "GET", `${list}?limit=2&cursor=${first.pagination.nextCursor}`);
      expect(last.pagination).toEqual({ limit: 2, hasMore: false, nextCursor: null });
      expect([...first.data, ...last.data].map(({ esimReference }) => esimReference)).toEqual(esims);
    }
    const { data } = await call(sandbox, "GET", "/endpoints");
    expect(data.map(({ clientReference }) => clientReference)).toEqual([
      other.clientId,
      sandbox.credentials.clientId,
    ]);
  });

  it("refuses a second endpoint at a URL that gets its events already, and shows those that the API has made", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    const first = await register(sandbox, endpoint.url);
    const again = { url: endpoint.url.replace("http:", "HTTP:"), eventTypes: ["esim.assigned"] };
    expect(await call(sandbox, "POST", "/endpoints", again)).toMatchObject({
      status: 409,
      error: {
        code: "url_taken",
        message: expect.stringMatching(
          `^The endpoint ${first} gets events of these types at this URL already, .* twice\\. Use that endpoint, delete it`,
        ),
      },
    });
    expect(await call(sandbox, "POST", "/endpoints", { url: `${endpoint.url}/2` })).toMatchObject({
      status: 201,
    });

    const second = await registerOverApi(sandbox, again);
    const sameUrls = async () =>
      (await call(sandbox, "GET", "/endpoints")).data.map(({ sameUrl }) => sameUrl);
    expect(await sameUrls()).toEqual([[first], [], [second]]);
    await sandbox.setEndpointActive(first, false);
    expect(await sameUrls()).toEqual([[], [], []]);
    await call(sandbox, "DELETE", `/endpoints/${second}`);
    expect(await call(sandbox, "POST", "/endpoints", again)).toMatchObject({ status: 201 }); // nothing arrives twice
  });

  it("shows deliveries with the request of their latest attempt, as it arrived", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint((n) => (n === 1 ? 500 : 200));
    await register(sandbox, endpoint.url);
    sandbox.faults.add({ kind: "new_field" });
    await sandbox.orderEsim();
    for (const [attempt, duration] of ["0s", "30s"].entries()) {
      await sandbox.advance(duration);
      const [delivery] = (await call(sandbox, "GET", "/deliveries")).data;
      expect(endpoint.got[attempt]?.headers).toMatchObject(delivery?.["headers"] as object);
      expect(endpoint.got[attempt]?.body).toBe(delivery?.["body"]);
      expect(Date.parse(String(delivery?.["receivedAt"]))).toBeLessThanOrEqual(Date.now());
    }
    sandbox.faults.add({ kind: "reorder" });
    await sandbox.orderEsim();
    await sandbox.settled();
    expect((await call(sandbox, "GET", "/deliveries?limit=1")).data).toMatchObject([
      { attempts: [], headers: null, body: null, receivedAt: null }, // nothing was sent yet
    ]);
  });

  it("shows every attempt of a delivery with its time, and why no answer came", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint((n) => (n === 1 ? 500 : 200));
    await register(sandbox, endpoint.url);
    await register(sandbox, "http://127.0.0.1:9/nothing-listens");
    await sandbox.orderEsim();
    await sandbox.settled();
    await sandbox.advance("30s");
    const shown = async () =>
      (await call(sandbox, "GET", "/deliveries")).data.map(({ attempts }) => attempts);
    const unanswered = { httpStatus: null, error: "connect ECONNREFUSED 127.0.0.1:9" };
    expect(await shown()).toMatchObject([
      [
        { attemptNumber: 1, ...unanswered },
        { attemptNumber: 2, ...unanswered },
      ],
      [
        { attemptNumber: 1, httpStatus: 500, error: null },
        { attemptNumber: 2, httpStatus: 200, error: null },
      ],
    ]);
    const [first, second] = ((await shown())[1] as { sentAt: string }[]).map(({ sentAt }) =>
      Date.parse(sentAt),
    );
    expect(Number(second) - Number(first)).toBe(30_000); // the service's clock
  });

  it("gives a shell the variables that programs read: those of the API alone, or with the secret of the endpoint", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    await register(sandbox, endpoint.url);
    const [shown] = (await call(sandbox, "GET", "/endpoints")).data;
    const lines = async (path: string) => (await fetch(sandbox.controlUrl + path)).text();
    const api = [
      `export ESIM_API_URL='${sandbox.url}'\n`,
      `export ESIM_CLIENT_ID='${sandbox.credentials.clientId}'\n`,
      `export ESIM_CLIENT_SECRET='${sandbox.credentials.clientSecret}'\n`,
    ].join("");
    expect(await lines("/environment/api")).toBe(api);
    expect(await lines("/environment")).toBe(
      `${api}export ESIM_WEBHOOK_SECRET='${shown?.["signingSecret"]}'\n`,
    );
  });

  it("shows deliveries as the import reads them: what was sent is proven by its signature, the rest is not", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    await register(sandbox, endpoint.url);
    const [{ signingSecret = "" } = {}] = (await call(sandbox, "GET", "/endpoints")).data;
    await sandbox.orderEsim();
    await sandbox.settled();
    sandbox.faults.add({ kind: "reorder" });
    await sandbox.orderEsim();
    await sandbox.settled();
    const { body } = await fetch(`${sandbox.controlUrl}/deliveries`);
    const options = { secret: String(signingSecret), trustUnsigned: true };
    const { ledger } = await importDeliveries(body as ReadableStream<Uint8Array>, memoryInbox(), options);
    expect(ledger).toMatchObject({ read: 2, stored: 2 });
  });

  it("tells live which views have changed: at first all, then those", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    const { body, headers } = await fetch(`${sandbox.controlUrl}/live`);
    expect(headers.get("content-type")).toBe("text/event-stream");
    const messages = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    async function next(): Promise<string[]> {
      const { value = "" } = await messages.read();
      expect(value).toMatch(/^event: changed\ndata: \{.*\}\n\n$/);
      return JSON.parse(value.slice(value.indexOf("{"))).views;
    }
    expect(await next()).toEqual(["esims", "endpoints", "deliveries", "state"]);
    await sandbox.faults.add({ kind: "duplicate" });
    await sandbox.addClient();
    expect(await next()).toEqual(["state"]);
    await sandbox.orderEsim();
    expect(new Set(await next())).toContain("esims");
    await messages.cancel();
  });
});

describe("support", () => {
  it("replays what an endpoint missed while it was inactive, and what it got, under the ids that it knows", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    const reference = await register(sandbox, endpoint.url);
    const [known = ""] = await sandbox.emit({ type: "esim.enabled", data: { number: 1 } });
    await sandbox.settled();
    await sandbox.setEndpointActive(reference, false);
    expect(await sandbox.emit({ type: "esim.enabled", data: { number: 2 } })).toEqual([]);
    expect(await sandbox.replay()).toEqual([]); // it is inactive still
    await sandbox.setEndpointActive(reference, true);

    expect(await sandbox.replay()).toEqual([known, expect.not.stringMatching(known)]);
    await sandbox.settled();
    expect(endpoint.got.map(({ body }) => JSON.parse(body).data.number).sort()).toEqual([1, 1, 2]);
    expect(await sandbox.replay({ ids: [known] })).toEqual([known]);
    expect(await sandbox.replay({ ids: [known], under: "new" })).toEqual([expect.not.stringMatching(known)]);
  });

  it("takes times as RFC 3339 text and as ms, in TypeScript as over HTTP", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    await register(sandbox, endpoint.url);
    const dumped = async (choice: Dump) =>
      (await new Response(ReadableStream.from(sandbox.dump(choice))).text()).split("\n").length - 1;
    const times: readonly Time[] = ["2026-11-20T10:30:00+01:00", Date.UTC(2026, 10, 20, 9, 30)];
    for (const timestamp of times) {
      await sandbox.emit({ type: "esim.enabled", data: {}, timestamp });
      await call(sandbox, "POST", "/events", { type: "esim.enabled", timestamp });
    }
    await sandbox.settled();
    expect(endpoint.got.map(({ body }) => JSON.parse(body).timestamp)).toEqual(
      Array.from({ length: 4 }, () => "2026-11-20T09:30:00.000Z"),
    );

    const now = String((await call(sandbox, "GET", "/state")).data["now"]);
    await sandbox.advance("1s");
    for (const until of [now, Date.parse(now)]) {
      expect(await sandbox.replay({ since: until, until })).toHaveLength(4);
      expect(await dumped({ since: until, until })).toBe(4);
    }
  });

  it.each([-1, 1e20, "2026-11-20", "2026-11-20T10:30:00", "yesterday"])(
    "refuses the time %j",
    async (time) => {
      await using sandbox = await startSandbox();
      const refused = {
        code: "invalid",
        message: expect.stringMatching(/expected a time such as "2026-12-31T12:00:00Z"/),
      };
      await expect(sandbox.emit({ type: "esim.enabled", data: {}, timestamp: time })).rejects.toMatchObject(
        refused,
      );
      await expect(sandbox.replay({ since: time })).rejects.toMatchObject(refused);
      expect(() => sandbox.dump({ until: time })).toThrow(expect.objectContaining(refused));
    },
  );

  it("replays a window of time, 7 days at most", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    await register(sandbox, endpoint.url);
    const [old = ""] = await sandbox.emit({ type: "esim.enabled", data: {} });
    await sandbox.advance("4d");
    const since = new Date(Date.now() + 2 * 24 * 60 * 60 * 1000).toISOString();
    const [recent = ""] = await sandbox.emit({ type: "esim.enabled", data: {} });
    const window = (choice: object) => call(sandbox, "POST", "/support/replay", choice);
    expect((await window({ since })).data["eventIds"]).toEqual([recent]);
    expect((await window({ until: since })).data["eventIds"]).toEqual([old]);
    await sandbox.advance("4d");
    expect((await window({})).data["eventIds"]).toEqual([recent]);
    expect(await window({ ids: [old] })).toMatchObject({ status: 404 });
  });

  it("dumps deliveries as NDJSON that the importer reads to the last one", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint((n) => (n % 2 === 0 ? 500 : 200));
    await register(sandbox, endpoint.url);
    for (let number = 0; number < 700; number++)
      await sandbox.emit({ type: "esim.enabled", data: { number } });
    await sandbox.settled();
    const inbox = memoryInbox();
    const report = await importDeliveries(sandbox.dump(), inbox, { trustUnsigned: true });
    expect(report).toMatchObject({ damage: null, ledger: { read: 700, stored: 700 } });
  });

  describe("of a delivery whose body a fault has changed", () => {
    async function faulted() {
      const sandbox = await startSandbox({ clock: "manual" });
      onTestFinished(() => sandbox.close());
      const endpoint = await startEndpoint();
      onTestFinished(() => endpoint[Symbol.asyncDispose]());
      await register(sandbox, endpoint.url);
      sandbox.faults.add({ kind: "new_field" });
      await sandbox.emit({ type: "esim.enabled", data: {} });
      await sandbox.settled();
      const body = endpoint.got[0]?.body ?? "";
      expect(body).toContain("newField");
      return { sandbox, endpoint, body };
    }

    it("lists the body that was sent", async () => {
      const { sandbox, body } = await faulted();
      expect((await call(sandbox, "GET", "/deliveries")).data).toMatchObject([{ payload: JSON.parse(body) }]);
    });

    it("dumps the body that was sent", async () => {
      const { sandbox, body } = await faulted();
      const lines = await new Response(ReadableStream.from(sandbox.dump())).text();
      expect(JSON.parse(lines)).toMatchObject({ payload: JSON.parse(body) });
    });

    it("replays the same bytes under the same id", async () => {
      const { sandbox, endpoint, body } = await faulted();
      await sandbox.replay();
      await sandbox.settled();
      expect(endpoint.got[1]?.headers["webhook-id"]).toBe(endpoint.got[0]?.headers["webhook-id"]);
      expect(endpoint.got[1]?.body).toBe(body);
    });
  });
});

describe("reset", () => {
  it("makes everything new but the credentials, the tokens and the time", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint(() => 500);
    await register(sandbox, endpoint.url);
    await sandbox.addClient();
    await sandbox.addEventType("esim.renamed");
    sandbox.faults.dropNextAnswer("POST /esims");
    await sandbox.orderEsim();
    await sandbox.advance("1h");
    const { clientId, clientSecret } = sandbox.credentials;
    const token = await fetch(`${sandbox.url}/auth/token`, {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret }),
    });
    const { access_token } = (await token.json()) as { access_token: string };
    const before = (await call(sandbox, "GET", "/state")).data["now"];
    const requests = endpoint.got.length;

    expect((await call(sandbox, "POST", "/reset")).data).toMatchObject({
      now: before,
      nextDueAt: null,
      faults: [],
      clients: [{ clientReference: clientId }],
    });
    for (const list of ["/esims", "/endpoints", "/deliveries"])
      expect((await call(sandbox, "GET", list)).data).toEqual([]);
    expect((await call(sandbox, "GET", "/event-types")).data).not.toContainEqual({
      eventType: "esim.renamed",
    });
    const headers = { authorization: `Bearer ${access_token}` };
    expect((await fetch(`${sandbox.url}/management/webhooks`, { headers })).status).toBe(200);
    await sandbox.advance("1d");
    expect(endpoint.got).toHaveLength(requests);
  });

  it("refills the rate limits", async () => {
    await using sandbox = await startSandbox({ clock: "manual", switches: { rateLimit: "on" } });
    const refused = async (path: string) => {
      let count = 0;
      for (let n = 0; n < 31; n++) {
        const { status } = await fetch(sandbox.url + path, { method: "POST" });
        if (status === 429) count++;
      }
      return count;
    };
    expect(await refused("/auth/token")).toBe(1);
    await sandbox.reset();
    expect(await refused("/auth/token")).toBe(1);
  });

  it("lets no answer to an attempt from before change a delivery from after", async () => {
    await using sandbox = await startSandbox();
    const answers: (() => void)[] = [];
    const { promise: bothCame, resolve } = Promise.withResolvers<void>();
    await using endpoint = await startEndpoint((n, _got, response) => {
      answers.push(() => response.writeHead(n === 1 ? 400 : 200).end());
      if (n === 2) resolve();
      return undefined;
    });
    await register(sandbox, endpoint.url);
    await sandbox.orderEsim();
    while (endpoint.got.length === 0) await new Promise(setImmediate);
    await sandbox.reset();
    await register(sandbox, endpoint.url);
    await sandbox.orderEsim();
    await bothCame;
    for (const answer of answers) answer();
    await sandbox.settled();
    expect((await call(sandbox, "GET", "/deliveries")).data).toMatchObject([
      { status: "delivered", httpStatus: 200 },
    ]);
  });
});

describe("the handle", () => {
  it("rejects with what the service refuses, which can be told by its code", async () => {
    await using sandbox = await startSandbox();
    const esim = await sandbox.orderEsim();
    await esim.terminate();
    const refused = await esim.enterNetwork("NL").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Refused);
    expect(refused).toMatchObject({ code: "illegal_transition" });
    await expect(sandbox.esim("123")).rejects.toMatchObject({ code: "not_found" });
    const { clientId: clientReference } = await sandbox.addClient();
    await expect(sandbox.addClient({ clientReference })).rejects.toMatchObject({ code: "invalid" });
  });

  it("ends a package only of its own eSIM", async () => {
    await using sandbox = await startSandbox();
    const [esim, other] = [await sandbox.orderEsim(), await sandbox.orderEsim()];
    const { packages } = await other.orderPackage();
    const packageReference = packages[0]?.packageReference ?? "";
    await expect(esim.endPackage(packageReference)).rejects.toMatchObject({ code: "not_found" });
    await expect(other.endPackage(packageReference)).resolves.toMatchObject({
      packages: [{ packageReference, status: "ended" }],
    });
  });

  it.each<[string, (sandbox: Sandbox, esim: EsimHandle) => unknown, RegExp]>([
    ["replay", (sandbox) => sandbox.replay({ id: "msg_1" } as object), /Unrecognized key: "id"/],
    ["dump", (sandbox) => sandbox.dump({ from: 1 } as object), /Unrecognized key: "from"/],
    ["orderEsim", (sandbox) => sandbox.orderEsim({ variant: "premium" } as object), /"variant"/],
    ["addClient", (sandbox) => sandbox.addClient({ maxProfile: 1 } as object), /"maxProfile"/],
    ["emit", (sandbox) => sandbox.emit("esim.enabled" as never), /expected object/],
    ["setStock", (sandbox) => sandbox.setStock("premium", "10" as never), /"available"/],
    ["setEndpointActive", (sandbox) => sandbox.setEndpointActive("WHE1", "no" as never), /"active"/],
    ["addEventType", (sandbox) => sandbox.addEventType("" as never), /"eventType"/],
    ["download", (_, esim) => esim.download(7 as never), /"eid"/],
    ["fault", (_, esim) => esim.fault(undefined as never), /"reason"/],
    ["orderPackage", (_, esim) => esim.orderPackage({} as never), /"planReference"/],
    ["endPackage", (_, esim) => esim.endPackage("PKG1", 7 as never), /"reason"/],
    ["credit", (_, esim) => esim.credit(5, { note: "x" } as object), /"note"/],
    ["portIn.reject", (_, esim) => esim.portIn.reject("wrong" as never), /expected object/],
    ["portIn.schedule", (_, esim) => esim.portIn.schedule("tomorrow"), /"date": expected a day/],
  ])("refuses what the control side refuses, and names the method: %s", async (method, call, message) => {
    await using sandbox = await startSandbox();
    const esim = await sandbox.orderEsim();
    const refused = await (async () => call(sandbox, esim))().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Refused);
    expect(refused).toMatchObject({
      code: "invalid",
      message: expect.stringMatching(`^The argument of ${method} is not valid: .*Correct it`),
    });
    expect(String(refused)).toMatch(message);
    expect(await esim.show()).toMatchObject({ profileState: "released", balance: 0, packages: [] });
  });

  it("refuses faults and events that could never arrive, and takes a type that was added", async () => {
    await using sandbox = await startSandbox();
    expect(() => sandbox.faults.dropNextAnswer("POST /esim")).toThrow(/Did you mean "POST \/esims"\?/);
    expect(() => sandbox.faults.dropNextAnswer(undefined as never)).toThrow(/no call "undefined"/);
    expect(() => sandbox.faults.add({ kind: "cut", eventType: "esim.foo" })).toThrow(/no event type/);
    await expect(sandbox.emit({ type: "esim.foo", data: {} })).rejects.toThrow(/addEventType/);
    expect(sandbox.faults.list()).toEqual([]);

    await sandbox.addEventType("esim.foo");
    await using endpoint = await startEndpoint();
    await register(sandbox, endpoint.url);
    sandbox.faults.add({ kind: "duplicate", eventType: "esim.foo" });
    for (const call of ["POST /auth/token", "DELETE /management/webhooks/{webhookEndpointReference}"])
      sandbox.faults.dropNextAnswer(call);
    expect(await sandbox.emit({ type: "esim.foo", data: {} })).toHaveLength(1);
    await sandbox.retireEventType("esim.foo"); // the endpoint keeps the subscription
    expect(await sandbox.emit({ type: "esim.foo", data: {} })).toEqual([]);
  });

  it("says after close that the sandbox is closed", async () => {
    const sandbox = await startSandbox({ clock: "manual" });
    const esim = await sandbox.orderEsim();
    await sandbox.close();
    const calls = [
      () => sandbox.orderEsim(),
      () => sandbox.esim(esim.esimReference),
      () => esim.install(),
      () => sandbox.advance("1s"),
      () => sandbox.replay(),
      () => sandbox.reset(),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({
        code: "closed",
        message: "This sandbox is closed. Start another one.",
      });
  });

  it("finds an eSIM that was ordered elsewhere, and shows what became of it", async () => {
    await using sandbox = await startSandbox();
    const { data } = await call(sandbox, "POST", "/esims", { esimVariant: "premium" });
    const esim = await sandbox.esim(String(data["esimReference"]));
    await esim.portIn.create({
      msisdn: "32470123456",
      details: { donorContractType: "postpaid", donorAccountNumber: "12345" },
    });
    await esim.portIn.reject({ code: "wrong_account", message: "The donor does not know it." });
    await esim.credit(500);
    expect(await esim.debit(200)).toMatchObject({
      ...data,
      balance: 300,
      portIn: { status: "rejected", reason: { code: "wrong_account" } },
    });
    const { packages } = await esim.orderPackage("PLAN-EU");
    expect(packages).toMatchObject([{ planReference: "PLAN-EU", status: "active" }]);
    expect((await esim.suspend()).packages).toMatchObject([{ status: "ended" }]);
  });

  it("keeps its state in files that only their owner can read", async () => {
    const data = mkdtempSync(join(tmpdir(), "esim-webhooks-sandbox-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    writeFileSync(join(data, "sandbox.db"), "", { mode: 0o644 });
    await using sandbox = await startSandbox({ data });
    await sandbox.addClient();
    const modes = readdirSync(data).map((name) => [name, statSync(join(data, name)).mode & 0o777]);
    expect(Object.fromEntries(modes)).toEqual({ "sandbox.db": 0o600, "sandbox.db-wal": 0o600 });
  });

  it("goes on where the clock was, when it is started again with its folder", async () => {
    const data = join(mkdtempSync(join(tmpdir(), "esim-webhooks-sandbox-")), "state");
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    await using endpoint = await startEndpoint((n) => (n === 1 ? 500 : 200));
    const first = await startSandbox({ data, clock: "manual" });
    await register(first, endpoint.url);
    await first.orderEsim();
    await first.advance("20s");
    await first.close();
    await using second = await startSandbox({ data, clock: "manual" });
    await second.advance("9s");
    expect(endpoint.got).toHaveLength(1);
    await second.advance("1s");
    expect(endpoint.got).toHaveLength(2);
    expect(endpoint.got[0]?.headers["webhook-id"]).toBe(endpoint.got[1]?.headers["webhook-id"]);
  });
});
