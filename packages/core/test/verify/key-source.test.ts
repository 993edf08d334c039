import { type Key, type KeySource, type LoadedKeys, type Secret, WebhookError } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { createLoadedKeyring } from "../../src/verify/key-source.ts";
import { receiving } from "./receiving.ts";

const [oldSecret, freshSecret, strangeSecret] = [newSecret(), newSecret(), newSecret()];

type Loaded = readonly (string | Key)[] | LoadedKeys;

/** A key source whose loads are counted, and answered as the test says. */
function sourceOf(first: Loaded | Error): KeySource & { loads: number; now: Loaded | Error } {
  const source = {
    loads: 0,
    now: first,
    load: async () => {
      source.loads += 1;
      if (source.now instanceof Error) throw source.now;
      return source.now;
    },
  };
  return source;
}

describe.concurrent("a key whose window begins later", () => {
  it.each([
    ["static", (keys: readonly Key[]): Secret => keys],
    ["of a source", (keys: readonly Key[]): Secret => ({ load: async () => keys })],
    [
      "of a source that reports a rotation",
      (keys: readonly Key[]): Secret => ({
        load: async () => ({ keys, rotatingUntil: "2026-11-20T12:10:00Z" }),
      }),
    ],
  ])("has its deliveries answered 503 until then: %s", async (_, secretOf) => {
    const time = { now: Date.parse("2026-11-20T12:00:00Z") };
    const keys = [{ secret: oldSecret }, { secret: freshSecret, notBefore: "2026-11-20T12:01:00Z" }];
    const { receive, lines } = receiving(secretOf(keys), { clock: { now: () => time.now } });
    const at = () => new Date(time.now);
    expect(await receive(freshSecret, at())).toBe("key_not_yet_valid");
    expect(lines.at(-1)).toMatchObject({
      key: expect.stringMatching(/^key:/),
      reason: expect.stringMatching(/^key:\w{8} made the signature, and its notBefore is still ahead/),
    });
    expect(await receive(oldSecret, at())).toBe("processed");
    time.now += 60_000;
    expect(await receive(freshSecret, at())).toBe("processed");
  });

  it("keeps a forged delivery at 401", async () => {
    const key = { secret: freshSecret, notBefore: new Date(Date.now() + 60_000) };
    expect(await receiving([oldSecret, key]).receive(strangeSecret)).toBe("no_matching_key");
  });
});

describe.concurrent("keys with windows", () => {
  it("count from notBefore until notAfter, by the receiver's clock", async () => {
    const time = { now: Date.parse("2026-11-20T12:00:00Z") };
    const keys = [
      { secret: oldSecret, notAfter: "2026-11-20T12:05:00Z" },
      { secret: freshSecret, notBefore: new Date("2026-11-20T12:01:00Z") },
    ];
    const { receive } = receiving(keys, { clock: { now: () => time.now } });
    const at = async (iso: string) => {
      time.now = Date.parse(iso);
      return [await receive(oldSecret, new Date(iso)), await receive(freshSecret, new Date(iso))];
    };
    expect(await at("2026-11-20T12:00:59.999Z")).toEqual(["processed", "key_not_yet_valid"]);
    expect(await at("2026-11-20T12:01:00.000Z")).toEqual(["processed", "processed"]);
    expect(await at("2026-11-20T12:04:59.999Z")).toEqual(["processed", "processed"]);
    expect(await at("2026-11-20T12:05:00.000Z")).toEqual(["no_matching_key", "processed"]);
  });

  it.each([
    [{ secret: oldSecret, notAfter: "tomorrow" }, /notAfter is not a date-time/],
    [{ secret: oldSecret, notBefore: new Date(Number.NaN) }, /notBefore is not a date-time/],
    [{ secret: oldSecret, notBefore: new Date(2), notAfter: new Date(1) }, /ends before it begins/],
    [{ secret: oldSecret, notAfter: "soon 2" }, /notAfter is not a date-time/],
    [
      { secret: oldSecret, notAfter: "2026-11-20 12:00" },
      /notAfter is not a date-time\. Give a Date, or a string with its offset/,
    ],
    [{ secret: "whsec_AA==" }, /has 1 bytes/],
  ])("are refused at start-up when they cannot be right: %#", (key, message) => {
    expect(() => receiving([key])).toThrow(message);
    expect(() => receiving([key])).toThrow(WebhookError);
  });
});

