import {
  createReceiver,
  type EndpointLookup,
  type FoundEndpoint,
  type ReceiverOptions,
  WebhookError,
} from "@esim-webhooks/core";
import { observe, type ReceiveMessage } from "@esim-webhooks/core/observe";
import { memoryInbox, newSecret } from "@esim-webhooks/core/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";

const startedAt = Date.parse("2026-11-20T12:00:00Z");

/** A receiver of many endpoints on a clock of the test, what its lookup was asked, and what it has logged. */
function receiving(endpoints: EndpointLookup, options: ReceiverOptions = {}) {
  const time = { now: startedAt };
  const asked: string[] = [];
  const sources: string[] = [];
  const lines: Record<string, unknown>[] = [];
  const log = (fields: Record<string, unknown>) => void lines.push(fields);
  const logger = loggerTo(log);
  const receiver = createReceiver(
    { "*": (_event, { source }) => void sources.push(source) },
    {
      endpoints: (path) => {
        asked.push(path);
        return endpoints(path);
      },
      clock: { now: () => time.now },
      logger,
      ...options,
    },
  );
  const receive = async (path: string, secret: string, id?: string) => {
    const { method, headers, body } = signedDelivery(
      secret,
      { ...(id !== undefined && { id }), type: "esim.assigned" },
      { at: new Date(time.now) },
    );
    const { outcome } = await receiver.receive({ method, headers, body, path });
    return outcome.code;
  };
  return { receiver, receive, asked, sources, lines, time };
}

