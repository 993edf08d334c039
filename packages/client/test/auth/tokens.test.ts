import {
  createClient,
  type Fetch,
  type Limiter,
  type Token,
  type TokenExchange,
} from "@esim-webhooks/client";
import { describe, expect, it, vi } from "vitest";
import { fakeClock } from "../fake-clock.ts";
import { credentials, scriptedClient } from "../scripted-client.ts";

const daySeconds = 24 * 60 * 60;
const tokenOf = (headers: Headers | undefined) => headers?.get("authorization");

describe("one token", () => {
  it("is fetched once for a hundred callers, at the first call", async () => {
    const { api, clock, service } = scriptedClient();
    expect(service.tokens).toBe(0);
    await clock.run(Promise.all(Array.from({ length: 100 }, () => api.request("GET", "/"))));
    expect(service.tokens).toBe(1);
    expect(new Set(service.seen.map(({ headers }) => tokenOf(headers)))).toEqual(new Set(["Bearer token-1"]));
  });

  it("is renewed before it ends, while calls go on with the old one", async () => {
    const { api, clock, service } = scriptedClient();
    await clock.run(api.request("GET", "/"));
    await clock.run(clock.wait((daySeconds - 6 * 60) * 1000, new AbortController().signal));
    await clock.run(api.request("GET", "/"));
    expect(service.tokens).toBe(1);
    await clock.run(clock.wait(2 * 60 * 1000, new AbortController().signal));
    await clock.run(api.request("GET", "/"));
    expect(tokenOf(service.seen.at(-1)?.headers)).toBe("Bearer token-1");
    expect(service.tokens).toBe(2);
    await clock.run(api.request("GET", "/"));
    expect(service.tokens).toBe(2);
    expect(tokenOf(service.seen.at(-1)?.headers)).toBe("Bearer token-2");
  });

  it("that ends in the middle is replaced once for all calls, and every call succeeds", async () => {
    const { api, clock, service } = scriptedClient([{ answer: 401 }, { answer: 401 }, { answer: 401 }]);
    await clock.run(Promise.all([1, 2, 3].map(() => api.request("POST", "/", {}))));
    expect(service.tokens).toBe(2);
    expect(service.effects).toBe(3);
  });

  it("that ends while a call waits for its slot is not sent", async () => {
    const clock = fakeClock();
    const ends = new Map<string, number>();
    const statuses: number[] = [];
    const fetch: Fetch = async (url, { headers }) => {
      if (url.endsWith("/auth/token")) {
        const token = `token-${ends.size + 1}`;
        ends.set(`Bearer ${token}`, clock.now() + 3000);
        return Response.json({ access_token: token, expires_in: 3 });
      }
      const isValid = clock.now() < (ends.get(tokenOf(new Headers(headers)) ?? "") ?? 0);
      statuses.push(isValid ? 200 : 401);
      return new Response("{}", { status: isValid ? 200 : 401 });
    };
    const api = createClient({ ...credentials, fetch, clock });
    await clock.run(Promise.all(Array.from({ length: 150 }, () => api.request("GET", "/"))));
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it("that ends in the queue and cannot be renewed gives the slot back: nothing was sent", async () => {
    const clock = fakeClock();
    const slot = { answered: vi.fn(), givenUp: vi.fn() };
    const limiter: Limiter = {
      take: (_, signal) => clock.wait(5000, signal).then(() => slot),
      state: () => ({ waiting: 0, inFlight: 0, remaining: undefined, pauseMs: 0 }),
    };
    let exchanges = 0;
    const exchange = async () => {
      if (exchanges++ > 0) throw new Error("down");
      return { accessToken: "short", expiresInSeconds: 3 };
    };
    const { api, service } = scriptedClient([], { clock, limiter, exchange });
    await expect(clock.run(api.request("POST", "/", {}))).rejects.toMatchObject({
      code: "exchange_failed",
      attempts: 0,
    });
    expect(service.seen).toEqual([]);
    expect(slot.answered).toHaveBeenCalledWith();
    expect(slot.givenUp).not.toHaveBeenCalled();
  });

  it("that was renewed by another caller meanwhile is not renewed again for a late 401", async () => {
    const clock = fakeClock();
    let tokens = 0;
    let late = () => {};
    const fetch: Fetch = async (url, { headers }) => {
      if (url.endsWith("/auth/token")) return Response.json({ access_token: `token-${++tokens}` });
      if (tokenOf(new Headers(headers)) === "Bearer token-2") return Response.json({});
      if (url.endsWith("/late")) await new Promise<void>((resolve) => (late = resolve));
      return new Response(null, { status: 401 });
    };
    const api = createClient({ ...credentials, fetch, clock });
    const slow = api.request("GET", "/late");
    await clock.run(api.request("GET", "/"));
    late();
    await clock.run(slow);
    expect(tokens).toBe(2);
  });

  it("is not renewed twice for one call", async () => {
    const { api, clock, service } = scriptedClient([{ answer: 401 }, { answer: 401 }]);
    const call = clock.run(api.request("GET", "/"));
    await expect(call).rejects.toMatchObject({
      code: "unauthorized",
      status: 401,
      attempts: 2,
      retryable: false,
    });
    expect(service.tokens).toBe(2);
  });

  it("is fetched for the others when the caller that asked for it gives up", async () => {
    const { api, clock, service } = scriptedClient();
    const gone = api.request("GET", "/", undefined, { signal: AbortSignal.timeout(0) }).catch(() => {});
    await clock.run(Promise.all([gone, api.request("GET", "/")]));
    expect(service.tokens).toBe(1);
  });
});

describe("the exchange", () => {
  async function exchangeWith(options: { tokenRequest?: "form" | "json" }, answer: object | number) {
    const requests: { type: string | null; body: string }[] = [];
    const fetch: Fetch = async (url, { headers, body }) => {
      if (!url.endsWith("/auth/token")) return Response.json(new Headers(headers).get("authorization"));
      requests.push({ type: new Headers(headers).get("content-type"), body: String(body) });
      return typeof answer === "number" ? new Response(null, { status: answer }) : Response.json(answer);
    };
    const clock = fakeClock();
    const api = createClient({ ...credentials, ...options, fetch, clock });
    const result = await clock.run(api.request("GET", "/").catch((error: unknown) => error));
    return { requests, result };
  }

  it("sends a form by default", async () => {
    const { requests, result } = await exchangeWith({}, { access_token: "abc", expires_in: 60 });
    expect(requests).toEqual([
      {
        type: "application/x-www-form-urlencoded",
        body: "grant_type=client_credentials&client_id=123456&client_secret=s3cr3t-of-ours",
      },
    ]);
    expect(result).toBe("Bearer abc");
  });

  it("sends JSON when it is told to", async () => {
    const { requests } = await exchangeWith({ tokenRequest: "json" }, { access_token: "abc" });
    expect(requests[0]?.type).toBe("application/json");
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
      grant_type: "client_credentials",
      client_id: "123456",
      client_secret: "s3cr3t-of-ours",
    });
  });

  it.each([
    { access_token: "abc" },
    { access_token: "abc", expires_in: null },
    { access_token: "abc", expires_in: "3600", token_type: "bearer" },
    { data: { access_token: "abc", expires_in: 3600 } },
  ])("reads %o", async (answer) => {
    expect((await exchangeWith({}, answer)).result).toBe("Bearer abc");
  });

  it("that is refused says which settings to check, and is not tried again", async () => {
    const { requests, result } = await exchangeWith({}, 401);
    expect(result).toMatchObject({
      code: "wrong_credentials",
      status: 401,
      message: expect.stringContaining("ESIM_CLIENT_SECRET"),
    });
    expect(requests).toHaveLength(1);
  });

  it("that fails for a while is tried again", async () => {
    const { requests, result } = await exchangeWith({}, 503);
    expect(result).toMatchObject({ code: "service_failed" });
    expect(requests).toHaveLength(6);
  });
});

