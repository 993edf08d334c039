import { type ApiClient, ApiError } from "@esim-webhooks/client";
import { type KeyStore, WebhookError } from "@esim-webhooks/core";
import { rotateSecret } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { ensureEndpoint } from "../../src/ensure/ensure-endpoint.ts";
import { memoryKeys, secretsOf } from "../ensure/service.ts";
import { type MemoryService, memoryService } from "./memory-service.ts";

/** The lines of one level, each with when it was logged. */
function linesOf(level: "info" | "warn", clock: { now(): number }) {
  const lines: { readonly atMs: number; readonly message: string }[] = [];
  const log = (_: object, message: string) => void lines.push({ atMs: clock.now(), message });
  return { lines, logger: loggerWith({ [level]: log }) };
}

/** The API, with another `rotateSecret`. */
function calling(
  { withCalls }: MemoryService,
  rotateSecret: ApiClient["webhooks"]["rotateSecret"],
): ApiClient {
  return withCalls({ rotateSecret });
}

/** The error of a client that was answered 409 with `Retry-After` at each attempt. */
const inFlight = (idempotencyKey: string | undefined) =>
  new ApiError("in_flight", "the service answered 409 after 6 attempts.", "error.idempotencyKey", {
    where: "webhooks.rotateSecret",
    attempts: 6,
    idempotencyKey,
  });

describe("while the new key cannot be stored", () => {
  it.each(["rejects", "answers that another program has written"])(
    "a warning about every 30 seconds says why, that receivers answer 503, and what to fix: the key store %s",
    async (how) => {
      const world = memoryService();
      const { clock } = world;
      const { lines, logger } = linesOf("warn", clock);
      const startMs = clock.now();
      const keys: KeyStore = {
        ...world.keys,
        async write(record, version) {
          const isSecret = (record.change as { step?: string } | undefined)?.step === "stored";
          if (!isSecret || clock.now() - startMs > 100_000) return world.keys.write(record, version);
          if (how !== "rejects") return false;
          throw new WebhookError("store_unavailable", "The disk is full.", "Free some space.");
        },
      };
      const options = { clock, logger, checkReceivers: false, overlapMs: 60_000 };
      await rotateSecret(world.api, world.endpoint, keys, options);
      const warnings = lines.filter(({ message }) => message.includes("not stored yet"));
      const [first, ...others] = warnings.map(({ atMs }) => Math.round((atMs - startMs) / 1000));
      expect(first).toBeLessThanOrEqual(1);
      expect(others).toEqual([30, 60, 90].map((second) => second + (first ?? 0)));
      const why = how === "rejects" ? "The disk is full. Free some space." : "accepted no write";
      for (const { message } of warnings) {
        expect(message).toContain(why);
        expect(message).toMatch(
          /receivers answer 503 .* Fix the key store: storing the secret is tried again/,
        );
      }
    },
  );

  it("a write that another program outran once is no warning", async () => {
    const world = memoryService();
    const { clock } = world;
    const { lines, logger } = linesOf("warn", clock);
    let refusals = 1;
    const keys: KeyStore = {
      ...world.keys,
      async write(record, version) {
        const isSecret = (record.change as { step?: string } | undefined)?.step === "stored";
        return isSecret && refusals-- > 0 ? false : world.keys.write(record, version);
      },
    };
    await rotateSecret(world.api, world.endpoint, keys, { clock, logger, checkReceivers: false });
    expect(lines).toEqual([]);
  });

  it("keeps trying for minutes to store the new secret, and says what to do when it cannot", async () => {
    const world = memoryService();
    const away = new WebhookError("store_unavailable", "The database is down.", "Check it.");
    let downFor = 0;
    const keys: KeyStore = {
      ...world.keys,
      async read() {
        downFor -= 1;
        if (downFor >= 0) throw away;
        return world.keys.read();
      },
    };
    const goesDown = (reads: number) =>
      calling(world, async (reference, options) => {
        const made = await world.api.webhooks.rotateSecret(reference, options);
        downFor = reads;
        return made;
      });
    const options = { clock: world.clock, checkReceivers: false };
    await rotateSecret(goesDown(120), world.endpoint, keys, options);
    expect(secretsOf(world.keys.record)).toEqual([world.secret()]);
    await expect(rotateSecret(goesDown(100_000), world.endpoint, keys, options)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/^The new secret could not be stored\. .* run this again soon/),
      cause: away,
    });
  });

  it("keeps trying to store the new secret after any error of the key store's own program", async () => {
    const world = memoryService();
    let failures = 3;
    const throttled: KeyStore = {
      ...world.keys,
      async write(record, version) {
        const { step } = (record.change ?? {}) as { step?: string };
        if (step === "stored" && failures-- > 0) throw new Error("Rate exceeded");
        return world.keys.write(record, version);
      },
    };
    const options = { clock: world.clock, checkReceivers: false };
    await rotateSecret(world.api, world.endpoint, throttled, options);
    expect(secretsOf(world.keys.record)).toEqual([world.secret()]);
    failures = 100_000;
    await expect(rotateSecret(world.api, world.endpoint, throttled, options)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/^The new secret could not be stored\. Rate exceeded/),
    });
  });

  it("tries to store the new secret for four minutes of the clock, even if each try takes long", async () => {
    const world = memoryService();
    const { clock } = world;
    let tries = 0;
    const slow: KeyStore = {
      ...world.keys,
      async write(record, version) {
        if ((record.change as { step?: string })?.step !== "stored") return world.keys.write(record, version);
        tries += 1;
        await clock.wait(59_000);
        throw new WebhookError("store_unavailable", "The database did not answer.", "Check it.");
      },
    };
    const options = { clock, checkReceivers: false };
    await expect(rotateSecret(world.api, world.endpoint, slow, options)).rejects.toMatchObject({
      code: "store_unavailable",
    });
    expect(tries).toBeGreaterThanOrEqual(4);
    expect(tries).toBeLessThanOrEqual(5);
  });

  it("gives up when the key store answers for minutes that another program has written, and pauses between the tries", async () => {
    const world = memoryService();
    let tries = 0;
    const deaf: KeyStore = {
      ...world.keys,
      async write(record, version) {
        if ((record.change as { step?: string })?.step !== "stored") return world.keys.write(record, version);
        tries += 1;
        return false;
      },
    };
    const options = { clock: world.clock, checkReceivers: false };
    await expect(rotateSecret(world.api, world.endpoint, deaf, options)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("The key store accepted no write"),
    });
    expect(tries).toBeLessThanOrEqual(241); // one a second
  });
});