/** Endpoints by path, each with a secret of its own. They can be changed. */
function table(...sources: string[]) {
  const secrets = new Map(sources.map((source) => [source, newSecret()]));
  const found = new Map<string, FoundEndpoint | null | Error>(
    [...secrets].map(([source, secret]) => [`/${source}`, { source, secret }]),
  );
  const endpoints: EndpointLookup = async (path) => {
    const answer = found.get(path);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { endpoints, found, secretOf: (source: string) => secrets.get(source) as string };
}

/** A lookup whose answers the test gives, by path. */
function held() {
  const waiting = new Map<string, (answer: FoundEndpoint | null) => void>();
  const endpoints: EndpointLookup = (path) =>
    new Promise((resolve) => {
      waiting.set(path, resolve);
    });
  return { endpoints, waiting };
}

describe("the deliveries of one endpoint", () => {
  it("are accepted at its own path alone, in every combination of paths and secrets", async () => {
    const names = ["a", "b", "c", "d"];
    const attempt = fc.record({ at: fc.constantFrom(...names), signedFor: fc.constantFrom(...names) });
    const attempts = fc.array(attempt, { minLength: 1, maxLength: 30 });
    const check = async (given: readonly { at: string; signedFor: string }[]) => {
      const { endpoints, secretOf } = table(...names);
      const { receive, sources } = receiving(endpoints);
      const outcomes = await Promise.all(
        given.map(({ at, signedFor }) => receive(`/${at}`, secretOf(signedFor))),
      );
      const isOwn = ({ at, signedFor }: (typeof given)[number]) => at === signedFor;
      expect(outcomes).toEqual(given.map((one) => (isOwn(one) ? "processed" : "no_matching_key")));
      expect(sources.sort()).toEqual(
        given
          .filter(isOwn)
          .map(({ at }) => at)
          .sort(),
      );
    };
    // side by side, since a key that does not match waits a second for the next load
    const many = fc.array(attempts, { minLength: 100, maxLength: 100 });
    await fc.assert(
      fc.asyncProperty(many, async (runs) => void (await Promise.all(runs.map(check)))),
      { numRuns: 1 },
    );
  });

  it("never verify with the secret of the environment", async () => {
    const ofEnvironment = newSecret();
    vi.stubEnv("ESIM_WEBHOOK_SECRET", ofEnvironment);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { endpoints, found } = table("a");
    found.set("/none", { source: "none" } as unknown as FoundEndpoint);
    found.set("/empty", { source: "empty", secret: [] });
    const { receive } = receiving(endpoints);
    expect(await receive("/a", ofEnvironment)).toBe("no_matching_key");
    expect(await receive("/none", ofEnvironment)).toBe("keys_unavailable");
    expect(await receive("/empty", ofEnvironment)).toBe("keys_unavailable");
  });

  it("have their source in the log and in messages, which those of unknown endpoints lack", async () => {
    const messages: ReceiveMessage[] = [];
    onTestFinished(observe({ receive: (message) => void messages.push(message) }));
    const { endpoints, secretOf } = table("a");
    const { receive, lines } = receiving(endpoints);
    await receive("/a", secretOf("a"));
    await receive("/private-path", secretOf("a"));
    expect(lines).toMatchObject([{ source: "a", outcome: "processed" }, { outcome: "unknown_endpoint" }]);
    expect(messages).toMatchObject([{ source: "a" }, { outcome: "unknown_endpoint" }]);
    expect([lines[1], messages[1]].filter((one) => one && "source" in one)).toEqual([]);
    expect(JSON.stringify(lines)).not.toContain("private-path"); // any client can write it
  });

  it("are warned about when another endpoint has the same source and another secret", async () => {
    const { endpoints, found, secretOf } = table("a", "b");
    found.set("/b", { source: "a", secret: secretOf("b") });
    const { receive, lines } = receiving(endpoints);
    await receive("/a", secretOf("a"));
    await receive("/b", secretOf("b"));
    expect(lines.filter(({ code }) => code === "shared_source")).toHaveLength(1);
  });

  it("are warned about when an endpoint with another source has the same secret", async () => {
    const { endpoints, found, secretOf } = table("a", "b", "c");
    found.set("/b", { source: "b", secret: secretOf("a") });
    const { receive, lines } = receiving(endpoints);
    for (const [path, secret] of [
      ["/a", secretOf("a")],
      ["/c", secretOf("c")],
      ["/b", secretOf("a")],
    ] as const)
      expect(await receive(path, secret)).toBe("processed");
    expect(lines.filter(({ code }) => code === "shared_secret")).toHaveLength(1);
  });
});

describe("forged deliveries to many endpoints", () => {
  it("wait for new keys in a bounded number, 100 for an endpoint and 300 for all, while authentic ones are accepted", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const { endpoints, secretOf } = table(...names);
    const { receive } = receiving(endpoints);
    for (const name of names) expect(await receive(`/${name}`, secretOf(name))).toBe("processed");
    const forged = Array.from({ length: 1000 }, (_, index) =>
      receive(`/${names[index % names.length]}`, newSecret()),
    );
    for (const name of names) expect(await receive(`/${name}`, secretOf(name))).toBe("processed");
    const outcomes = await Promise.all(forged);
    expect(outcomes.filter((outcome) => outcome === "no_matching_key")).toHaveLength(300);
    expect(outcomes.filter((outcome) => outcome === "keys_unavailable")).toHaveLength(700);
    const ofOne = await Promise.all(Array.from({ length: 150 }, () => receive("/a", newSecret())));
    expect(ofOne.filter((outcome) => outcome === "no_matching_key")).toHaveLength(100);
  });

  it("do not keep the first delivery of another endpoint out", async () => {
    const names = ["a", "b", "c"];
    const { endpoints, found, secretOf } = table(...names, "new", "newer");
    found.set("/newer", { source: "newer", secret: { load: async () => [secretOf("newer")] } });
    const { receive } = receiving(endpoints);
    for (const name of names) expect(await receive(`/${name}`, secretOf(name))).toBe("processed");
    const forged = Array.from({ length: 300 }, (_, index) => receive(`/${names[index % 3]}`, newSecret()));
    expect(await receive("/new", secretOf("new"))).toBe("processed");
    expect(await receive("/newer", secretOf("newer"))).toBe("processed");
    expect(new Set(await Promise.all(forged))).toEqual(new Set(["no_matching_key"]));
  });
});

