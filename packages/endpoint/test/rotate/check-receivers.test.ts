import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { KeyStore } from "@esim-webhooks/core";
import { silentLogger } from "@esim-webhooks/core/internal";
import { expect, it, onTestFinished, vi } from "vitest";
import { answerEndlessly, listen } from "../../../../test/listen.ts";
import { checkReceivers, holdOffAndCheck } from "../../src/rotate/check-receivers.ts";
import { fastClock } from "../fast-clock.ts";

it.each([
  ["me:hunter2", "me:hunter2"],
  ["m%C3%A9:a%40b", "mé:a@b"],
  ["me", "me:"],
])(
  "asks receivers behind a proxy with the user and password of the endpoint's URL: %s",
  async (part, user) => {
    const authorization = `Basic ${Buffer.from(user).toString("base64")}`;
    const answers = async (_: unknown, response: ServerResponse) => {
      const isUser = response.req.headers.authorization === authorization;
      response.writeHead(isUser ? 503 : 401).end(JSON.stringify({ code: isUser ? "rotating" : "no_user" }));
    };
    const server = await listen(answers, "/webhooks?shop=1", async () => {});
    onTestFinished(() => server.close());
    const info = vi.fn();
    const settings = {
      clock: fastClock(),
      signal: new AbortController().signal,
      logger: { ...silentLogger, info },
    };
    await checkReceivers(server.url.replace("http://", `http://${part}@`), settings);
    expect(info).toHaveBeenCalledWith({}, "Receivers read the key store.");
  },
);

it("refuses to rotate when one of the receivers behind a load balancer does not read the key store", async () => {
  let posts = 0;
  const answers = async (_: unknown, response: ServerResponse) => {
    posts += 1;
    response.writeHead(posts === 3 ? 401 : 503).end(JSON.stringify({ code: "rotating" }));
  };
  const server = await listen(answers, "/webhooks", async () => {});
  onTestFinished(() => server.close());
  const settings = { clock: fastClock(), signal: new AbortController().signal, logger: silentLogger };
  await expect(checkReceivers(server.url, settings)).rejects.toMatchObject({
    code: "receivers_not_ready",
    option: "checkReceivers",
    problem: expect.stringMatching(
      /^1 of 5 deliveries .* were answered 401: a receiver does not read this key store/,
    ),
  });
});

it.each([
  [20_000, undefined],
  [-20_000, undefined],
  [undefined, undefined],
  [40_000, /receiver and of this machine are 40 s apart.* The secret was not replaced/],
  [-40_000, /receiver and of this machine are 40 s apart.* The secret was not replaced/],
])("accepts only clocks that are less than 30 s apart, or not known: %s ms", async (aheadMs, problem) => {
  const nowMs = Date.parse("2026-11-20T12:00:00Z");
  const posts: IncomingHttpHeaders[] = [];
  const answers = async ({ headers }: IncomingMessage, response: ServerResponse) => {
    posts.push(headers);
    response.sendDate = false;
    if (aheadMs !== undefined) response.setHeader("date", new Date(nowMs + aheadMs).toUTCString());
    response.writeHead(503).end(JSON.stringify({ code: "rotating" }));
  };
  const server = await listen(answers, "/webhooks", async () => {});
  onTestFinished(() => server.close());
  const clock = { ...fastClock(), now: () => nowMs };
  const settings = { clock, signal: new AbortController().signal, logger: silentLogger };
  const checked = checkReceivers(server.url, settings);
  if (problem === undefined) await checked;
  else
    await expect(checked).rejects.toMatchObject({
      code: "receivers_not_ready",
      problem: expect.stringMatching(problem),
    });
  expect(new Set(posts.map((headers) => headers["webhook-id"])).size).toBe(5); // so that none is a duplicate
  expect(posts[0]).not.toHaveProperty("authorization");
});

it("stops when its signal aborts, though a receiver does not answer", async () => {
  const stop = new AbortController();
  const server = await listen(
    () => stop.abort(),
    "/webhooks",
    async () => {},
  );
  onTestFinished(() => server.close());
  const settings = { clock: fastClock(), signal: stop.signal, logger: silentLogger };
  await expect(checkReceivers(server.url, settings)).rejects.toThrow(/abort/);
});

it("reads the beginning of an endless answer, which is not that of a receiver", async () => {
  const server = await listen(answerEndlessly, "/webhooks", async () => {});
  onTestFinished(() => server.close());
  const warn = vi.fn();
  await checkReceivers(server.url, {
    clock: fastClock(),
    signal: new AbortController().signal,
    logger: { ...silentLogger, warn },
  });
  expect(warn).toHaveBeenCalledWith(
    { answers: Array(5).fill(200) },
    expect.stringMatching(/^Nothing shows that all receivers .* not every post/),
  );
});

it.each([
  [undefined, /^Another process has changed the keys while the receivers were checked\./],
  [{ kind: "rotate", endpoint: "other" }, /^A rotation of the endpoint other has begun/],
])(
  "says that the keys were changed during the check, and not that a rotation is gone which never began: %o",
  async (change, problem) => {
    const server = await listen(
      (_, response) => void response.writeHead(404).end(),
      "/webhooks",
      async () => {},
    );
    onTestFinished(() => server.close());
    const records = [
      { keys: [], change: { kind: "ensure" } },
      { keys: [], ...(change && { change }) },
    ];
    const keyStore = {
      read: async () => ({ record: records.shift(), version: "1" }),
    } as unknown as KeyStore;
    const settings = { clock: fastClock(), signal: new AbortController().signal, logger: silentLogger };
    await expect(holdOffAndCheck(keyStore, server.url, settings)).rejects.toMatchObject({
      code: "change_under_way",
      problem: expect.stringMatching(problem),
    });
  },
);
