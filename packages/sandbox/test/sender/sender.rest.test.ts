import type { ServerResponse } from "node:http";
import { startSandbox } from "@esim-webhooks/sandbox";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runningClock } from "../../src/base/clock.ts";
import { advance } from "../../src/sender/advance.ts";
import { forgetSlice } from "../../src/sender/queue.ts";
import { deleteEndpoint, rotateSecret, setActive } from "../../src/webhook/endpoints.ts";
import { call, register } from "../control/call.ts";
import { dayMs, hourMs, testService } from "../service.ts";
import { startEndpoint } from "./endpoint.ts";
import { esim, startSending } from "./sending.ts";

describe("an attempt", () => {
  test("is a Standard Webhooks request, with the same id and the same bytes each time", async () => {
    const service = testService();
    await using endpoint = await startEndpoint((n) => (n < 4 ? 500 : 200), service.clock);
    await using sending = startSending(service);
    const { signingSecret } = sending.register(endpoint.url);
    const [id] = sending.emit("esim.enabled", { ...esim, note: "€ and \u0000" });
    await advance(service.clock, sending.sender, hourMs);

    expect(endpoint.got).toHaveLength(4);
    for (const { headers, body } of endpoint.got) {
      expect(new Webhook(signingSecret).verify(body, headers)).toMatchObject({
        type: "esim.enabled",
        data: esim,
      });
      expect(headers).toMatchObject({ "webhook-id": id, "content-type": "application/json" });
      expect(Math.abs(Number(headers["webhook-timestamp"]) * 1000 - Date.now())).toBeLessThan(300_000);
    }
    expect(new Set(endpoint.got.map(({ body }) => body)).size).toBe(1);
  });

  test("is signed with the secret of its moment: after a rotation with the new one", async () => {
    const service = testService();
    await using endpoint = await startEndpoint((n) => (n < 3 ? 500 : 200));
    await using sending = startSending(service);
    const registered = sending.register(endpoint.url);
    sending.emit();
    await advance(service.clock, sending.sender, 30_000);
    const rotated = rotateSecret(service, sending.client, registered.webhookEndpointReference);
    await advance(service.clock, sending.sender, hourMs);

    const verifiedBy = (secret: string) =>
      endpoint.got.map(({ body, headers }) => {
        try {
          return new Webhook(secret).verify(body, headers) !== undefined;
        } catch {
          return false;
        }
      });
    expect(verifiedBy(registered.signingSecret)).toEqual([true, true, false]);
    expect(verifiedBy(rotated.signingSecret)).toEqual([false, false, true]);
  });

  test("has the real time as its timestamp; by switch less the age of its delivery", async () => {
    const service = testService({ timestampPer: "delivery" });
    await using endpoint = await startEndpoint((n) => (n < 4 ? 500 : 200));
    await using sending = startSending(service);
    sending.register(endpoint.url);
    sending.emit();
    await advance(service.clock, sending.sender, hourMs);
    const [first = 0, , , fourth = 0] = endpoint.got.map(({ headers }) =>
      Number(headers["webhook-timestamp"]),
    );
    // all were sent at about the same real time, and the fourth was 390 s old
    expect(Math.abs(first * 1000 - Date.now())).toBeLessThan(300_000);
    expect(fourth - first).toBeLessThan(-90);
  });

  test("is signed with the bytes of a hexadecimal secret, where secrets have that form", async () => {
    const service = testService({ secretFormat: "custom" });
    await using endpoint = await startEndpoint();
    await using sending = startSending(service);
    const { signingSecret } = sending.register(endpoint.url);
    sending.emit();
    await sending.sender.settle();
    const { body = "", headers = {} } = endpoint.got[0] ?? {};
    const secret = Buffer.from(signingSecret, "hex").toString("base64");
    expect(new Webhook(secret).verify(body, headers)).toBeDefined();
  });
});

describe("statuses, as the listing shows them", () => {
  test("pending, sending, failed, sending, delivered", async () => {
    const service = testService();
    let answer: ServerResponse | undefined;
    await using endpoint = await startEndpoint((_n, _got, response) => {
      answer = response;
    });
    await using sending = startSending(service);
    const registered = sending.register(endpoint.url);
    const at = (ms: number) => new Date(service.clock.now() + ms).toISOString();
    const answerWith = async (status: number) => {
      await expect.poll(() => answer).toBeDefined();
      answer?.writeHead(status).end();
      answer = undefined;
      await sending.sender.settle();
    };
    sending.emit();
    const before = { responseBody: null, httpStatus: null, nextRetryAt: null, deliveredAt: null };
    expect(sending.list(registered)).toMatchObject([
      {
        ...before,
        status: "pending",
        attemptNumber: 0,
        sentAt: null,
        payload: { type: "esim.enabled", data: esim },
      },
    ]);
    await expect.poll(() => answer).toBeDefined();
    expect(sending.list(registered)).toMatchObject([
      { ...before, status: "sending", attemptNumber: 1, sentAt: at(0) },
    ]);
    await answerWith(503);
    expect(sending.list(registered)).toMatchObject([
      {
        status: "failed",
        attemptNumber: 1,
        httpStatus: 503,
        responseBody: "",
        nextRetryAt: at(30_000),
        sentAt: at(0),
      },
    ]);
    const moved = advance(service.clock, sending.sender, 30_000);
    await expect.poll(() => answer).toBeDefined();
    expect(sending.list(registered)).toMatchObject([
      { status: "sending", attemptNumber: 2, nextRetryAt: null, sentAt: at(0) },
    ]);
    await answerWith(200);
    await moved;
    expect(sending.list(registered)).toMatchObject([
      { status: "delivered", attemptNumber: 2, httpStatus: 200, nextRetryAt: null, deliveredAt: at(0) },
    ]);
  });
});

