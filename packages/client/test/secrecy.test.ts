import { inspect } from "node:util";
import { type ApiError, type CallMessage, type Fetch, observeCalls } from "@esim-webhooks/client";
import { describe, expect, it } from "vitest";
import { loggerTo } from "../../../test/support/loggers.ts";
import type { Step } from "./script-service.ts";
import { scriptedClient } from "./scripted-client.ts";

const personal = "Ada Lovelace +32470123456";
const order = { externalProfileId: personal };
const print = (value: unknown) =>
  `${inspect(value, { depth: 9, showHidden: false })} ${JSON.stringify(value)} ${value}`;

describe("no error, log line or message has a body, a token or a secret", () => {
  const answers: readonly Step[] = [
    ...[400, 401, 403, 404, 409, 422, 423, 429, 500, 302].map((answer) => ({
      answer,
      body: JSON.stringify({ title: "No", detail: personal, sent: personal }),
    })),
    { answer: 200, body: `<html>${personal}` },
    { answer: 200, body: `{"data":"${personal}` },
    { answer: "drop" },
    { answer: "cut" },
    { answer: "hang" },
  ];

  it.each(answers)("after $answer $body", async (step) => {
    const lines: unknown[] = [];
    const log = (...line: unknown[]) => void lines.push(line);
    const messages: CallMessage[] = [];
    const stop = observeCalls((message) => void messages.push(message));
    const logger = loggerTo(log);
    const { api, clock } = scriptedClient(
      Array.from({ length: 9 }, () => step),
      { logger },
    );
    const error = await clock.run(api.esims.order(order).catch((thrown: ApiError) => thrown));
    stop();
    expect(messages.length).toBeGreaterThan(0);
    expect(lines.length).toBeGreaterThan(0);
    for (const printed of [error, lines, messages, api].map(print)) {
      expect(printed).not.toMatch(/Lovelace|32470|token-1|s3cr3t/);
    }
  });
});

describe("the client secret and the token", () => {
  const clientSecret = 's3cr3t/of+ours: "é"';
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const repeated = (token: string) => [
    clientSecret,
    JSON.stringify({ client_secret: clientSecret }),
    new URLSearchParams({ client_secret: clientSecret }).toString(),
    `?client_secret=${encodeURIComponent(clientSecret)}`,
    `?client_secret=${encodeURIComponent(clientSecret).replace(/%../g, (byte) => byte.toLowerCase())}`,
    `Authorization: Basic ${base64(`123456:${clientSecret}`)}`,
    base64(clientSecret),
    `Authorization: Bearer ${token}`,
  ];
  const problemOf = (token: string) => {
    const [title, ...rest] = repeated(token);
    return { title: `${title} ${token}`, detail: rest.join("; "), sent: { [clientSecret]: [token] } };
  };

  /** What a client shows of a service that gives `token` once, and refuses everything else as `refuse` does. */
  async function shownBy(token: string | undefined, refuse: () => Response): Promise<string> {
    const lines: unknown[] = [];
    const log = (...line: unknown[]) => void lines.push(line);
    const logger = loggerTo(log);
    const tokens = [token].filter((one) => one !== undefined);
    const fetch: Fetch = async (url) => {
      const next = url.endsWith("/auth/token") ? tokens.shift() : undefined;
      return next === undefined ? refuse() : Response.json({ access_token: next, expires_in: 60 });
    };
    const { api, clock } = scriptedClient([], { clientSecret, fetch, logger });
    const get = () => clock.run(api.client.get().catch((thrown: ApiError) => thrown));
    const failed = await get();
    await clock.run(clock.wait(55_000, new AbortController().signal));
    const errors = [failed, await get()] as ApiError[]; // the second one renews the token meanwhile
    const causes = errors.flatMap(({ problemDetails, cause }) => [
      problemDetails,
      cause,
      (cause as ApiError)?.problemDetails,
    ]);
    return print([errors, causes, lines]);
  }

  it.each([
    ["the token endpoint", undefined],
    ["another call", "token/of+ours"],
  ])("are hidden in what %s answers about them", async (_, token) => {
    const refusal = () => Response.json(problemOf(token ?? "none"), { status: 400 });
    const shown = await shownBy(token, refusal);
    expect(shown).toMatch(/•••/);
    for (const text of [
      clientSecret,
      "s3cr3t",
      "of+ours",
      "of%2Bours",
      ...[clientSecret, `123456:${clientSecret}`].map((one) => base64(one).slice(0, 20)),
    ]) {
      expect(shown).not.toContain(text);
    }
  });

  it("are hidden in an error of the transport", async () => {
    const shown = await shownBy("token/of+ours", () => {
      throw new TypeError("Bearer token/of+ours is an invalid header value", {
        cause: new Error(clientSecret),
      });
    });
    expect(shown).toContain("Bearer ••• is an invalid header value");
    expect(shown).not.toMatch(/s3cr3t|of\+ours/);
  });

  it("are hidden in a problem that is nested very deeply", async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    const problem = `{"title":${JSON.stringify(clientSecret)},"errors":${deep}}`;
    expect(await shownBy(undefined, () => new Response(problem, { status: 400 }))).not.toContain("s3cr3t");
  });
});

describe("a signing secret", () => {
  const endpoint = {
    webhookEndpointReference: "abc",
    url: "https://receiver.test",
    eventTypes: ["esim.faulted"],
    description: null,
    active: true,
    createdAt: "2026-11-20T09:00:00Z",
    updatedAt: "2026-11-20T09:00:00Z",
    newField: 1,
  };
  const signingSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

  it("is there when it is asked for, and a fingerprint wherever the endpoint is printed or copied", async () => {
    const body = JSON.stringify({ data: { ...endpoint, signingSecret } });
    const { api, clock } = scriptedClient([{ answer: 201, body }]);
    const created = await clock.run(
      api.webhooks.create({ url: endpoint.url, eventTypes: endpoint.eventTypes }),
    );
    expect(created.signingSecret).toBe(signingSecret);
    expect(created).toMatchObject(endpoint); // unknown fields are kept
    expect(print(created)).toMatch(/signingSecret: 'key:[0-9a-f]{8}'.*"signingSecret":"key:[0-9a-f]{8}"/s);
    expect(print(created) + print({ ...created })).not.toContain(signingSecret);
  });

  it("that an answer does not show is an error that says how to get one", async () => {
    for (const data of [endpoint, { ...endpoint, signingSecret: null }]) {
      const { api, clock } = scriptedClient([{ answer: 200, body: JSON.stringify({ data }) }]);
      const call = clock.run(api.webhooks.rotateSecret("abc"));
      await expect(call).rejects.toMatchObject({
        code: "secret_not_shown",
        status: 200,
        attempts: 1,
        idempotencyKey: expect.any(String),
        message: expect.stringMatching(/^webhooks\.rotateSecret: .*webhooks\.rotateSecret\("abc"\)/),
      });
    }
  });
});