describe("a lookup", () => {
  it("is one call for concurrent deliveries to the same path", async () => {
    const { endpoints, waiting } = held();
    const { receive, asked } = receiving(endpoints);
    const secret = newSecret();
    const outcomes = Array.from({ length: 300 }, () => receive("/a", secret));
    await expect.poll(() => waiting.size).toBe(1);
    waiting.get("/a")?.({ source: "a", secret });
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["processed"]));
    expect(asked).toEqual(["/a"]);
  });

  it("of a new path is answered 503 while 100 others are under way, and endpoints that are known are served", async () => {
    const { endpoints, waiting } = held();
    const { receive, asked } = receiving(endpoints);
    const secret = newSecret();
    const known = receive("/known", secret);
    await expect.poll(() => waiting.size).toBe(1);
    waiting.get("/known")?.({ source: "known", secret });
    expect(await known).toBe("processed");

    const flood = Array.from({ length: 1000 }, (_, index) => receive(`/flood-${index}`, secret));
    expect(await receive("/one-more", secret)).toBe("keys_unavailable");
    expect(await receive("/known", secret)).toBe("processed");
    expect(asked).toHaveLength(101);
    for (const [path, answer] of waiting) if (path !== "/known") answer(null);
    const outcomes = await Promise.all(flood);
    expect(outcomes.filter((outcome) => outcome === "unknown_endpoint")).toHaveLength(100);
    expect(outcomes.filter((outcome) => outcome === "keys_unavailable")).toHaveLength(900);
    const next = receive("/one-more", secret);
    await expect.poll(() => [...waiting.keys()]).toContain("/one-more");
    waiting.get("/one-more")?.({ source: "more", secret });
    expect(await next).toBe("processed");
  });

  it("that takes more than 5 s is answered 503, and its place is free again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { endpoints } = held();
    const { receive, asked, lines } = receiving(endpoints);
    for (const round of [1, 2]) {
      const outcomes = Array.from({ length: 100 }, (_, index) => receive(`/${round}-${index}`, newSecret()));
      await expect.poll(() => asked.length).toBe(100 * round);
      await vi.advanceTimersByTimeAsync(5000);
      expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["keys_unavailable"]));
    }
    const [line] = lines.filter(({ code }) => code === "endpoint_lookup_failed");
    expect(String(line?.["err"])).toContain("more than 5000 ms");
  });

  it("that failed is not remembered", async () => {
    const { endpoints, found, secretOf } = table("a");
    const endpoint = found.get("/a") as FoundEndpoint;
    found.set("/a", new Error("the database is down"));
    const { receive, lines } = receiving(endpoints);
    expect(await receive("/a", secretOf("a"))).toBe("keys_unavailable");
    expect(lines).toContainEqual({ code: "endpoint_lookup_failed", err: new Error("the database is down") });
    found.set("/a", endpoint);
    expect(await receive("/a", secretOf("a"))).toBe("processed");
  });

  it.each<[string, object, RegExp]>([
    [
      "no source",
      { secret: newSecret() },
      /has no source of 1 to 255 characters, without a NUL or half of a surrogate pair\. Return \{ source, secret \}/,
    ],
    ["a source with a NUL", { source: "a\0", secret: newSecret() }, /has no source of 1 to 255/],
    ["half a surrogate pair", { source: "a\ud800", secret: newSecret() }, /has no source of 1 to 255/],
    ["a long source", { source: "s".repeat(256), secret: newSecret() }, /has no source of 1 to 255/],
    ["no secret", { source: "a" }, /has no secret\. Return .* let it throw: deliveries are answered 503/],
    ["half a secret", { source: "a", secret: "whsec_abc" }, /signing secret/],
    ["a key source without keys", { source: "a", secret: { load: async () => undefined } }, /has no secret/],
  ])(
    "that finds an endpoint with %s is answered 503, and logged with what to return",
    async (_, answer, text) => {
      const { receive, lines } = receiving(() => answer as FoundEndpoint);
      expect(await receive("/a", newSecret())).toBe("keys_unavailable");
      const [line] = lines.filter(({ code }) => code === "endpoint_lookup_failed");
      expect(String(line?.["err"])).toMatch(text);
    },
  );

  it("is not begun for a path of more than 1,024 characters", async () => {
    const { endpoints } = table();
    const { receive, asked } = receiving(endpoints);
    expect(await receive(`/${"a".repeat(1024)}`, newSecret())).toBe("endpoint_unconfirmed");
    expect(asked).toEqual([]);
    expect(await receive(`/${"a".repeat(1023)}`, newSecret())).toBe("unknown_endpoint");
    expect(asked).toHaveLength(1);
  });
});

