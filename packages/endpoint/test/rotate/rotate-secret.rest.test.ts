import { readFile, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import {
  createKeyring,
  type KeyRecord,
  type KeyStore,
  type Logger,
  memoryStore,
  nodeHandler,
  type StoredKey,
} from "@esim-webhooks/core";
import { silentLogger } from "@esim-webhooks/core/internal";
import { newSecret } from "@esim-webhooks/core/testing";
import {
  planRotation,
  type RotateOptions,
  type RotationReport,
  reconcile,
  rotateSecret,
} from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { killedAt } from "../ensure/killed-at.ts";
import { memoryKeys } from "../ensure/service.ts";
import { fastClock } from "../fast-clock.ts";
import { startWorld } from "../reconcile/world.ts";
import { reconciledState } from "./memory-service.ts";
import { type Rotating, rotateCall, rotating, rotatingFile } from "./rotating.ts";

expectWarnings("no_matching_key");

const fingerprint = (secret: string) => createKeyring([secret]).keysAt(0)[0]?.fingerprint;

/** A pass that came to its end. */
const donePass = { interrupted: false, dryRun: false };

const endOf = ({ notAfter }: StoredKey) => Date.parse(String(notAfter));

/** Every line that was logged, as text. */
function lines(): Logger & { readonly all: string[] } {
  const all: string[] = [];
  const log = (fields: object, message?: string) => void all.push(`${message} ${JSON.stringify(fields)}`);
  return { ...loggerTo(log), all };
}

/** A clock on which each wait takes until an event was emitted and answered, and half a minute has passed. */
function withTraffic({ sandbox, emit }: Rotating): NonNullable<RotateOptions["clock"]> {
  let skippedMs = 0;
  return {
    now: () => Date.now() + skippedMs,
    async wait() {
      await sandbox.advance("1s");
      await emit();
      skippedMs += 30_000;
    },
  };
}

function secretsIn({ keys }: KeyRecord): string[] {
  return keys.map((key) => (typeof key === "string" ? key : key.secret));
}

async function recordOf(keys: KeyStore): Promise<KeyRecord> {
  const stored = await keys.read();
  if (stored === undefined) throw new Error("There is no record.");
  return stored.record;
}

function minutesAhead(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString();
}

/** A key store of its own, which no receiver reads. */
function copyOf(record: KeyRecord): KeyStore {
  let copy = record;
  return {
    load: async () => copy,
    read: async () => ({ record: copy, version: JSON.stringify(copy) }),
    async write(written) {
      copy = written;
      return true;
    },
  };
}

/** A key store whose successful writes are passed to `onWrite`. */
function watched(keys: KeyStore, onWrite: (record: KeyRecord) => void | Promise<void>): KeyStore {
  return {
    load: () => keys.load(),
    read: () => keys.read(),
    async write(record, version) {
      const written = await keys.write(record, version);
      if (written) await onWrite(record);
      return written;
    },
  };
}

describe.concurrent("rotateSecret", () => {
  it("replaces the secret: events before, during and after it are handled once, and the old key is gone", async () => {
    await using world = await rotatingFile(); // its receiver keeps running
    const [old = ""] = secretsIn(await recordOf(world.keys));
    const before = await world.emit();
    await world.sandbox.advance("1m");
    const logger = lines();
    const report = await world.rotate({ clock: withTraffic(world), checkReceivers: true, logger });
    expect(logger.all[0]).toContain("Receivers read the key store.");
    const after = await world.emit();
    const record = await recordOf(world.keys);
    expect(secretsIn(record)).toHaveLength(1);
    expect(secretsIn(record)).not.toContain(old);
    expect(Object.keys(record)).toEqual(["keys"]);
    expect(report).toMatchObject({
      endpoint: world.endpoint,
      continued: null,
      newKeyUse: { accepted: expect.any(Number), refused: 0 },
      oldKeys: [fingerprint(old)],
      newKey: fingerprint(secretsIn(record)[0] ?? ""),
      otherKeys: [],
      reconciled: null,
    });
    expect(new Set(world.handled).size).toBe(world.handled.length);
    expect(world.handled).toEqual(expect.arrayContaining([before, after]));
  });

  it("has receivers answer 503 between the call and the new key, and gives the old key an end when it stores the new one", async () => {
    await using world = await rotating();
    const seen: KeyRecord[] = [];
    const statuses: number[] = [];
    const keys = watched(world.keys, async (record) => {
      seen.push(record);
      if (seen.length !== 2) return;
      // the call of this rotation, made early: the new signature comes before its key
      const { idempotencyKey } = record.change as { idempotencyKey: string };
      await world.api.webhooks.rotateSecret(world.endpoint, { idempotencyKey });
      await world.emit();
      const { data } = await world.api.webhooks.deliveries(world.endpoint).page();
      statuses.push(data[0]?.httpStatus ?? 0);
    });
    await rotateSecret(world.api, world.endpoint, keys, { clock: fastClock() });
    expect(statuses).toEqual([503]);
    const [checked, begun, stored] = seen;
    expect(Object.keys(checked ?? {})).toEqual(["keys", "rotatingUntil"]);
    expect(Date.parse(begun?.rotatingUntil ?? "") - Date.now()).toBeLessThan(15 * 60_000);
    expect(Date.parse(stored?.rotatingUntil ?? "") - Date.now()).toBeLessThan(2 * 60_000);
    const leftMs = endOf(stored?.keys[0] as StoredKey) - Date.now();
    expect(leftMs).toBeGreaterThan(60_000);
    expect(leftMs).toBeLessThan(5 * 60_000);
    expect(stored?.keys[1]).not.toHaveProperty("notAfter");
    await world.sandbox.advance("30s"); // its second attempt
    expect(world.handled).toHaveLength(1);
  });

  it("calls again with the same key when the answer was lost, so the secret is replaced once", async () => {
    await using world = await rotating();
    await world.sandbox.advance("1m");
    world.sandbox.faults.dropNextAnswer(rotateCall);
    await world.rotate({ clock: withTraffic(world) });
    await world.emit();
    const { data } = await world.api.webhooks.deliveries(world.endpoint, { limit: 100 }).page();
    expect(data.filter(({ status }) => status !== "delivered" && status !== "failed")).toEqual([]);
    expect(data[0]?.status).toBe("delivered");
  });

  it.each(["409", "423"] as const)(
    "waits while its call is in flight (%s), and takes its answer",
    async (inFlight) => {
      await using world = await rotating({ switches: { inFlight } });
      world.sandbox.faults.add({ kind: "error", call: rotateCall, status: Number(inFlight), times: 1 });
      world.sandbox.faults.add({ kind: "error", call: rotateCall, status: 503, done: true, times: 2 });
      const report = await world.rotate().catch(() => world.rotate());
      expect(secretsIn(await recordOf(world.keys)).map(fingerprint)).toEqual([report.newKey]);
    },
  );

  it("continues with the same key when the service was not to be reached, in the next run, too", async () => {
    await using world = await rotating();
    world.sandbox.faults.add({ kind: "drop_answer", call: rotateCall, times: 6 });
    const failed = await world.rotate().catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: expect.stringMatching(/^(connection_lost|unreachable)$/),
      message: expect.stringContaining("Rotate again soon: the next run continues with the same call."),
    });
    const { change } = await recordOf(world.keys);
    expect(change).toMatchObject({ kind: "rotate", step: "call", endpoint: world.endpoint });
    const before = await world.secret();
    const report = await world.rotate();
    expect(await world.secret()).toBe(before); // the kept answer
    expect(report.continued).toBe("call");
    expect(report.oldKeys).toHaveLength(1);
    await world.emit();
    expect(world.handled).toHaveLength(1);
  });

  it.each(["on", "off"] as const)(
    "asks under another idempotency key in the run after three failures of the service, wherever a run was killed, with cacheErrors %s",
    async (cacheErrors) => {
      for (let fatal = 0; ; fatal += 1) {
        await using world = await rotating({ switches: { cacheErrors } });
        world.sandbox.faults.add({ kind: "error", call: rotateCall, status: 500, times: 3 });
        const process = killedAt(fatal, world.api, world.keys);
        const options = { clock: fastClock(), checkReceivers: false };
        const run = rotateSecret(process.api, world.endpoint, process.keyStore, options);
        const ended = await Promise.race([run.catch((error: unknown) => error), process.killed]);
        if (ended === "killed") await world.rotate().catch(() => {}); // the first one that sees the failures
        await world.rotate();
        expect(secretsIn(await recordOf(world.keys))).toEqual([await world.secret()]);
        if (ended === "killed") continue;
        expect(ended).toMatchObject({
          code: "service_failed",
          message: expect.stringContaining(
            "Rotate again soon: the next run asks again, under another idempotency key.",
          ),
        });
        return expect(fatal).toBeGreaterThanOrEqual(5);
      }
    },
  );

  it("replaces the secret again, under another idempotency key, when the answer does not show it", async () => {
    await using world = await rotating({ switches: { replayShowsSecret: "off" } });
    const keys: string[] = [];
    const logger = lines();
    world.sandbox.faults.dropNextAnswer(rotateCall);
    await rotateSecret(
      world.api,
      world.endpoint,
      watched(
        world.keys,
        ({ change }) => void keys.push((change as { idempotencyKey: string })?.idempotencyKey),
      ),
      { clock: fastClock(), logger, checkReceivers: false },
    );
    expect(new Set(keys.filter(Boolean)).size).toBe(2);
    expect(logger.all.join("\n")).toContain("without showing it");
    await world.emit();
    expect(world.handled).toHaveLength(1);
  });

  it.each(["updatedAt", "eventTypes", "webhookEndpointReference"])(
    "takes a secret from an answer without %s, and asks once",
    async (missing) => {
      await using world = await rotating();
      let answers = 0;
      const api = world.answering(({ data }) => {
        answers += 1;
        const { [missing]: _, ...rest } = data;
        return { data: rest };
      });
      const report = await world.rotate({}, api);
      expect(answers).toBe(1);
      expect(secretsIn(await recordOf(world.keys)).map(fingerprint)).toEqual([report.newKey]);
      await world.emit();
      expect(world.handled).toHaveLength(1);
    },
  );

  it("does not replace the secret again when the answer cannot be read: the next run asks with the same key", async () => {
    await using world = await rotating();
    let answers = 0;
    const unlike = world.answering(({ data }) => {
      answers += 1;
      return { endpoint: data };
    });
    await expect(world.rotate({}, unlike)).rejects.toMatchObject({ code: "unexpected_answer" });
    expect(answers).toBe(1);
    expect(await world.rotate()).toMatchObject({ continued: "call" });
    await world.emit();
    expect(world.handled).toHaveLength(1);
  });

  it("stores secrets in the form of the option, and later ones in the form of the one before", async () => {
    await using world = await rotating({ switches: { secretFormat: "custom" } }, (secret) => `hex:${secret}`);
    await world.rotate({ secretForm: "hex" });
    await world.emit();
    await world.rotate();
    await world.emit();
    expect(secretsIn(await recordOf(world.keys))[0]).toMatch(/^hex:[0-9a-f]{64}$/);
    expect(world.handled).toHaveLength(2);
  });

  it("keeps a secret that it cannot read, and the next run takes it with the right form", async () => {
    await using world = await rotating({ switches: { secretFormat: "custom" } }, () => newSecret());
    const logger = lines();
    const failed = await world.rotate({ logger }).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: "invalid_secret",
      message: expect.stringContaining("Rotate again with the option secretForm before"),
    });
    const { change } = await recordOf(world.keys);
    expect(change).toMatchObject({ step: "form", secret: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const { secret } = change as { secret: string };
    const report = await world.rotate({ secretForm: "hex", logger });
    expect(report.continued).toBe("form");
    expect(secretsIn(await recordOf(world.keys))).toEqual([`hex:${secret}`]);
    expect(`${failed}${JSON.stringify([failed, report, logger.all])}`).not.toContain(secret);
    await world.emit();
    expect(world.handled).toHaveLength(1);
  });

  it("says in the log and the report that receivers refuse the new key, when they read other keys", async () => {
    await using world = await rotating();
    const unread = copyOf(await recordOf(world.keys));
    const logger = lines();
    await world.sandbox.advance("1m");
    const report = await rotateSecret(world.api, world.endpoint, unread, {
      clock: withTraffic(world),
      logger,
      checkReceivers: false,
    });
    expect(report.newKeyUse.refused).toBeGreaterThan(0);
    expect(report.newKeyUse.accepted).toBe(0);
    expect(logger.all.filter((line) => line.includes("new_key_refused"))).toHaveLength(1);
  });

  it.each(["as it was", "empty", "half", "gone"])(
    "stores the new secret though another program changes the key file during the call: %s",
    async (how) => {
      await using world = await rotatingFile();
      const file = world.keys.keyFile;
      const before = await readFile(file, "utf8");
      const webhooks: typeof world.api.webhooks = {
        ...world.api.webhooks,
        async rotateSecret(reference, options) {
          const made = await world.api.webhooks.rotateSecret(reference, options);
          const texts: Record<string, string> = { "as it was": before, empty: "", half: '{ "keys": [' };
          if (how === "gone") await rm(file);
          else await writeFile(file, texts[how] ?? "");
          return made;
        },
      };
      const clock = fastClock();
      let waits = 0;
      const restoring = {
        now: clock.now,
        async wait(ms: number, signal: AbortSignal) {
          waits += 1;
          if (waits === 3 && how !== "as it was") await writeFile(file, before, { mode: 0o600 });
          return clock.wait(ms, signal);
        },
      };
      const report = await world.rotate({ clock: restoring }, { webhooks });
      expect(secretsIn(await recordOf(world.keys)).map(fingerprint)).toEqual([report.newKey]);
    },
  );

  it("does not store its secret over a later rotation, when it was stalled since the call", async () => {
    await using world = await rotating();
    const reached = Promise.withResolvers<void>();
    const later = Promise.withResolvers<void>();
    let stalls = 1;
    const stalled: KeyStore = {
      ...world.keys,
      async write(record, version) {
        if ((record.change as { step?: string })?.step === "stored" && stalls-- > 0) {
          reached.resolve();
          await later.promise;
        }
        return world.keys.write(record, version);
      },
    };
    const options = { clock: fastClock(), checkReceivers: false };
    const first = rotateSecret(world.api, world.endpoint, stalled, options).catch((error: unknown) => error);
    await reached.promise;
    await world.rotate(); // finishes it
    const { newKey } = await world.rotate();
    later.resolve();
    expect(await first).toMatchObject({ code: "change_under_way" });
    expect(secretsIn(await recordOf(world.keys)).map(fingerprint)).toEqual([newKey]);
    await world.emit();
    expect(world.handled).toHaveLength(1);
  });

  it("lets a run join a rotation that another one is at: both end well, and the secret is replaced once", async () => {
    await using world = await rotating();
    const clock = fastClock();
    const joined: RotationReport<typeof donePass>[] = [];
    const first = await world.rotate({
      clock,
      state: await reconciledState(world),
      reconcile: async () => {
        joined.push(await world.rotate({ clock }));
        return donePass;
      },
    });
    expect(joined).toMatchObject([{ continued: "stored", newKey: first.newKey }]);
    expect(secretsIn(await recordOf(world.keys)).map(fingerprint)).toEqual([first.newKey]);
  });

  it("lets one of two rotations that begin together continue, and refuses the other with what to do", async () => {
    await using world = await rotating();
    const both = await Promise.allSettled([world.rotate(), world.rotate()]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = both.find(({ status }) => status === "rejected") as PromiseRejectedResult;
    expect(refused.reason).toMatchObject({
      code: "change_under_way",
      message: expect.stringContaining(
        `A rotation of the endpoint ${world.endpoint} has begun and has not ended. Finish it with rotateSecret, as it was begun.`,
      ),
    });
    await world.emit();
    expect(world.handled).toHaveLength(1);
  });

  it("still stores the new key when the key store was down for a while, and when a write's answer was lost", async () => {
    await using world = await rotating();
    let failures = 0;
    const shaky: KeyStore = {
      ...world.keys,
      async write(record, version) {
        failures += 1;
        if (failures % 3 === 0) return world.keys.write(record, version);
        if (failures % 3 === 2) await world.keys.write(record, version);
        throw Object.assign(new Error("away"), {
          code: "store_unavailable",
          [Symbol.for("esim-webhooks.error")]: true,
        });
      },
    };
    const report = await rotateSecret(world.api, world.endpoint, shaky, { clock: fastClock() });
    expect(secretsIn(await recordOf(world.keys)).map(fingerprint)).toEqual([report.newKey]);
    await world.emit();
    expect(world.handled).toHaveLength(1);
  });

  it("shows no secret in its report, its log lines and its errors", async () => {
    await using world = await rotatingFile();
    const logger = lines();
    const old = await readFile(world.keys.keyFile, "utf8");
    const report = await world.rotate({ logger });
    const shown = JSON.stringify([report, logger.all]);
    for (const secret of [...secretsIn(JSON.parse(old)), ...secretsIn(await recordOf(world.keys))]) {
      expect(shown).not.toContain(secret.slice(6, 20));
    }
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  });
});