describe("while the service is still working on the first call", () => {
  it("a rotation repeats the call with the same key for minutes, and takes its answer", async () => {
    const world = memoryService();
    const { clock } = world;
    const { lines, logger } = linesOf("info", clock);
    const startMs = clock.now();
    const keys = new Set<string | undefined>();
    const api = calling(world, async (reference, options) => {
      keys.add(options?.idempotencyKey);
      if (clock.now() - startMs < 200_000) throw inFlight(options?.idempotencyKey);
      return world.api.webhooks.rotateSecret(reference, options);
    });
    await rotateSecret(api, world.endpoint, world.keys, { clock, logger, checkReceivers: false });
    expect(keys.size).toBe(1);
    expect(lines.filter(({ message }) => message.includes("still working on the first call"))).toHaveLength(
      1,
    );
    expect(secretsOf(world.keys.record)).toEqual([world.secret()]);
  });

  it("a rotation gives up after four minutes, says what to do, and is continued by the next run", async () => {
    const world = memoryService();
    const { clock } = world;
    const startMs = clock.now();
    const api = calling(world, async (_, options) => {
      throw inFlight(options?.idempotencyKey);
    });
    const failed = await rotateSecret(api, world.endpoint, world.keys, {
      clock,
      checkReceivers: false,
    }).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: "in_flight",
      message: expect.stringMatching(
        /^The rotation is not finished\. webhooks\.rotateSecret: the service has answered for 4 minutes .* Rotate again soon: the next run continues with the same call\./,
      ),
    });
    expect(String(failed)).not.toContain("error.idempotencyKey");
    expect(clock.now() - startMs).toBeGreaterThanOrEqual(240_000);
    expect(clock.now() - startMs).toBeLessThan(300_000);
    expect(await world.rotate()).toMatchObject({ continued: "call" });
  });

  it("a rotation stops when its signal aborts", async () => {
    const world = memoryService();
    const stop = new AbortController();
    const api = calling(world, async (_, options) => {
      stop.abort();
      throw inFlight(options?.idempotencyKey);
    });
    await expect(world.rotate({ signal: stop.signal }, api)).rejects.toMatchObject({ name: "AbortError" });
  });

  it("a rotation keeps receivers answering 503 to the new signature for as long as it waits", async () => {
    const world = memoryService();
    const { clock } = world;
    const leftMs: number[] = [];
    const api = calling(world, async (_, options) => {
      const { rotatingUntil = "" } = (await world.keys.read())?.record ?? {};
      leftMs.push(Date.parse(rotatingUntil) - clock.now());
      throw inFlight(options?.idempotencyKey);
    });
    const run = rotateSecret(api, world.endpoint, world.keys, { clock, checkReceivers: false });
    await expect(run).rejects.toMatchObject({ code: "in_flight" });
    expect(Math.min(...leftMs)).toBeGreaterThan(7 * 60_000 - 1); // the call, its writes and a minute
  });

  it("a registration waits, too, and says what to do when it gives up", async () => {
    const world = memoryService();
    const { clock } = world;
    const create: ApiClient["webhooks"]["create"] = async (_, options) => {
      throw inFlight(options?.idempotencyKey);
    };
    const api = world.withCalls({ create });
    const wish = {
      url: "https://shop.example/new",
      eventTypes: ["esim.enabled"],
      keyStore: memoryKeys(),
      clock,
    };
    const startMs = clock.now();
    await expect(ensureEndpoint(api, wish)).rejects.toMatchObject({
      code: "in_flight",
      message: expect.stringContaining("Run this again in a few minutes"),
    });
    expect(clock.now() - startMs).toBeGreaterThanOrEqual(240_000);
    expect(await ensureEndpoint(world.api, wish)).toMatchObject({ created: true });
  });
});

