import { type RedisClient, redisState, redisStore } from "@esim-webhooks/store-redis";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const key = { source: "default", id: "msg_1" };

/** A client whose server answers on request, with `noeviction` and with 1 for each key. */
function slowClient() {
  let hold: Promise<void> | undefined;
  const client: RedisClient = {
    config: vi.fn(async () => {
      await hold;
      return ["maxmemory-policy", "noeviction"];
    }),
    eval: async () => [1],
    evalsha: vi.fn(async (_sha1, keys) => {
      await hold;
      return Array(keys).fill(1);
    }),
    pipeline: () => {
      throw new Error("not used");
    },
  };
  return {
    client,
    /** From now on, answers only once the returned function was called. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      hold = promise;
      return resolve;
    },
  };
}

describe("an operation before which redisStore or redisState reads the eviction policy again", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const operations = [
    [
      "claim",
      (client: RedisClient) => {
        const store = redisStore(client, { timeoutMs: 1000 });
        return { ready: store.ready, begin: async () => store.claim(key, 30_000) };
      },
    ],
    [
      "write",
      (client: RedisClient) => {
        const state = redisState(client, { timeoutMs: 1000 });
        return { ready: state.ready, begin: async () => state.write("watermark", 1, undefined) };
      },
    ],
  ] as const;

  /** A ready store or state whose server holds the policy back that the next operation reads. */
  async function holdingPolicy(open: (typeof operations)[number][1]) {
    const { client, hold } = slowClient();
    const { ready, begin } = open(client);
    await ready?.();
    vi.advanceTimersByTime(10_000);
    vi.mocked(client.evalsha).mockClear();
    return { client, hold, begin, readPolicy: hold() };
  }

  it.each(operations)("has one time limit for both: %s", async (_, open) => {
    const { client, hold, begin, readPolicy } = await holdingPolicy(open);
    let refused: unknown;
    const begun = begin().catch((error: unknown) => {
      refused = error;
    });
    await vi.advanceTimersByTimeAsync(600);
    hold();
    readPolicy();
    await expect.poll(() => vi.mocked(client.evalsha).mock.calls.length).toBe(1);
    await vi.advanceTimersByTimeAsync(600);
    await new Promise(setImmediate);
    expect(refused).toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("within 1000 ms"),
    });
    await begun;
  });

  it.each(operations)("is not sent when reading the policy took the whole limit: %s", async (_, open) => {
    const { client, begin, readPolicy } = await holdingPolicy(open);
    const begun = begin().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await begun).toMatchObject({ code: "store_unavailable" });
    readPolicy();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(client.evalsha).not.toHaveBeenCalled();
  });
});

describe("redisStore with a client that answers a script with no list", () => {
  it("rejects with store_unavailable, and says in its cause what was expected", async () => {
    const { client } = slowClient();
    const store = redisStore(client);
    await store.ready();
    vi.mocked(client.evalsha).mockResolvedValue("OK");
    await expect(store.claim(key, 30_000)).rejects.toMatchObject({
      name: "WebhookError",
      code: "store_unavailable",
      cause: { message: expect.stringContaining("list of 1, one for each key") },
    });
  });
});