describe.concurrent("receivers that are not ready", () => {
  /** Nothing was replaced, and nothing is under way. */
  async function expectUntouched(world: Rotating, record: KeyRecord): Promise<void> {
    expect(await recordOf(world.keys)).toEqual(record);
    await world.emit();
    expect(world.handled).toHaveLength(1);
  }

  it("are found before the secret is replaced: those that do not read the key store", async () => {
    await using world = await rotating();
    const record = await recordOf(world.keys);
    const unread = copyOf(record);
    await expect(
      rotateSecret(world.api, world.endpoint, unread, { clock: fastClock() }),
    ).rejects.toMatchObject({
      code: "receivers_not_ready",
      message: expect.stringMatching(
        /^5 of 5 deliveries .* answered 401.* read this key store, not ESIM_WEBHOOK_SECRET .* mount the folder .*set \{ checkReceivers: false \}/,
      ),
    });
    expect(await recordOf(unread)).toEqual(record);
    await expectUntouched(world, record);
  });

  it("are found though another receiver of the same address is ready", async () => {
    await using world = await rotating();
    const record = await recordOf(world.keys);
    const receivers = [world.keys, copyOf(record)].map((secret) =>
      nodeHandler({ "*": () => {} }, { secret, store: memoryStore() }),
    );
    let calls = 0;
    const close = async () => void (await Promise.all(receivers.map((receiver) => receiver.close())));
    const server = await listen((...given) => receivers[calls++ % 2]?.(...given), "/", close);
    const { webhookEndpointReference: reference } = await world.api.webhooks.create({
      url: server.url,
      eventTypes: ["esim.enabled"],
    });
    await expect(
      rotateSecret(world.api, reference, world.keys, { clock: fastClock() }),
    ).rejects.toMatchObject({
      code: "receivers_not_ready",
      message: expect.stringMatching(/^[23] of 5 deliveries/),
    });
    await server.close();
    await expectUntouched(world, record);
  });

  it.each([
    [-11, /answered 401: .* or its clock is more than 10 minutes ahead/],
    [-3, /^The clocks of a receiver and of this machine are 1\d\d s apart/],
    [3, /^The clocks of a receiver and of this machine are 1\d\d s apart/],
  ])("are found by their clocks: this machine's is %i minutes ahead", async (minutes, message) => {
    await using world = await rotating();
    const record = await recordOf(world.keys);
    const { wait } = fastClock();
    const clock = { now: () => Date.now() + minutes * 60_000, wait };
    await expect(world.rotate({ clock, checkReceivers: true })).rejects.toMatchObject({
      code: "receivers_not_ready",
      message: expect.stringMatching(message),
    });
    await expectUntouched(world, record);
  });

  it("are found by the run after a kill, and when the key store is down afterwards", async () => {
    await using world = await rotating();
    const record = await recordOf(world.keys);
    const unread = copyOf(record);
    const killed: KeyStore = {
      ...unread,
      async write(written, version) {
        if (written.rotatingUntil !== undefined) return unread.write(written, version);
        throw new Error("killed");
      },
    };
    for (const keys of [killed, unread]) {
      await expect(
        rotateSecret(world.api, world.endpoint, keys, { clock: fastClock() }),
      ).rejects.toMatchObject({ code: "receivers_not_ready" });
    }
    await expectUntouched(world, record);
  });

  it("are found though the key store that they read holds off unknown signatures for another rotation", async () => {
    await using world = await rotating();
    const record = await recordOf(world.keys);
    const unread = copyOf(record);
    const theirs = { ...record, rotatingUntil: minutesAhead(9) };
    await world.keys.write(theirs, (await world.keys.read())?.version);
    await expect(
      rotateSecret(world.api, world.endpoint, unread, { clock: fastClock() }),
    ).rejects.toMatchObject({
      code: "receivers_not_ready",
      message: expect.stringMatching(
        /^A receiver already answers 503 .* The secret was not replaced\. Have all/,
      ),
    });
    expect(await recordOf(unread)).toEqual(record);
    await expectUntouched(world, theirs);
  });

  it("are ready though the key store holds off unknown signatures already", async () => {
    await using world = await rotating();
    const record = { ...(await recordOf(world.keys)), rotatingUntil: minutesAhead(9) };
    await world.keys.write(record, (await world.keys.read())?.version);
    const logger = lines();
    await world.rotate({ checkReceivers: true, logger });
    expect(logger.all[0]).toContain("Receivers read the key store.");
  });

  it("are not asked when a rotation is continued whose call may have been made", async () => {
    await using world = await rotating();
    world.sandbox.faults.add({ kind: "drop_answer", call: rotateCall, times: 6 });
    await world.rotate().catch(() => {});
    const logger = lines();
    expect(await world.rotate({ logger })).toMatchObject({ continued: "call" });
    expect(logger.all.join("\n")).not.toContain("Receivers read the key store.");
  });
});