describe("a path without an endpoint", () => {
  it("is looked up again 10 s later, and immediately when the clock was set back", async () => {
    const { endpoints } = table();
    const { receive, asked, time } = receiving(endpoints);
    const after = async (ms: number) => {
      time.now += ms;
      return [await receive("/later", newSecret()), asked.length];
    };
    expect([await after(0), await after(9_999), await after(1), await after(-3_600_000)]).toEqual([
      ["unknown_endpoint", 1],
      ["endpoint_unconfirmed", 1],
      ["unknown_endpoint", 2],
      ["unknown_endpoint", 3],
    ]);
  });

  it("that a stranger asked for before it was added gets no final answer until it is looked up again", async () => {
    const { endpoints, found } = table();
    const { receive, time } = receiving(endpoints);
    const secret = newSecret();
    expect(await receive("/new", newSecret())).toBe("unknown_endpoint");
    found.set("/new", { source: "new", secret });
    expect(await receive("/new", secret)).toBe("endpoint_unconfirmed");
    time.now += 10_000;
    expect(await receive("/new", secret)).toBe("processed");
  });

  it("is final only for the delivery whose lookup began after it arrived", async () => {
    const { endpoints, waiting } = held();
    const { receive, asked } = receiving(endpoints);
    const stranger = receive("/new", newSecret());
    await expect.poll(() => waiting.size).toBe(1);
    const authentic = receive("/new", newSecret()); // the row was added after the lookup had read the table
    waiting.get("/new")?.(null);
    expect(await stranger).toBe("unknown_endpoint");
    expect(await authentic).toBe("endpoint_unconfirmed");
    expect(asked).toHaveLength(1);
  });

  it("is remembered among 1,000, the oldest of which is forgotten first", async () => {
    const { endpoints } = table();
    const { receive, asked } = receiving(endpoints);
    for (let index = 0; index <= 1000; index += 1) await receive(`/${index}`, newSecret());
    expect(asked).toHaveLength(1001);
    await receive("/1", newSecret());
    await receive("/1000", newSecret());
    expect(asked).toHaveLength(1001);
    await receive("/0", newSecret());
    expect(asked).toHaveLength(1002);
  });
});

describe("an endpoint that is cached", () => {
  it("is one of 10,000, and the one that was used least recently is looked up again", async () => {
    vi.useFakeTimers({ toFake: ["performance"] }); // none becomes old
    onTestFinished(() => void vi.useRealTimers());
    const secret = newSecret();
    const { receive, asked } = receiving((path) => ({ source: path, secret }));
    for (let index = 0; index < 10_000; index += 1) await receive(`/${index}`, secret, `msg_${index}`);
    await receive("/0", secret); // so 1 is the one that was used least recently
    await receive("/new", secret);
    expect(asked).toHaveLength(10_001);
    await receive("/0", secret);
    expect(asked).toHaveLength(10_001);
    await receive("/1", secret);
    expect(asked.slice(10_001)).toEqual(["/1"]);
  });
});

