import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type BodyBounds, createBodyIntake } from "../../src/receive/body-intake.ts";
import type { BodySink } from "../../src/receive/delivery.ts";
import { createHashSchedule } from "../../src/receive/hash-schedule.ts";
import { headerReader } from "../../src/verify/headers.ts";

const kib = 1024;
const noHeaders = headerReader({});
const bounds: BodyBounds = {
  maxBodyBytes: 1024 * kib,
  maxUnverifiedBytes: 1024 * kib,
  bodyTimeoutMs: 10_000,
};

/** A body whose chunks a test adds itself, and what the intake makes of it. */
function opened(intake: ReturnType<typeof createBodyIntake>, contentLength?: number) {
  let sink: BodySink | undefined;
  const stopped = vi.fn();
  const result = intake(
    () => (given) => {
      sink = given;
      return stopped;
    },
    headerReader({ "content-length": String(contentLength) }),
  );
  const body = { result, stopped, sink: sink as unknown as BodySink, outcome: "reading" };
  void Promise.resolve(result).then((read) => {
    body.outcome = "code" in read ? read.code : "bytes";
  });
  return body;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the budget of unverified bodies", () => {
  it("is shared, and the largest body, not the newest, is given up immediately when it is used up", async () => {
    const intake = createBodyIntake(bounds);
    const large = Array.from({ length: 3 }, () => opened(intake));
    for (const { sink } of large) sink.add(Buffer.alloc(400 * kib));
    await settled();
    expect(large.map(({ outcome }) => outcome)).toEqual(["overloaded", "reading", "reading"]);
    expect(large[0]?.stopped).toHaveBeenCalledOnce();

    const small = opened(intake);
    small.sink.add(Buffer.alloc(300 * kib));
    await settled();
    expect([small.outcome, large[1]?.outcome]).toEqual(["reading", "overloaded"]);
  });

  it("is for what has come, not for what is announced", async () => {
    const intake = createBodyIntake(bounds);
    const bodies = Array.from({ length: 1000 }, () => opened(intake, 1024 * kib));
    for (const { sink } of bodies) sink.add(Buffer.alloc(1000));
    await settled();
    expect(new Set(bodies.map(({ outcome }) => outcome))).toEqual(new Set(["reading"]));
  });

  it("counts bodies that wait to be hashed, and gives up those, too", async () => {
    const intake = createBodyIntake(bounds);
    const waiting = intake(Buffer.alloc(1000 * kib), noHeaders);
    const small = opened(intake);
    small.sink.add(Buffer.alloc(100 * kib));
    expect(await waiting).toMatchObject({ code: "overloaded" });
    expect(small.outcome).toBe("reading");
  });

  it("is free again after any bodies, however they end", async () => {
    const endings = [
      (sink: BodySink) => sink.end(),
      (sink: BodySink) => sink.abandon(),
      (sink: BodySink) => sink.consumed("hint"),
      (sink: BodySink) => sink.add(Buffer.alloc(1025 * kib)),
    ];
    const body = fc.tuple(fc.nat(600 * kib), fc.constantFrom(...endings));
    await fc.assert(
      fc.asyncProperty(fc.array(body, { maxLength: 20 }), async (bodies) => {
        const intake = createBodyIntake(bounds);
        const sent = bodies.map(([bytes, end]) => {
          const one = opened(intake);
          one.sink.add(Buffer.alloc(bytes));
          end(one.sink);
          return one.result;
        });
        await Promise.all(sent);
        const whole = opened(intake);
        whole.sink.add(Buffer.alloc(1024 * kib));
        whole.sink.end();
        expect(await whole.result).toHaveProperty("bytes.byteLength", 1024 * kib);
      }),
      { numRuns: 50 },
    );
  });
});

describe("long bodies", () => {
  it("are let through one in each tick of the event loop, the shortest first, and short ones immediately", async () => {
    const intake = createBodyIntake({ ...bounds, maxUnverifiedBytes: 64 * 1024 * kib });
    const order: string[] = [];
    const send = async (bytes: number) => {
      await intake(Buffer.alloc(bytes), noHeaders);
      order.push(`${bytes}`);
    };
    const sent = [900_000, 500_000, 700_000].map(send);
    await send(300);
    expect(order).toEqual(["300"]);
    for (let turn = 1; turn <= 3; turn++) {
      await settled();
      order.push(`turn ${turn}`);
      if (turn === 1) sent.push(send(300), send(600_000));
    }
    await Promise.all(sent);
    expect(order).toEqual([
      "300",
      "500000",
      "turn 1",
      "300",
      "600000",
      "turn 2",
      "700000",
      "turn 3",
      "900000",
    ]);
  });

  it("of up to 256 KiB together are let through in one tick of the event loop, immediately if all bytes are there", async () => {
    const intake = createBodyIntake({ ...bounds, maxUnverifiedBytes: 64 * 1024 * kib });
    const given = Array.from({ length: 6 }, () => intake(Buffer.alloc(100 * kib), noHeaders));
    expect(given.map((body) => body instanceof Promise)).toEqual([false, false, true, true, true, true]);
    let passed = 2;
    for (const body of given.slice(2)) void Promise.resolve(body).then(() => passed++);
    const inTurns: number[] = [];
    for (let turn = 1; turn <= 2; turn++) {
      await settled();
      inTurns.push(passed);
    }
    expect(inTurns).toEqual([4, 6]);
    await settled();
    expect(intake(Buffer.alloc(100 * kib), noHeaders)).toHaveProperty("bytes.byteLength", 100 * kib);
  });
});