// not concurrent: its world ends with its test
describe("the pass of a rotation", () => {
  it("recovers what the rotation cost, and neither what since has shut out nor what was ignored", async () => {
    const world = await startWorld();
    await world.emit(1, "forgets"); // handled before there was a store
    const since = new Date(Date.now() + 5 * 60_000);
    await world.pass("10m");
    const store = { ...memoryStore(), capabilities: { ...memoryStore().capabilities, durable: true } };
    const ran: string[] = [];
    const clock = { now: () => Date.now() + 60 * 60_000 };
    const settings = { state: world.state, store, logger: silentLogger, clock };
    const pass = (handlers: object, more: object) =>
      reconcile(world.api, world.endpoint, handlers, { ...settings, ...more });
    await pass({ "esim.assigned": () => {} }, { since });
    await world.emit(1, "forgets");
    expect((await pass({ "esim.assigned": () => {} }, {})).ledger).toMatchObject({ filtered: 1 });
    await world.pass("1m");
    const [cost] = await world.emit(1, "refuses");
    const keys = memoryKeys({ keys: [newSecret()] });
    const { reconciled } = await rotateSecret(world.api, world.endpoint, keys, {
      clock: fastClock(),
      checkReceivers: false,
      state: world.state,
      reconcile: (given) => pass({ "*": ({ id }: { id: string }) => void ran.push(id) }, given),
    });
    expect(ran).toEqual([cost]);
    expect(reconciled?.recovered).toMatchObject({ missed: 1 });
  });
});

describe.concurrent("planRotation", () => {
  it("asks no receiver and writes nothing: a key file with a plain secret stays byte for byte the same", async () => {
    await using world = await rotatingFile();
    const { api, keys } = world;
    const text = `${secretsIn(await recordOf(keys))[0]}\n`;
    await writeFile(keys.keyFile, text);
    let asked = 0;
    const receiver = (_: unknown, response: ServerResponse) => {
      asked += 1;
      response.writeHead(401).end();
    };
    const server = await listen(receiver, "/", async () => {});
    const { webhookEndpointReference: endpoint } = await api.webhooks.create({
      url: server.url,
      eventTypes: ["esim.enabled"],
    });
    const state = await reconciledState({ ...world, endpoint });
    await planRotation(api, endpoint, keys, { state });
    await server.close();
    expect(asked).toBe(0);
    expect(await readFile(keys.keyFile, "utf8")).toBe(text);
  });
});
