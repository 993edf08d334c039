import type { IncomingHttpHeaders, RequestListener, ServerResponse } from "node:http";
import { type KeyStore, WebhookError } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { answerEndlessly, listen } from "../../../../test/listen.ts";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { checkReceivers, holdOffAndCheck } from "../../src/rotate/check-receivers.ts";
import { type MemoryKeys, memoryKeys } from "../ensure/service.ts";
import { skippingClock } from "./memory-service.ts";

const nowMs = Date.parse("2026-11-20T12:00:00Z");
const timeIn = (ms: number) => new Date(nowMs + ms).toISOString();

/** A server that answers so, and the settings of a check that finds it at `nowMs`. */
async function receiver(answers: RequestListener, stop = new AbortController()) {
  const server = await listen(answers, "/webhooks?shop=1", async () => {});
  onTestFinished(() => server.close());
  const logged: unknown[] = [];
  const logger = loggerTo((fields, message, level) => logged.push([level, fields, message]));
  const clock = { ...skippingClock(), now: () => nowMs };
  return { url: server.url, logged, settings: { clock, signal: stop.signal, logger } };
}

/** Answers as a receiver does, which holds off an unknown signature, or refuses it. */
function answer(response: ServerResponse, holdsOff: boolean, aheadMs = 0): void {
  response.setHeader("date", new Date(nowMs + aheadMs).toUTCString());
  response.writeHead(holdsOff ? 503 : 401).end(JSON.stringify({ code: holdsOff ? "rotating" : "refused" }));
}

/** A receiver that reads this key store. */
const reading =
  (keys: MemoryKeys): RequestListener =>
  (_, response) =>
    answer(response, Date.parse(keys.record?.rotatingUntil ?? "") > nowMs);

const readIt = ["info", {}, "Receivers read the key store."];
const notShown = expect.stringMatching(/^Nothing shows that all receivers .* not every post/);

it.each([
  ["me:hunter2", "me:hunter2"],
  ["m%C3%A9:a%40b", "mé:a@b"],
  ["me", "me:"],
  [":hunter2", ":hunter2"],
])(
  "asks receivers behind a proxy with the user and password of the endpoint's URL: %s",
  async (part, user) => {
    const authorization = `Basic ${Buffer.from(user).toString("base64")}`;
    const { url, logged, settings } = await receiver(({ headers }, response) =>
      answer(response, headers.authorization === authorization),
    );
    await checkReceivers(url.replace("http://", `http://${part}@`), settings);
    expect(logged).toEqual([readIt]);
  },
);

it("posts deliveries with unknown signatures, of which none is a duplicate, to the endpoint's URL", async () => {
  const posts: { readonly line: string; readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const { url, settings } = await receiver(async (request, response) => {
    const line = `${request.method} ${request.url}`;
    posts.push({ line, headers: request.headers, body: (await request.toArray()).join("") });
    answer(response, true);
  });
  await checkReceivers(url, settings);
  const header = (name: string) => new Set(posts.map(({ headers }) => headers[name]));
  for (const { line, headers, body } of posts) {
    expect([line, body]).toEqual(["POST /webhooks?shop=1", "{}"]);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": expect.stringMatching(/^check-./),
      "webhook-timestamp": String(nowMs / 1000),
      "webhook-signature": expect.stringMatching(/^v1,[\w+/]{43}=$/),
    });
    expect(headers).not.toHaveProperty("authorization");
  }
  expect(header("webhook-id").size).toBe(5);
  expect(header("webhook-signature").size).toBe(5);
});