describe("an endpoint that is deleted while its secret is rotated", () => {
  const gone = (endpoint: string) => ({
    code: "endpoint_unknown",
    endpoint,
    message: expect.stringMatching(
      /^The endpoint ".*" was deleted, so its rotation was ended\. There is nothing left to rotate\./,
    ),
  });

  it("ends the rotation when the service answers the call with 404", async () => {
    const world = memoryService();
    const api = calling(world, async (reference, options) => {
      await world.api.webhooks.delete(reference);
      return world.api.webhooks.rotateSecret(reference, options);
    });
    const run = rotateSecret(api, world.endpoint, world.keys, {
      clock: world.clock,
      checkReceivers: false,
    });
    await expect(run).rejects.toMatchObject(gone(world.endpoint));
    expect((await world.keys.read())?.record).toEqual({ keys: [expect.any(String)] });
  });

  it("ends the rotation when the new key is stored: its keys end, and the key store is free", async () => {
    const world = memoryService();
    const api = calling(world, async (reference, options) => {
      const made = await world.api.webhooks.rotateSecret(reference, options);
      await world.api.webhooks.delete(reference);
      return made;
    });
    const run = rotateSecret(api, world.endpoint, world.keys, {
      clock: world.clock,
      checkReceivers: false,
    });
    await expect(run).rejects.toMatchObject(gone(world.endpoint));
    const { keys = [], change } = (await world.keys.read())?.record ?? {};
    expect(change).toBeUndefined();
    expect(keys).toEqual([
      expect.objectContaining({ notAfter: expect.any(String) }),
      expect.objectContaining({ endpoint: world.endpoint, notAfter: expect.any(String) }),
    ]);
  });

  it("is not taken for deleted by a 404 while the service lists it", async () => {
    const world = memoryService();
    const api = calling(world, async () => {
      throw new ApiError("not_found", "the service answered 404.", "Check the references.", {
        where: "webhooks.rotateSecret",
      });
    });
    const run = rotateSecret(api, world.endpoint, world.keys, {
      clock: world.clock,
      checkReceivers: false,
    });
    await expect(run).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("Check the references. Rotate again soon"),
    });
    expect((await world.keys.read())?.record.change).toMatchObject({ step: "call" });
  });
});
