import {
  createReceiver,
  type DedupeStore,
  type KeySource,
  memoryStore,
  WebhookError,
  webhookHandler,
} from "@esim-webhooks/core";
import { readinessHandler } from "@esim-webhooks/core/health";
import { memoryInbox, newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it, vi } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { keptLog } from "../../../../test/support/kept-log.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";

const secret = newSecret();
const delivery = () => signedDelivery(secret);

/** A store that answers as `ready` does. */
const storeWith = (ready: () => Promise<void>): DedupeStore => ({ ...memoryStore(), ready });

describe("readinessHandler", () => {
  it("answers 200 with the names of its checks while the keys are loaded and the inbox answers, to fetch and over HTTP", async () => {
    const inbox = memoryInbox();
    const ready = readinessHandler({ receiver: createReceiver(inbox, { secret }), inbox });
    const expected = { ok: true, checks: ["receiver", "inbox"].map((name) => ({ name, ok: true })) };
    const server = await listen(
      (request, response) => void ready.node(request, response),
      "/readyz",
      async () => {},
    );
    try {
      for (const response of [await ready(new Request("http://a/readyz")), await fetch(server.url)]) {
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe("application/json");
        expect(response.headers.get("cache-control")).toBe("no-store");
        expect(await response.json()).toEqual(expected);
      }
    } finally {
      await server.close();
    }
    expect(await ready.check()).toEqual(expected);
  });

  it("answers 503 with the code alone, and gives what is wrong and how to fix it as data", async () => {
    const store = storeWith(async () => {
      throw new WebhookError<string>("migration_missing", "The tables are of version 2.", "Run migrate().");
    });
    const ready = readinessHandler({ store });
    const response = await ready();
    expect([response.status, await response.json()]).toEqual([
      503,
      { ok: false, checks: [{ name: "store", ok: false, code: "migration_missing" }] },
    ]);
    const { checks } = await ready.check();
    expect(checks).toMatchObject([{ problem: "The tables are of version 2.", remedy: "Run migrate()." }]);
  });

  it("shows nothing of an error that is not ours but in the log", async () => {
    const logger = keptLog();
    const err = new Error("no answer of redis://me:hidden@cache");
    const ready = readinessHandler({ store: storeWith(() => Promise.reject(err)), logger });
    expect(await (await ready()).json()).toMatchObject({ checks: [{ name: "store", code: "check_failed" }] });
    expect(JSON.stringify(await ready.check())).not.toContain("hidden");
    expect(logger.warn.mock.calls).toEqual([
      [{ probe: "readiness", check: "store", code: "check_failed", err }, expect.any(String)],
    ]);
  });

  it("is not ready until its key source has been loaded, and loads it again although no delivery arrives", async () => {
    const load = vi.fn<KeySource["load"]>(async () => [secret]);
    load.mockRejectedValueOnce(new Error("denied")).mockRejectedValueOnce(new Error("denied"));
    const receiver = createReceiver({ "*": () => {} }, { secret: { load }, store: memoryStore() });
    const ready = readinessHandler({ receiver });
    expect((await ready.check()).checks).toMatchObject([{ name: "receiver", code: "keys_unavailable" }]);
    expect(load).toHaveBeenCalledTimes(2);
    expect(await ready.check()).toMatchObject({ ok: true });
  });

  it("is not ready while a key source does not answer, and is so within the time limit", async () => {
    const loaded = Promise.withResolvers<readonly string[]>();
    const receiver = createReceiver({ "*": () => {} }, { secret: { load: () => loaded.promise } });
    expect(await readinessHandler({ receiver, timeoutMs: 10 }).check()).toMatchObject({
      ok: false,
      checks: [{ code: "keys_unavailable", problem: expect.stringContaining("within 10 ms") }],
    });
    loaded.resolve([secret]);
    expect(await readinessHandler({ receiver }).check()).toMatchObject({ ok: true });
  });

  it("is not ready without a secret, and is once it is set", async () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", "");
    const receiver = webhookHandler({ "*": () => {} });
    const ready = readinessHandler({ receiver });
    expect((await ready.check()).checks).toMatchObject([{ code: "missing_secret" }]);
    vi.stubEnv("ESIM_WEBHOOK_SECRET", secret);
    expect(await ready.check()).toMatchObject({ ok: true });
    vi.unstubAllEnvs();
  });

  it("is not ready as soon as its receiver closes, while what was accepted ends, and logs no warning of that", async () => {
    const logger = keptLog();
    const handled = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const handlers = {
      "*": () => {
        begun.resolve();
        return handled.promise;
      },
    };
    const receiver = createReceiver(handlers, { secret, store: memoryStore() });
    const ready = readinessHandler({ receiver, logger });
    expect(await ready.check()).toMatchObject({ ok: true });
    const received = receiver.receive(delivery());
    await begun.promise;
    const closed = receiver.close();
    expect((await ready.check()).checks).toMatchObject([{ name: "receiver", code: "shutting_down" }]);
    handled.resolve();
    expect((await received).status).toBe(200);
    await closed;
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it("is not ready as soon as the signal to stop aborts", async () => {
    const stop = new AbortController();
    const ready = readinessHandler({ inbox: memoryInbox(), signal: stop.signal });
    expect(await ready.check()).toMatchObject({ ok: true });
    stop.abort();
    expect((await ready.check()).checks).toMatchObject([
      { name: "process", code: "shutting_down" },
      { name: "inbox", ok: true },
    ]);
  });

  it("asks a store that hangs once for any number of probes, and is ready again once it answers", async () => {
    const answered = Promise.withResolvers<void>();
    const asked = vi.fn(() => answered.promise);
    const ready = readinessHandler({ store: storeWith(asked), timeoutMs: 10 });
    for (let round = 0; round < 3; round += 1) {
      const health = await Promise.all(Array.from({ length: 50 }, () => ready.check()));
      for (const { checks } of health) expect(checks).toMatchObject([{ code: "store_unavailable" }]);
    }
    expect(asked).toHaveBeenCalledOnce();
    answered.resolve();
    expect(await ready.check()).toMatchObject({ ok: true });
    expect(asked).toHaveBeenCalledOnce();
  });

  it("keeps the answer of a store for a second", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const asked = vi.fn(async () => {});
      const ready = readinessHandler({ store: storeWith(asked) });
      await ready.check();
      vi.advanceTimersByTime(999);
      await ready.check();
      expect(asked).toHaveBeenCalledTimes(1);
      vi.advanceTimersByTime(1);
      await ready.check();
      expect(asked).toHaveBeenCalledTimes(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("logs when a check begins to fail, for another reason too, and when it passes again", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const logger = keptLog();
      const answers = ["store_unavailable", "store_unavailable", "store_full", undefined, undefined];
      const store = storeWith(async () => {
        const code = answers.shift();
        if (code !== undefined) throw new WebhookError<string>(code, "It is so.", "Fix it.");
      });
      const ready = readinessHandler({ store, logger });
      for (let n = 0; n < 5; n += 1) {
        await ready.check();
        vi.advanceTimersByTime(1000);
      }
      const lines = [...logger.warn.mock.calls, ...logger.info.mock.calls];
      expect(lines.map(([{ check, code }, text]) => [check, code, text])).toEqual([
        ["store", "store_unavailable", "It is so. Fix it."],
        ["store", "store_full", "It is so. Fix it."],
        ["store", "store_full", "A health check passes again."],
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("names several receivers by their place in the list, and is ready when all are", async () => {
    const [eu, us] = ["eu", "us"].map((source) =>
      createReceiver({ "*": () => {} }, { secret, source, store: memoryStore() }),
    ) as [ReturnType<typeof createReceiver>, ReturnType<typeof createReceiver>];
    const ready = readinessHandler({ receiver: [eu, us] });
    expect(await ready.check()).toMatchObject({ ok: true });
    await us.close();
    expect((await ready.check()).checks).toMatchObject([
      { name: "receiver_1", ok: true },
      { name: "receiver_2", ok: false },
    ]);
  });

  it("takes a memoryStore, which is always there", async () => {
    expect(await readinessHandler({ store: memoryStore() }).check()).toMatchObject({ ok: true });
  });

  it.each([
    [{}, /there is nothing to check.*Pass what it works with: \{ receiver, inbox \}/],
    [{ inbox: {} }, /"inbox": expected an inbox or a dedupe store/],
    [{ receiver: {} }, /"receiver": /],
    [{ reciever: {} }, /there is no option "reciever". Did you mean "receiver"\?/],
  ])("refuses the options %o", (options, message) => {
    expect(() => readinessHandler(options as object)).toThrow(
      expect.objectContaining({ code: "invalid_option", message: expect.stringMatching(message) }),
    );
  });
});