describe("the token endpoint", () => {
  it("is asked at most 30 times a second", async () => {
    const clock = fakeClock();
    const times: number[] = [];
    const fetch: Fetch = async (url) => {
      if (!url.endsWith("/auth/token")) return Response.json({});
      times.push(clock.now());
      return Response.json({ access_token: "abc" });
    };
    const exchange: TokenExchange = async (_request, askService) => {
      const tokens = await Promise.all(Array.from({ length: 90 }, askService));
      return tokens[0] as Token;
    };
    await clock.run(createClient({ ...credentials, fetch, clock, exchange }).request("GET", "/"));
    const counts = times.map((from) => times.filter((at) => at >= from && at < from + 1000).length);
    expect(times).toHaveLength(90);
    expect(Math.max(...counts)).toBe(30);
  });
});

describe("an exchange of one's own", () => {
  it("can share a token between clients, and is told which one was refused", async () => {
    let kept: Token | undefined;
    const refusals: (string | undefined)[] = [];
    const exchange: TokenExchange = async ({ refused }, askService) => {
      refusals.push(refused);
      if (kept === undefined || kept.accessToken === refused) kept = await askService();
      return kept;
    };
    const first = scriptedClient([], { exchange });
    const second = scriptedClient([{ answer: 401 }], { exchange });
    await first.clock.run(first.api.request("GET", "/"));
    await second.clock.run(second.api.request("GET", "/"));
    expect([first.service.tokens, second.service.tokens]).toEqual([1, 1]);
    expect(refusals).toEqual([undefined, undefined, "token-1"]);
  });

  it("needs no credentials", async () => {
    const exchange: TokenExchange = async () => ({ accessToken: "theirs", expiresInSeconds: 60 });
    const { api, clock, service } = scriptedClient([], {
      clientId: undefined,
      clientSecret: undefined,
      exchange,
    });
    await clock.run(api.request("GET", "/"));
    expect(tokenOf(service.seen[0]?.headers)).toBe("Bearer theirs");
  });

  it("that throws fails each call with an error of its own, which has the call's key", async () => {
    const exchange: TokenExchange = () => Promise.reject(new Error("no store"));
    const { api, clock } = scriptedClient([], { exchange });
    const [one, other] = await clock.run(
      Promise.all([1, 2].map(() => api.request("POST", "/", {}).catch((error: unknown) => error))),
    );
    expect(one).toMatchObject({ code: "exchange_failed", attempts: 0, idempotencyKey: expect.any(String) });
    expect(one).not.toBe(other);
  });

  it("that fails does no harm while the old token is valid", async () => {
    let calls = 0;
    const exchange: TokenExchange = async () => {
      calls += 1;
      if (calls > 1) throw new Error("no store");
      return { accessToken: "old", expiresInSeconds: 1000 };
    };
    const { api, clock, service } = scriptedClient([], { exchange });
    await clock.run(api.request("GET", "/"));
    await clock.run(clock.wait(950_000, new AbortController().signal));
    await clock.run(api.request("GET", "/"));
    expect(calls).toBe(2);
    expect(tokenOf(service.seen[1]?.headers)).toBe("Bearer old");
  });

  it("that hangs delays nobody while the old token is valid, and is tried again after the time of a call", async () => {
    let calls = 0;
    const exchange: TokenExchange = async () => {
      calls += 1;
      return calls === 2
        ? new Promise(() => {})
        : { accessToken: `token-${calls}`, expiresInSeconds: daySeconds };
    };
    const { api, clock, service } = scriptedClient([], { exchange });
    const pass = (ms: number) => clock.run(clock.wait(ms, new AbortController().signal));
    await clock.run(api.request("GET", "/"));
    await pass((daySeconds - 290) * 1000);
    const since = clock.now();
    await clock.run(Promise.all([1, 2, 3].map(() => api.request("GET", "/"))));
    expect(clock.now()).toBe(since);
    expect(calls).toBe(2);
    await pass(280_000);
    await clock.run(api.request("GET", "/"));
    await clock.run(api.request("GET", "/"));
    expect(calls).toBe(3);
    expect(tokenOf(service.seen.at(-1)?.headers)).toBe("Bearer token-3");
  });

  it("that hangs without an old token ends with the time of its caller, and the next call asks anew", async () => {
    let calls = 0;
    const exchange: TokenExchange = async () => {
      calls += 1;
      return calls === 1 ? new Promise(() => {}) : { accessToken: "second", expiresInSeconds: 60 };
    };
    const { api, clock, service } = scriptedClient([], { exchange });
    await expect(clock.run(api.request("GET", "/"))).rejects.toMatchObject({
      code: "timed_out",
      attempts: 0,
    });
    await clock.run(api.request("GET", "/"));
    expect(tokenOf(service.seen[0]?.headers)).toBe("Bearer second");
  });

  it("is told of a refused token once, not at every later renewal", async () => {
    const refusals: (string | undefined)[] = [];
    const exchange: TokenExchange = async ({ refused }) => {
      refusals.push(refused);
      return { accessToken: `token-${refusals.length}`, expiresInSeconds: 1000 };
    };
    const { api, clock } = scriptedClient([{ answer: 401 }], { exchange });
    await clock.run(api.request("GET", "/"));
    await clock.run(clock.wait(2_000_000, new AbortController().signal));
    await clock.run(api.request("GET", "/"));
    expect(refusals).toEqual([undefined, "token-1", undefined]);
  });

  it("that fails is not asked again at every call", async () => {
    let calls = 0;
    const exchange: TokenExchange = async () => {
      calls += 1;
      if (calls > 1) throw new Error("no store");
      return { accessToken: "old", expiresInSeconds: 1000 };
    };
    const { api, clock } = scriptedClient([], { exchange });
    await clock.run(api.request("GET", "/"));
    await clock.run(clock.wait(950_000, new AbortController().signal));
    for (let call = 0; call < 5; call++) await clock.run(api.request("GET", "/"));
    expect(calls).toBe(2);
  });

  it.each([
    undefined,
    {},
    { accessToken: "" },
    { accessToken: "a\nb", expiresInSeconds: 1 },
    { accessToken: "a" },
  ])("that resolves to %o fails the call", async (token) => {
    const { api, clock } = scriptedClient([], { exchange: async () => token as Token });
    await expect(clock.run(api.request("GET", "/"))).rejects.toMatchObject({ code: "exchange_failed" });
  });
});