describe.concurrent("a key source", () => {
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    vi.setTimerTickMode("nextTimerAsync");
  });
  afterAll(() => void vi.useRealTimers());

  it("is loaded at start, and a delivery that comes before the keys waits for them", async () => {
    const keys = Promise.withResolvers<string[]>();
    const { receive } = receiving({ load: () => keys.promise });
    const received = receive(oldSecret);
    keys.resolve([oldSecret]);
    expect(await received).toBe("processed");
  });

  it("is not loaded again while keys match", async () => {
    const source = sourceOf([oldSecret]);
    const { receive } = receiving(source);
    for (let i = 0; i < 20; i++) expect(await receive(oldSecret)).toBe("processed");
    expect(source.loads).toBe(1);
  });

  it("is loaded once for many deliveries of an unknown key, which wait for it and are accepted", async () => {
    const source = sourceOf([oldSecret]);
    const { receive } = receiving(source);
    expect(await receive(oldSecret)).toBe("processed");
    source.now = [freshSecret];
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => receive(freshSecret)));
    expect(new Set(outcomes)).toEqual(new Set(["processed"]));
    expect(source.loads).toBe(2);
    expect(await receive(oldSecret)).toBe("no_matching_key");
  });

  it("is loaded again after a load that began before the delivery came, since that may have read too early", async () => {
    const slow = Promise.withResolvers<string[]>();
    const answers = [Promise.resolve([oldSecret]), slow.promise, Promise.resolve([freshSecret])];
    const began = Promise.withResolvers<void>();
    let loads = 0;
    const load = () => {
      loads += 1;
      if (loads === 2) began.resolve();
      return answers[loads - 1] ?? Promise.reject(new Error("too many loads"));
    };
    const { receive } = receiving({ load });
    const forged = receive(strangeSecret);
    await began.promise;
    const fresh = receive(freshSecret);
    slow.resolve([oldSecret]); // what was read before the rotation
    expect(await forged).toBe("no_matching_key");
    expect(await fresh).toBe("processed");
    expect(loads).toBe(3);
  });

  it("is loaded at most once a second during a flood of forged deliveries", async () => {
    const source = sourceOf([oldSecret]);
    const { receive } = receiving(source);
    const start = performance.now();
    while (source.loads < 4) expect(await receive(strangeSecret)).toBe("no_matching_key");
    expect(source.loads).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - start) / 1000));
  });

  it("lets at most 100 deliveries wait, answers 503 to more, and accepts known keys meanwhile", async () => {
    const source = sourceOf([oldSecret]);
    const { receive } = receiving(source);
    await receive(oldSecret);
    const waiting = Array.from({ length: 150 }, () => receive(strangeSecret));
    expect(await receive(oldSecret)).toBe("processed");
    const outcomes = await Promise.all(waiting);
    expect(outcomes.filter((outcome) => outcome === "keys_unavailable")).toHaveLength(50);
    expect(outcomes.filter((outcome) => outcome === "no_matching_key")).toHaveLength(100);
  });

  it.each([
    ["fails", new Error("the secret manager is away")],
    ["gives no keys, as a file that is just being rewritten does", []],
    ["gives half a secret", [freshSecret.slice(0, 20)]],
    ["says that a rotation takes until no time", { keys: [freshSecret], rotatingUntil: "soon" }],
  ])("that %s leaves the keys there were, is logged, and turns no good delivery away", async (_, broken) => {
    const source = sourceOf([oldSecret]);
    const { receive, lines } = receiving(source);
    await receive(oldSecret);
    source.now = broken;
    expect(await receive(freshSecret)).toBe("keys_unavailable");
    expect(await receive(oldSecret)).toBe("processed");
    expect(lines).toContainEqual(expect.objectContaining({ code: "key_source_failed" }));
    for (const line of lines) expect(String(line["err"])).not.toContain(freshSecret.slice(6, 20));
  });

  it("that answers undefined is logged as that, not as one that does not answer", async () => {
    const source = sourceOf([oldSecret]);
    const { receive, lines } = receiving(source);
    await receive(oldSecret);
    source.now = undefined as never;
    expect(await receive(freshSecret)).toBe("keys_unavailable");
    expect(String(lines.find(({ code }) => code === "key_source_failed")?.["err"])).toBe(
      "Error: load() resolved to undefined. Return the keys.",
    );
  });

  it("that fails at start is asked again, and deliveries get 503 until it answers", async () => {
    const source = sourceOf(new Error("not yet"));
    const { receive } = receiving(source);
    expect(await receive(oldSecret)).toBe("keys_unavailable");
    source.now = [oldSecret];
    expect(await receive(oldSecret)).toBe("processed");
  });

  it("that reports a rotation has unmatched signatures answered 503, until the time it gives and no longer", async () => {
    const time = { now: Date.now() };
    const source = sourceOf({ keys: [oldSecret], rotatingUntil: new Date(time.now + 1000) });
    const { receive } = receiving(source, { clock: { now: () => time.now } });
    expect(await receive(strangeSecret)).toBe("rotating");
    expect(await receive(oldSecret)).toBe("processed");
    time.now += 1000;
    expect(await receive(strangeSecret)).toBe("no_matching_key");
  });

  it("that reports a rotation of more than 15 minutes at its first load has its keys taken, and the rotation ends after 15 minutes", async () => {
    const time = { now: Date.parse("2026-11-20T12:00:00Z") };
    const source = sourceOf({ keys: [oldSecret], rotatingUntil: "2026-11-21T12:00:00Z" });
    const { receive, lines } = receiving(source, { clock: { now: () => time.now } });
    const at = () => new Date(time.now);
    expect(await receive(oldSecret, at())).toBe("processed");
    time.now += 14 * 60_000;
    expect(await receive(strangeSecret, at())).toBe("rotating"); // loaded again: that does not extend it
    time.now += 60_000;
    expect(await receive(strangeSecret, at())).toBe("no_matching_key");
    expect(await receive(oldSecret, at())).toBe("processed");
    expect(lines.filter(({ code }) => code === "rotation_too_long")).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(
          /more than 15 minutes ahead: it counts until 2026-11-20T12:15:00.000Z\. /,
        ),
      }),
    ]);
  });

  it("takes a new rotatingUntil for a longer rotation", async () => {
    const time = { now: Date.now() };
    const source = sourceOf({ keys: [oldSecret], rotatingUntil: new Date(time.now + 60_000) });
    const { receive } = receiving(source, { clock: { now: () => time.now } });
    expect(await receive(strangeSecret)).toBe("rotating");
    source.now = { keys: [oldSecret], rotatingUntil: new Date(time.now + 120_000) };
    time.now += 60_000;
    expect(await receive(strangeSecret)).toBe("rotating");
  });
});