describe("endpoints", () => {
  test("an inactive one gets nothing, waiting attempts neither, until it is active again", async () => {
    const service = testService();
    await using endpoint = await startEndpoint((n) => (n === 1 ? 500 : 200));
    await using sending = startSending(service);
    const { webhookEndpointReference: reference } = sending.register(endpoint.url);
    sending.emit();
    await sending.sender.settle();
    setActive(service, sending.client, reference, false);
    expect(sending.emit()).toEqual([]);
    expect(sending.sender.nextDueAt()).toBeUndefined();
    await advance(service.clock, sending.sender, dayMs);
    expect(endpoint.got).toHaveLength(1);

    setActive(service, sending.client, reference, true);
    await expect.poll(() => endpoint.got.length).toBe(2); // by itself
    expect(endpoint.got[1]?.headers["webhook-id"]).toBe(endpoint.got[0]?.headers["webhook-id"]);
  });

  test("a deleted one gets nothing any more, and the answer to an attempt under way changes nothing", async () => {
    const service = testService();
    let answer: ServerResponse | undefined;
    await using endpoint = await startEndpoint((_n, _got, response) => {
      answer = response;
    });
    await using sending = startSending(service);
    const { webhookEndpointReference: reference } = sending.register(endpoint.url);
    sending.emit();
    await expect.poll(() => answer).toBeDefined();
    deleteEndpoint(service, sending.client, reference);
    expect(sending.emit()).toEqual([]);
    await using next = await startEndpoint();
    const registered = sending.register(next.url); // neither it nor its delivery is taken for the deleted one
    sending.emit();
    answer?.writeHead(503).end();
    await advance(service.clock, sending.sender, dayMs);
    expect(endpoint.got).toHaveLength(1);
    expect(next.got).toHaveLength(1);
    expect(sending.list(registered)).toMatchObject([{ status: "delivered", attemptNumber: 1 }]);
  });

  test("one that hangs does not hold up the others, and has 64 requests at once at most", async () => {
    const service = { ...testService(), clock: runningClock(1) };
    await using silent = await startEndpoint(() => undefined);
    await using quick = await startEndpoint();
    await using sending = startSending(service);
    const registered = [sending.register(silent.url), sending.register(quick.url)] as const;
    service.db.transaction(() => {
      for (let n = 0; n < 500; n++) sending.emit();
    });
    await expect.poll(() => quick.got.length).toBe(500);
    await expect.poll(() => silent.got.length).toBe(64);
    await expect
      .poll(() => new Set(sending.list(registered[1]).map(({ status }) => status)))
      .toEqual(new Set(["delivered"]));
    const sentLater = sending.list(registered[0]).map(({ status }) => status);
    expect(new Set(sentLater)).toEqual(new Set(["pending"]));
    expect(silent.got).toHaveLength(64);
  });
});

test("one that hangs with more than it has places for does not hold up the retries to another", async () => {
  const service = { ...testService(), clock: runningClock(20_000) }; // of the 7 days that a delivery is kept, a busy machine has half a minute
  await using silent = await startEndpoint(() => undefined);
  await using failing = await startEndpoint(() => 503);
  await using sending = startSending(service);
  sending.register(silent.url);
  const registered = sending.register(failing.url);
  service.db.transaction(() => {
    for (let n = 0; n < 100; n++) sending.emit();
  });
  await expect
    .poll(() => new Set(sending.list(registered).map(({ status }) => status)))
    .toEqual(new Set(["exhausted"]));
  await expect.poll(() => silent.got.length).toBe(64);
});

test("a delivery that falls due while a turn looks for the next one is sent", async () => {
  let time = Date.now();
  const clock = {
    now: () => time,
    realMsUntil(due: number) {
      time = Math.max(time, due); // it has come by now
      return 0;
    },
  };
  const service = { ...testService(), clock };
  await using endpoint = await startEndpoint(() => 503);
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.emit();
  await expect.poll(() => sending.list(registered)[0]?.status).toBe("exhausted");
});