it("refuses to rotate when one of the receivers behind a load balancer does not read the key store", async () => {
  let posts = 0;
  const { url, settings } = await receiver((_, response) => {
    posts += 1;
    answer(response, posts !== 3, posts === 3 ? 40_000 : 0);
  });
  await expect(checkReceivers(url, settings)).rejects.toMatchObject({
    code: "receivers_not_ready",
    option: "checkReceivers",
    message: expect.stringMatching(
      /^1 of 5 deliveries .* were answered 401: a receiver does not read this key store.* The secret was not replaced\. .*not ESIM_WEBHOOK_SECRET \(/,
    ),
  });
});

it.each([
  [[20_000], undefined],
  [[-30_000], undefined],
  [[undefined], undefined],
  [[40_000], /receiver and of this machine are 40 s apart.* The secret was not replaced/],
  [[-40_000], /receiver and of this machine are 40 s apart.* The secret was not replaced/],
  [[undefined, 0, 31_000, -50_000], /are 50 s apart/],
])("accepts only clocks that are at most 30 s apart, or not known: %o ms", async (aheadMs, problem) => {
  let posts = 0;
  const { url, logged, settings } = await receiver((_, response) => {
    const ms = aheadMs[posts++ % aheadMs.length];
    response.sendDate = false;
    if (ms === undefined) response.writeHead(503).end(JSON.stringify({ code: "rotating" }));
    else answer(response, true, ms);
  });
  const checked = checkReceivers(url, settings);
  if (problem === undefined) {
    await checked;
    expect(logged).toEqual([readIt]);
  } else {
    await expect(checked).rejects.toMatchObject({
      ...{ code: "receivers_not_ready", option: undefined },
      message: expect.stringMatching(problem),
    });
  }
});

it("stops when its signal aborts, though a receiver does not answer: nothing is written", async () => {
  const keys = memoryKeys({ keys: [] });
  const before = keys.record;
  for (const check of [checkReceivers, holdOffAndCheck.bind(undefined, keys)]) {
    const stop = new AbortController();
    const { url, settings } = await receiver(() => stop.abort(), stop);
    await expect(check(url, settings)).rejects.toThrow(/abort/);
  }
  expect(keys.record).toBe(before);
});

it.each<[string, RequestListener, number]>([
  ["that is endless", answerEndlessly, 200],
  ["of a redirect", (_, response) => void response.writeHead(307, { location: "/" }).end(), 307],
  ["without JSON", (_, response) => void response.writeHead(503).end("rotating"), 503],
  ["with no object", (_, response) => void response.writeHead(503).end("null"), 503],
  ["of another kind", (_, response) => void response.writeHead(503).end('{"code":"busy"}'), 503],
])(
  "only warns of an answer that is not that of a receiver, or of its clock: %s",
  async (_, other, status) => {
    const { url, logged, settings } = await receiver((request, response) => {
      if (request.method !== "POST") return answer(response, true);
      response.setHeader("date", new Date(nowMs + 90_000).toUTCString());
      return other(request, response);
    });
    await checkReceivers(url, settings);
    expect(logged).toEqual([["warn", { answers: Array(5).fill(status) }, notShown]]);
  },
);

it("only warns if nothing can be reached from here", async () => {
  const { logged, settings } = await receiver(() => {});
  await holdOffAndCheck(memoryKeys({ keys: [] }), "http://127.0.0.1:9/", settings);
  expect(logged).toEqual([["warn", { answers: Array(5).fill(null) }, notShown]]);
});

it.each([
  [undefined, /^Another process has changed the keys while the receivers were checked\./],
  [{ kind: "rotate", endpoint: "other" }, /^A rotation of the endpoint other has begun/],
])(
  "says that the keys were changed during the check, and not that a rotation is gone which never began: %o",
  async (change, problem) => {
    const { url, settings } = await receiver((_, response) => void response.writeHead(404).end());
    const records = [
      { keys: [], change: { kind: "ensure" } },
      { keys: [], ...(change && { change }) },
    ];
    const keyStore = {
      read: async () => ({ record: records.shift(), version: "1" }),
    } as unknown as KeyStore;
    await expect(holdOffAndCheck(keyStore, url, settings)).rejects.toMatchObject({
      code: "change_under_way",
      problem: expect.stringMatching(problem),
    });
  },
);

it.each([
  ["none", {}],
  ["one that has ended", { rotatingUntil: timeIn(0) }],
  ["one that has not ended", { rotatingUntil: timeIn(1000) }],
])("receivers that read the key store keep holding off, if it had %s before", async (_, before) => {
  const keys = memoryKeys({ keys: [newSecret()], ...before });
  const { url, logged, settings } = await receiver(reading(keys));
  await holdOffAndCheck(keys, url, settings);
  expect(keys.record).toEqual({ keys: keys.record?.keys, rotatingUntil: timeIn(600_000) });
  expect(logged).toEqual([readIt]);
});

const theirs = timeIn(300_000);
it.each<[string, string | undefined, "lost" | "down" | "theirs" | undefined, string | undefined]>([
  ["none", undefined, undefined, undefined],
  ["the one before", timeIn(60_000), undefined, timeIn(60_000)],
  ["none, if the answer of the write was lost", undefined, "lost", undefined],
  ["the one before, if the answer of the write was lost", timeIn(60_000), "lost", timeIn(60_000)],
  ["that of another process", undefined, "theirs", theirs],
  ["its own, which ends by itself, if the key store is down", undefined, "down", timeIn(600_000)],
])("receivers that refuse are found, and the hold-off is then %s", async (_, before, how, after) => {
  const keys = memoryKeys({ keys: [newSecret()], ...(before && { rotatingUntil: before }) });
  const { url, logged, settings } = await receiver((_request, response) => answer(response, false));
  let writes = 0;
  const write: KeyStore["write"] = async (record, version) => {
    writes += 1;
    if (writes > 1 && how === "down") throw new Error("The disk is full.");
    const written = await keys.write(record, version);
    if (writes > 1) return written;
    if (how === "lost") throw new WebhookError("store_unavailable", "The store is down.", "Wait.");
    if (how === "theirs") keys.record = { keys: [], rotatingUntil: theirs };
    return written;
  };
  const store = { load: keys.load, read: keys.read, write };
  await expect(holdOffAndCheck(store, url, settings)).rejects.toMatchObject({ code: "receivers_not_ready" });
  expect(keys.record?.rotatingUntil).toBe(after);
  expect(keys.record).not.toHaveProperty("change");
  expect(logged).toEqual([]);
});

it.each([
  ["none", {}, true],
  ["one that has ended", { rotatingUntil: timeIn(0) }, true],
  ["one that has not ended", { rotatingUntil: timeIn(1000) }, false],
])(
  "a receiver that holds off before the check reads another key store, unless this one has a hold-off: %s",
  async (_, before, isRefused) => {
    const keys = memoryKeys({ keys: [newSecret()], ...before });
    const { record } = keys;
    const { url, settings } = await receiver((_request, response) => answer(response, true));
    const check = holdOffAndCheck(keys, url, settings);
    if (!isRefused) return check;
    await expect(check).rejects.toMatchObject({
      code: "receivers_not_ready",
      message: expect.stringMatching(
        /^A receiver already answers 503 .* The secret was not replaced\. Have all/,
      ),
    });
    expect(keys.record).toBe(record);
  },
);