describe("a key that was withdrawn at the source", () => {
  it("is refused from the load on that begins when it matches a minute after the last one, without a delay", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const source = sourceOf([oldSecret]);
      const { receive } = receiving(source);
      expect(await receive(oldSecret)).toBe("processed");
      source.now = [freshSecret];
      vi.advanceTimersByTime(60_001);
      expect(await receive(oldSecret)).toBe("processed");
      await expect.poll(() => source.loads).toBe(2);
      expect(await receive(freshSecret)).toBe("processed");
      expect(await receive(oldSecret)).toBe("no_matching_key");
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a receiver that got no delivery for two minutes", () => {
  it("loads its keys before it accepts one, so that a key which was withdrawn meanwhile is refused", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const source = sourceOf([oldSecret]);
      const { receive } = receiving(source);
      expect(await receive(oldSecret)).toBe("processed");
      source.now = [freshSecret];
      vi.advanceTimersByTime(120_001);
      const received = Array.from({ length: 5 }, () => receive(oldSecret));
      expect(await Promise.all(received)).toEqual(Array(5).fill("no_matching_key"));
    } finally {
      vi.useRealTimers();
    }
  });

  it("accepts it with the keys that it has if the key source fails, and asks again a minute later", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const source = sourceOf([oldSecret]);
      const { receive } = receiving(source);
      expect(await receive(oldSecret)).toBe("processed");
      source.now = new Error("the secret manager is down");
      vi.advanceTimersByTime(120_001);
      expect(await receive(oldSecret)).toBe("processed");
      const { loads } = source;
      expect(loads).toBe(2);
      expect(await receive(oldSecret)).toBe("processed");
      expect(source.loads).toBe(loads);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe.concurrent("a key source that is slow at start", () => {
  it("has a bounded number of deliveries wait for it", async () => {
    const keys = Promise.withResolvers<string[]>();
    const { receive } = receiving({ load: () => keys.promise });
    const received = Array.from({ length: 150 }, () => receive(oldSecret));
    expect(await received[149]).toBe("keys_unavailable");
    keys.resolve([oldSecret]);
    const outcomes = await Promise.all(received);
    expect(outcomes.filter((outcome) => outcome === "processed")).toHaveLength(100);
    expect(outcomes.filter((outcome) => outcome === "keys_unavailable")).toHaveLength(50);
  });
});

describe("a key source that never answers", () => {
  it("counts as failed after five seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let loads = 0;
      const load = () => {
        loads += 1;
        return new Promise<never>(() => {});
      };
      const { receive, lines } = receiving({ load });
      const received = receive(oldSecret);
      for (const load of [1, 2]) {
        await expect.poll(() => loads).toBe(load);
        vi.advanceTimersByTime(5000);
        await expect.poll(() => lines.length).toBeGreaterThanOrEqual(load);
      }
      expect(await received).toBe("keys_unavailable");
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("deliveries that wait for a key source", () => {
  /** A keyring whose source answers when a test says so. */
  function waitingFor(all?: { count: number; readonly most: number }) {
    const answer = Promise.withResolvers<string[]>();
    const keyring = createLoadedKeyring({ load: () => answer.promise }, Date, silentLogger, all);
    /** What became of so many that wait for its first load. */
    const wait = (count: number) => {
      const outcomes: string[] = [];
      const waits = Array.from({ length: count }, async () => void outcomes.push(await keyring.ready()));
      return { outcomes, all: Promise.all(waits) };
    };
    return { wait, answer: () => answer.resolve([oldSecret]) };
  }

  it("are at most a hundred; the others are answered, and all are free again once it has answered", async () => {
    const { wait, answer } = waitingFor();
    const first = wait(101);
    await new Promise(setImmediate);
    expect(first.outcomes).toEqual(["too_many_waiting"]);
    answer();
    await first.all;
    expect(first.outcomes.slice(1)).toEqual(Array(100).fill("loaded"));
  });

  it("are at most a hundred of one source, where more may wait for all sources together", async () => {
    const all = { count: 0, most: 1000 };
    const { wait, answer } = waitingFor(all);
    const waits = wait(101);
    await new Promise(setImmediate);
    expect([waits.outcomes, all.count]).toEqual([["too_many_waiting"], 100]);
    answer();
    await waits.all;
    expect(all.count).toBe(0);
  });

  it("share a bound with those that wait for other sources, and leave it when their own source answers", async () => {
    const all = { count: 0, most: 3 };
    const [one, other] = [waitingFor(all), waitingFor(all)];
    const ofOne = one.wait(2);
    const ofOther = other.wait(2);
    await new Promise(setImmediate);
    expect([ofOne.outcomes, ofOther.outcomes, all.count]).toEqual([[], ["too_many_waiting"], 3]);
    one.answer();
    await ofOne.all;
    expect([ofOne.outcomes, all.count]).toEqual([["loaded", "loaded"], 1]);
    const later = other.wait(2);
    other.answer();
    await Promise.all([ofOther.all, later.all]);
    expect(later.outcomes).toEqual(["loaded", "loaded"]);
    expect(all.count).toBe(0);
  });
});

describe("the age of keys", () => {
  it("begins a load in the background after a minute, and is waited for after two, once for all", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const source = sourceOf([oldSecret]);
    const keyring = createLoadedKeyring(source, Date, silentLogger);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([keyring.refreshIfOld(), source.loads]).toEqual([false, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect([keyring.refreshIfOld(), keyring.refreshIfOld()]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(source.loads).toBe(2);
    await vi.advanceTimersByTimeAsync(119_000); // two minutes after that load began
    expect(keyring.refreshIfOld()).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(source.loads).toBe(3);
    await vi.advanceTimersByTimeAsync(120_001);
    const [first, second] = [keyring.refreshIfOld(), keyring.refreshIfOld()];
    await vi.advanceTimersByTimeAsync(1000);
    expect([await first, await second, source.loads]).toEqual([true, true, 4]);
  });
});