test("advancing the clock ends while events keep coming, and has what was due before answered", async () => {
  const service = testService();
  await using endpoint = await startEndpoint((_n, _got, response) => {
    sending.emit("esim.faulted");
    setTimeout(() => response.end(), 300);
    return undefined;
  });
  await using sending = startSending(service);
  sending.register(endpoint.url);
  sending.emit();
  await advance(service.clock, sending.sender, hourMs);
  const oldest = service.db.get("select status from deliveries order by sequence limit 1");
  expect(oldest).toEqual({ status: "delivered" });
});

test("who waits for a sender that is closed, or was, is told so", async () => {
  const service = testService();
  await using endpoint = await startEndpoint(() => undefined);
  await using sending = startSending(service);
  sending.register(endpoint.url);
  const answered = sending.sender.watchNewDeliveries();
  sending.emit();
  const closed = { code: "closed", message: expect.stringMatching(/^This sandbox is closed\. /) };
  const waiting = [advance(service.clock, sending.sender, hourMs), answered()];
  const told = Promise.all(waiting.map((one) => expect(one).rejects.toMatchObject(closed)));
  await expect.poll(() => endpoint.got.length).toBe(1);
  await sending.sender.close();
  await told;
  await expect(advance(service.clock, sending.sender, hourMs)).rejects.toMatchObject(closed);
  await expect(answered()).rejects.toMatchObject(closed);
});

test("on a running clock, attempts are made when they are due, by themselves", async () => {
  const service = { ...testService(), clock: runningClock(20_000) }; // of the 7 days that a delivery is kept, a busy machine has half a minute
  await using endpoint = await startEndpoint(() => 503, service.clock);
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.emit();
  await expect.poll(() => sending.list(registered)[0]?.status).toBe("exhausted");
  expect(endpoint.got).toHaveLength(10);
  const times = endpoint.got.map(({ at }) => at);
  expect((times[9] ?? 0) - (times[8] ?? 0)).toBeGreaterThanOrEqual(8 * hourMs);
});

test("an answer that does not come in time is not waited for, at any speed of the clock", async () => {
  const service = { ...testService({ answerLimitMs: 30_000 }), clock: runningClock(1000) };
  await using endpoint = await startEndpoint((n, _got, response) => {
    if (n > 1) return 200;
    setTimeout(() => response.writeHead(200).end(), 200); // 200 s of the service's clock
    return undefined;
  });
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.emit();
  await expect.poll(() => sending.list(registered)[0]?.status).toBe("delivered");
  expect(endpoint.got).toHaveLength(1);
});

test.each([
  [29_000, "counts", "delivered"],
  [30_000, "is too late", "failed"],
])("on a manual clock, too, an answer after %i ms of real time %s", async (afterMs, _, status) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  await using sandbox = await startSandbox({ clock: "manual" });
  const asked = Promise.withResolvers<ServerResponse>();
  await using endpoint = await startEndpoint((_n, _got, response) => void asked.resolve(response));
  await register(sandbox, endpoint.url);
  await sandbox.emit({ type: "esim.enabled", data: esim });
  const response = await asked.promise;
  await vi.advanceTimersByTimeAsync(afterMs);
  response.writeHead(200).end();
  await sandbox.settled();
  expect(await call(sandbox, "GET", "/deliveries")).toMatchObject({ data: [{ status }] });
});

test("waits for the first attempts of what an operation caused, and not for those of before", async () => {
  const service = testService();
  const answers: ServerResponse[] = [];
  await using endpoint = await startEndpoint((n, _got, response) => {
    if (n > 1) return 503;
    answers.push(response);
    return undefined;
  });
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.emit();
  await expect.poll(() => answers.length).toBe(1);
  const answered = sending.sender.watchNewDeliveries();
  sending.emit();
  sending.emit();
  await answered();
  expect(sending.list(registered).map(({ status }) => status)).toEqual(["failed", "failed", "sending"]);
  answers[0]?.end();
});

test("events and deliveries are forgotten after 7 days", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  sending.register(endpoint.url);
  service.db.transaction(() => {
    for (let n = 0; n < 1000; n++) sending.emit();
  });
  await advance(service.clock, sending.sender, 6 * dayMs);
  sending.emit();
  await advance(service.clock, sending.sender, dayMs + 1);
  sending.emit();
  await sending.sender.settle();
  const count = (table: string) =>
    service.db.get<{ count: number }>(`select count(*) as count from ${table}`)?.count;
  await expect.poll(() => count("events")).toBe(2);
  expect(count("deliveries")).toBe(2);
  expect(endpoint.got).toHaveLength(1002);
});

test("of more events or deliveries than are kept, the oldest are forgotten before their time", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  const first = sending.register(endpoint.url);
  const second = sending.register(endpoint.url);
  service.db.transaction(() => {
    for (let n = 0; n < 1000; n++) sending.emit();
  });
  await sending.sender.settle();
  while (forgetSlice(service, 100));
  // an event has two deliveries here, so that 100 deliveries are the tighter bound
  const newest = service.db.all("select sequence from events").length;
  expect(newest).toBe(50);
  expect(sending.list(first)).toHaveLength(50);
  expect(sending.list(second)).toHaveLength(50);
});