describe("an endpoint that changes", () => {
  afterEach(() => void vi.useRealTimers());

  /** Endpoints `a` and `b`, which were both accepted. Time goes on by `advance`. */
  async function accepted() {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { endpoints, found, secretOf } = table("a", "b");
    const server = receiving(endpoints);
    for (const source of ["a", "b"])
      expect(await server.receive(`/${source}`, secretOf(source))).toBe("processed");
    return { ...server, found, secretOf, advance: (ms: number) => vi.advanceTimersByTime(ms) };
  }

  it("has its new secret accepted with the first delivery, without a change of others", async () => {
    const { receive, found, secretOf, asked } = await accepted();
    const fresh = newSecret();
    found.set("/a", { source: "a", secret: fresh });
    expect(await receive("/a", fresh)).toBe("processed");
    expect(await receive("/a", secretOf("a"))).toBe("no_matching_key");
    expect(await receive("/b", fresh)).toBe("no_matching_key");
    expect(await receive("/b", secretOf("b"))).toBe("processed");
    expect(asked.filter((path) => path === "/a").length).toBeGreaterThan(1);
  });

  it("has the rotation that its key source reports", async () => {
    const { endpoints, found, secretOf } = table("a");
    const rotatingUntil = new Date(startedAt + 60_000);
    found.set("/a", { source: "a", secret: { load: async () => ({ keys: secretOf("a"), rotatingUntil }) } });
    const { receive, time } = receiving(endpoints);
    expect(await receive("/a", secretOf("a"))).toBe("processed");
    expect(await receive("/a", newSecret())).toBe("rotating");
    time.now += 60_000;
    expect(await receive("/a", newSecret())).toBe("no_matching_key");
  });

  it("is asked for again after a minute, and when it was removed, the deliveries after that get 503, and 404 once a lookup 5 s later confirms it", async () => {
    const { receive, found, secretOf, asked, lines, advance } = await accepted();
    found.delete("/a");
    expect(await receive("/a", secretOf("a"))).toBe("processed");
    advance(60_001);
    expect(await receive("/a", secretOf("a"))).toBe("processed"); // as with a key source, in the background
    await expect.poll(() => asked.length).toBe(3);
    await expect.poll(() => receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed");
    expect(asked).toHaveLength(3); // for a second
    advance(4_000);
    expect(await receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed");
    expect(asked).toHaveLength(4);
    advance(1001);
    expect(await receive("/a", secretOf("a"))).toBe("unknown_endpoint");
    expect(await receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed");
    expect(asked).toHaveLength(5);
    expect(await receive("/b", secretOf("b"))).toBe("processed");
    expect(lines.filter(({ code }) => code === "endpoint_missing")).toMatchObject([{ source: "a" }]);
  });

  it("is served again a second after one empty answer, as of a replica that lags, and no delivery gets 404", async () => {
    const { receive, found, secretOf, advance } = await accepted();
    found.set("/a", null);
    advance(120_001);
    expect(await receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed");
    found.set("/a", { source: "a", secret: secretOf("a") });
    expect(await receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed");
    advance(1000);
    expect(await receive("/a", secretOf("a"))).toBe("processed");
    found.set("/a", null);
    advance(120_001);
    expect(await receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed"); // the first empty answer again
  });

  it("needs one empty answer an hour after it was last known", async () => {
    const { receive, found, secretOf, advance } = await accepted();
    found.set("/a", null);
    advance(120_001);
    expect(await receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed");
    advance(3_600_000);
    expect(await receive("/a", secretOf("a"))).toBe("unknown_endpoint");
  });

  it("is asked for before a delivery is accepted after two minutes without one, and when it was removed, that is not accepted", async () => {
    const { receive, found, secretOf, sources, advance } = await accepted();
    found.set("/a", null);
    advance(120_001);
    expect(await receive("/a", secretOf("a"))).toBe("endpoint_unconfirmed");
    expect(await receive("/b", secretOf("b"))).toBe("processed");
    expect(sources).toEqual(["a", "b", "b"]);
  });

  it("accepts nothing under its old source once it has another one", async () => {
    const { receive, found, secretOf, sources, advance } = await accepted();
    found.set("/a", { source: "a2", secret: secretOf("a") });
    advance(120_001);
    expect(await receive("/a", secretOf("a"))).toBe("keys_unavailable"); // the sender tries again
    expect(await receive("/a", secretOf("a"))).toBe("processed");
    expect(sources).toEqual(["a", "b", "a2"]);
  });

  it("keeps its keys while it cannot be asked for, which is logged with its source", async () => {
    const { receive, found, secretOf, lines, advance } = await accepted();
    found.set("/a", new Error("the database is down"));
    advance(120_001);
    expect(await receive("/a", secretOf("a"))).toBe("processed");
    expect(lines).toContainEqual(
      expect.objectContaining({
        code: "key_source_failed",
        source: "a",
        err: new Error("the database is down"),
      }),
    );
  });
});

describe("a receiver of many endpoints", () => {
  it("is ready until it closes, although a lookup fails", async () => {
    const { endpoints, found } = table();
    found.set("/a", new Error("down"));
    const { receiver, receive } = receiving(endpoints);
    await receiver.ready();
    expect(await receive("/a", newSecret())).toBe("keys_unavailable");
    await receiver.ready();
    await receiver.close();
    await expect(receiver.ready()).rejects.toMatchObject({ code: "shutting_down" });
    expect(await receive("/a", newSecret())).toBe("shutting_down");
  });

  it("waits at its close for deliveries whose endpoint is being looked up", async () => {
    const { endpoints, waiting } = held();
    const { receiver, receive } = receiving(endpoints);
    const secret = newSecret();
    const outcome = receive("/a", secret);
    await expect.poll(() => waiting.size).toBe(1);
    let isClosed = false;
    const closed = receiver.close().then(() => {
      isClosed = true;
    });
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    waiting.get("/a")?.({ source: "a", secret });
    expect(await outcome).toBe("processed");
    await closed;
  });

  it.each([
    [{ secret: newSecret() }, /there are "endpoints" and also a "secret", .* Leave "secret" out, and return/],
    [{ source: "a" }, /also a "source"/],
  ])("takes no %j next to its endpoints", (options, text) => {
    const create = () => createReceiver({}, { endpoints: () => null, ...options });
    expect(create).toThrow(WebhookError);
    expect(create).toThrow(text);
  });

  it("takes no list in place of the function", () => {
    const endpoints = [{ source: "a" }] as unknown as EndpointLookup;
    expect(() => createReceiver({}, { endpoints })).toThrow(/"endpoints": expected a function of the path/);
  });

  it("answers 500 when an adapter passes no path, and logs what to pass", async () => {
    const { receiver, lines } = receiving(() => null);
    const { method, headers, body } = signedDelivery(newSecret(), { type: "esim.assigned" });
    expect((await receiver.receive({ method, headers, body })).status).toBe(500);
    expect(String(lines[0]?.["err"])).toContain("the delivery has no path. Pass the path below the route");
  });

  it("stores into an inbox under the source of each endpoint", async () => {
    const { endpoints, secretOf } = table("a", "b");
    const inbox = memoryInbox();
    const receiver = createReceiver(inbox, { endpoints });
    for (const source of ["a", "b"]) {
      const { method, headers, body } = signedDelivery(secretOf(source), {
        id: "msg_1",
        type: "esim.assigned",
      });
      expect((await receiver.receive({ method, headers, body, path: `/${source}` })).status).toBe(202);
      expect(await inbox.get({ source, id: "msg_1" })).toMatchObject({ source });
    }
  });
});