describe("a body that waits to be hashed", () => {
  it("and is withdrawn is not hashed, and the others do not wait for it", async () => {
    const { tryAdmit, wait } = createHashSchedule();
    const hashed: string[] = [];
    const withdraw = wait(200 * kib, () => hashed.push("withdrawn"));
    wait(200 * kib, () => hashed.push("older"));
    wait(200 * kib, () => hashed.push("newer"));
    withdraw();
    withdraw(); // without effect
    await settled();
    expect(hashed).toEqual(["older"]);
    await settled();
    expect(hashed).toEqual(["older", "newer"]);
    await settled();
    expect([tryAdmit(256 * kib), tryAdmit(32 * kib + 1), tryAdmit(32 * kib)]).toEqual([true, false, true]);
    wait(56 * kib, () => hashed.push("short"));
    wait(200 * kib, () => hashed.push("with it"));
    await settled();
    expect(hashed.slice(2)).toEqual(["short", "with it"]); // 256 KiB together
  });
});

describe("bodies of up to 32 KiB", () => {
  it("never wait for a tick, even when many arrive in one", () => {
    const intake = createBodyIntake({ ...bounds, maxUnverifiedBytes: 64 * 1024 * kib });
    const given = Array.from({ length: 100 }, () => intake(Buffer.alloc(32 * kib), noHeaders));
    expect(given.filter((body) => body instanceof Promise)).toEqual([]);
  });
});

describe("the time for a body", () => {
  const withTime = async (use: (pass: (ms: number) => Promise<void>) => Promise<void>) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      await use(async (ms) => {
        vi.advanceTimersByTime(ms);
        await settled();
        await settled();
      });
    } finally {
      vi.useRealTimers();
    }
  };

  it("ends after bodyTimeoutMs, even if bytes keep coming", () =>
    withTime(async (pass) => {
      const body = opened(createBodyIntake(bounds));
      for (let quarter = 1; quarter <= 4; quarter++) {
        expect(body.outcome).toBe("reading");
        body.sink.add(Buffer.alloc(5 * kib));
        await pass(2500);
      }
      expect(await body.result).toEqual({
        code: "body_incomplete",
        reason: "the body was not complete within bodyTimeoutMs (10000)",
      });
      expect(body.stopped).toHaveBeenCalledOnce();
    }));

  it("ends after a quarter that brought less than 4 KiB", () =>
    withTime(async (pass) => {
      const body = opened(createBodyIntake(bounds));
      body.sink.add(Buffer.alloc(900 * kib));
      await pass(2500);
      expect(body.outcome).toBe("reading");
      body.sink.add(Buffer.alloc(100));
      await pass(2500);
      expect(await body.result).toMatchObject({
        code: "body_incomplete",
        reason: expect.stringMatching(/^100 bytes arrived in 2500 ms/),
      });
    }));

  it("does not count while the event loop was blocked: what has arrived by then is read first", () =>
    withTime(async () => {
      const body = opened(createBodyIntake(bounds));
      vi.advanceTimersByTime(9000); // timers come before the bytes in a turn of the loop
      body.sink.add(Buffer.alloc(40 * kib));
      body.sink.end();
      expect(await body.result).toHaveProperty("bytes.byteLength", 40 * kib);
    }));
});

it("a body that was announced, and of which nothing came, is incomplete: its client has left", async () => {
  const intake = createBodyIntake(bounds);
  const body = opened(intake, 300);
  body.sink.end();
  expect(await body.result).toMatchObject({ code: "body_incomplete" });
  const empty = opened(intake, 0);
  empty.sink.end();
  expect(await empty.result).toHaveProperty("bytes.byteLength", 0);
});

it("a body of exactly maxBodyBytes is accepted, and one byte more is too large, announced or not", async () => {
  const intake = createBodyIntake({ ...bounds, maxBodyBytes: 100 });
  expect(intake(Buffer.alloc(100), noHeaders)).toHaveProperty("bytes.byteLength", 100);
  expect(intake(Buffer.alloc(101), noHeaders)).toMatchObject({ code: "too_large" });
  const whole = opened(intake, 100);
  whole.sink.add(Buffer.alloc(100));
  whole.sink.end();
  expect(await whole.result).toHaveProperty("bytes.byteLength", 100);
  expect(await opened(intake, 101).result).toMatchObject({
    code: "too_large",
    reason: expect.stringContaining("the body has 101 bytes"),
  });
  const unannounced = opened(intake, 100);
  unannounced.sink.add(Buffer.alloc(101));
  expect(await unannounced.result).toMatchObject({
    code: "too_large",
    reason: expect.stringContaining("the body has more bytes than that"),
  });
});
