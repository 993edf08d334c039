import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeHandler } from "@esim-webhooks/core";
import { silentLogger } from "@esim-webhooks/core/internal";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { advance } from "../../src/sender/advance.ts";
import { createSender } from "../../src/sender/sender.ts";
import { deleteEndpoint, rotateSecret } from "../../src/webhook/endpoints.ts";
import { hourMs, testService } from "../service.ts";
import { type Got, startEndpoint } from "./endpoint.ts";
import { esim, startSending } from "./sending.ts";

function isSignedWith(secret: string, { body, headers }: Got): boolean {
  try {
    return new Webhook(secret).verify(body, headers) !== undefined;
  } catch {
    return false;
  }
}

test("duplicate: two requests at once, one attempt, and the first answer counts", async () => {
  const service = testService();
  const answers: ServerResponse[] = [];
  await using endpoint = await startEndpoint((n, _got, response) => {
    answers.push(response);
    if (n === 2) for (const answer of answers) answer.writeHead(200).end();
    return undefined;
  });
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.faults.add({ kind: "duplicate" });
  sending.emit();
  await sending.sender.settle();
  const [first, second] = endpoint.got;
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  expect(second?.body).toBe(first?.body);
  expect(sending.list(registered)).toMatchObject([{ status: "delivered", attemptNumber: 1 }]);
});

test("reorder: a delivery waits until a later one was answered", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.faults.add({ kind: "reorder" });
  const early = sending.emit();
  await sending.sender.settle();
  expect(endpoint.got).toHaveLength(0);
  expect(sending.list(registered)).toMatchObject([{ status: "pending", attemptNumber: 0 }]);
  const late = sending.emit();
  await sending.sender.settle();
  expect(endpoint.got.map(({ headers }) => headers["webhook-id"])).toEqual([...late, ...early]);
});

test("reorder: a delivery that waits is forgotten with its endpoint, and waits on after a restart", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  const deleted = sending.register(endpoint.url);
  sending.faults.add({ kind: "reorder", times: 2, waitMs: hourMs });
  sending.emit();
  await sending.sender.settle();
  const held = () => service.db.all("select sequence from deliveries where held = 1").length;
  expect(held()).toBe(1);
  deleteEndpoint(service, sending.client, deleted.webhookEndpointReference);
  expect(held()).toBe(0);

  sending.register(endpoint.url);
  const early = sending.emit();
  await sending.sender.settle();
  await sending.sender.close();
  const restarted = createSender(service, sending.faults);
  await restarted.settle();
  expect(endpoint.got).toHaveLength(0);
  const late = sending.emit();
  await restarted.settle();
  expect(endpoint.got.map(({ headers }) => headers["webhook-id"])).toEqual([...late, ...early]);
  expect(held()).toBe(0);
  await restarted.close();
});

test("reorder: the answer to an earlier delivery, still under way, is no overtaking", async () => {
  const service = testService();
  const answers: ServerResponse[] = [];
  await using endpoint = await startEndpoint((n, _got, response) => {
    if (n > 1) return 200;
    answers.push(response);
    return undefined;
  });
  await using sending = startSending(service);
  sending.register(endpoint.url);
  const earlier = sending.emit();
  await expect.poll(() => answers.length).toBe(1);
  sending.faults.add({ kind: "reorder" });
  const early = sending.emit();
  await expect.poll(() => sending.faults.list()).toEqual([]);
  answers[0]?.end();
  await sending.sender.settle();
  expect(endpoint.got).toHaveLength(1);
  const late = sending.emit();
  await sending.sender.settle();
  expect(endpoint.got.map(({ headers }) => headers["webhook-id"])).toEqual([...earlier, ...late, ...early]);
});

test("reorder: a delivery that nothing overtakes is sent in the end", async () => {
  const service = testService();
  await using endpoint = await startEndpoint(() => 200, service.clock);
  await using sending = startSending(service);
  sending.register(endpoint.url);
  sending.faults.add({ kind: "reorder", waitMs: 5000, probability: 1 });
  const start = service.clock.now();
  sending.emit();
  await advance(service.clock, sending.sender, hourMs);
  expect(endpoint.got.map(({ at }) => at - start)).toEqual([5000]);
});

test("wrong_signature and old_signature: no key of now matches, and of the old one that of before", async () => {
  const service = testService();
  await using endpoint = await startEndpoint(() => 503);
  await using sending = startSending(service);
  const old = sending.register(endpoint.url);
  const { signingSecret } = rotateSecret(service, sending.client, old.webhookEndpointReference);
  sending.faults.add({ kind: "wrong_signature" });
  sending.emit();
  await sending.sender.settle();
  sending.faults.add({ kind: "old_signature" });
  await advance(service.clock, sending.sender, 10 * 60_000);

  expect(endpoint.got.map((got) => isSignedWith(old.signingSecret, got))).toEqual([
    false,
    true,
    false,
    false,
  ]);
  expect(endpoint.got.map((got) => isSignedWith(signingSecret, got))).toEqual([false, false, true, true]);
});

test("old_signature: an endpoint that was never rotated has no old secret, so none matches", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  const { signingSecret } = sending.register(endpoint.url);
  sending.faults.add({ kind: "old_signature" });
  sending.emit();
  await sending.sender.settle();
  expect(endpoint.got.map((got) => isSignedWith(signingSecret, got))).toEqual([false]);
});

test("new_field and new_reason: signed, the same bytes on every attempt, and listed as they were sent", async () => {
  const service = testService();
  await using endpoint = await startEndpoint((n) => (n % 2 === 1 ? 503 : 200));
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  for (const kind of ["new_field", "new_reason"] as const) {
    sending.faults.add({ kind });
    sending.emit("esim.faulted", { ...esim, reason: "user_rejected" });
    await advance(service.clock, sending.sender, hourMs);
  }
  const bodies = endpoint.got.map(({ body }) => JSON.parse(body) as { data: object });
  expect(endpoint.got.every((got) => isSignedWith(registered.signingSecret, got))).toBe(true);
  expect(endpoint.got[1]?.body).toBe(endpoint.got[0]?.body);
  expect(endpoint.got[3]?.body).toBe(endpoint.got[2]?.body);
  expect(bodies[0]).toMatchObject({
    newField: true,
    data: { ...esim, reason: "user_rejected", newField: {} },
  });
  expect(bodies[2]?.data).toEqual({ ...esim, reason: "unheard_of" });
  expect(sending.list(registered).map(({ payload }) => payload)).toEqual([bodies[2], bodies[0]]);
});

test("other_shape: fields of the data are set and left out, in every event of a type while it is on", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  sending.register(endpoint.url);
  sending.faults.add({
    kind: "other_shape",
    eventType: "esim.faulted",
    probability: 1,
    set: { channel: "app", reason: 7 },
    unset: ["esimReference"],
  });
  for (const type of ["esim.faulted", "esim.enabled", "esim.faulted"])
    sending.emit(type, { ...esim, reason: "user_rejected" });
  await sending.sender.settle();
  const sent = endpoint.got.map(({ body }) => JSON.parse(body) as { type: string; data: object });
  const { esimReference: _, ...rest } = esim;
  expect(sent.map(({ data }) => data)).toEqual([
    { ...rest, reason: 7, channel: "app" },
    { ...esim, reason: "user_rejected" },
    { ...rest, reason: 7, channel: "app" },
  ]);
});

test("new_reason: an event without a reason is sent as it is", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  sending.register(endpoint.url);
  sending.faults.add({ kind: "new_reason" });
  sending.emit();
  await sending.sender.settle();
  expect(JSON.parse(endpoint.got[0]?.body ?? "")).toMatchObject({ type: "esim.enabled", data: esim });
});

test("cut: the body never arrives whole, and the attempt is made again", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.faults.add({ kind: "cut" });
  sending.emit();
  await sending.sender.settle();
  expect(endpoint.got).toHaveLength(0);
  expect(sending.list(registered)).toMatchObject([{ status: "failed", attemptNumber: 1, httpStatus: null }]);
  await advance(service.clock, sending.sender, 30_000);
  expect(endpoint.got).toHaveLength(1);
  expect(sending.list(registered)).toMatchObject([{ status: "delivered", attemptNumber: 2 }]);
});

describe("half_open: half of the body, then silence on an open connection", () => {
  test("a receiver of ours answers 408 within bodyTimeoutMs, and gets the next attempt whole", async () => {
    const service = testService();
    await using sending = startSending(service);
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const registered = sending.register(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    );
    const handled: string[] = [];
    const options = { secret: registered.signingSecret, bodyTimeoutMs: 2000, logger: silentLogger };
    const handler = nodeHandler({ "*": ({ id }) => void handled.push(id) }, options);
    server.on("request", handler);

    sending.faults.add({ kind: "half_open" });
    const ids = sending.emit();
    await sending.sender.settle();
    expect(handled).toEqual([]);
    expect(sending.list(registered)).toMatchObject([{ status: "failed", attemptNumber: 1, httpStatus: 408 }]);
    await advance(service.clock, sending.sender, 30_000);
    expect(handled).toEqual(ids);
    expect(sending.list(registered)).toMatchObject([{ status: "delivered", attemptNumber: 2 }]);
    server.close();
    server.closeAllConnections();
    await handler.close();
  });

  test("a receiver that waits for the rest has hung when the time for an answer is over", async () => {
    const service = testService({ answerLimitMs: 300 });
    await using endpoint = await startEndpoint(); // it answers when the body is there
    await using sending = startSending(service);
    const registered = sending.register(endpoint.url);
    sending.faults.add({ kind: "half_open" });
    sending.emit();
    await sending.sender.settle();
    expect(sending.list(registered)).toMatchObject([
      { status: "failed", attemptNumber: 1, httpStatus: null },
    ]);
    await expect.poll(endpoint.cut).toBe(1); // the connection is not left open
    expect(endpoint.got).toHaveLength(0);
  });
});

test("slow: the body arrives whole, and its time is not the endpoint's", async () => {
  const service = testService();
  await using endpoint = await startEndpoint();
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  sending.faults.add({ kind: "slow", bytesPerSecond: 150 });
  sending.emit();
  await sending.sender.settle();
  expect(endpoint.got.every((got) => isSignedWith(registered.signingSecret, got))).toBe(true);
  expect(sending.list(registered)).toMatchObject([{ status: "delivered", attemptNumber: 1 }]);
});

test("random faults strike the same deliveries again with the same seed", async () => {
  async function statuses(): Promise<string[]> {
    const service = testService();
    await using endpoint = await startEndpoint();
    await using sending = startSending(service);
    const registered = sending.register(endpoint.url);
    sending.faults.add({ kind: "cut", probability: 0.3 });
    for (let n = 0; n < 100; n++) sending.emit();
    await sending.sender.settle();
    return sending.list(registered).map(({ status }) => status);
  }
  const once = await statuses();
  expect(new Set(once)).toEqual(new Set(["delivered", "failed"]));
  expect(await statuses()).toEqual(once);
});
