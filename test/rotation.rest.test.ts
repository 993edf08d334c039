import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import {
  createReceiver,
  type LoadedKeys,
  memoryStore,
  nodeHandler,
  type Receiver,
} from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { importDeliveries } from "@esim-webhooks/import";
import { describe, expect, it } from "vitest";
import { listen } from "./listen.ts";
import { rotateUnderLoad } from "./rotation.ts";
import { type Sent, scheduleSeconds, sendAsThePartnerApi } from "./sender.ts";

it.concurrent("loses nothing and handles nothing twice through 3 rotations under load, on two receivers, amid forged deliveries", () =>
  rotateUnderLoad(3));

it.concurrent("loses nothing when a static secret is rotated by docs/rotation.md: hold off, rotate, start with both secrets", async () => {
  let secret = newSecret();
  const store = memoryStore();
  const handled: string[] = [];
  const start = (secrets: string) =>
    nodeHandler({ "*": ({ id }) => void handled.push(id) }, { secret: secrets, store });
  let receiver = start(secret);
  const heldOff = Promise.withResolvers<void>();
  const server = await listen(
    (request, response) => {
      response.on("finish", () => response.statusCode === 503 && heldOff.resolve());
      receiver(request, response);
    },
    "/webhooks",
    async () => {},
  );
  const sendOne = (id: string) =>
    sendAsThePartnerApi(id, { secret: () => secret, url: () => server.url, speed: 1000 });

  const stop = new AbortController();
  const events: Promise<Sent>[] = [];
  const stream = (async () => {
    for (let index = 0; !stop.signal.aborted; index++) {
      events.push(sendOne(`msg_${index}`));
      await pause(3);
    }
  })();
  await pause(200);
  await receiver.close();
  const old = secret;
  secret = newSecret();
  await heldOff.promise;
  receiver = start(`${old} ${secret}`);
  await pause(200);
  stop.abort();
  await stream;
  const sent = await Promise.all(events);
  await server.close();

  expect(sent.filter(({ end }) => end !== "delivered")).toEqual([]);
  expect(sent.some(({ statuses }) => statuses.includes(503))).toBe(true);
  expect(handled.toSorted()).toEqual(sent.map(({ id }) => id).toSorted());
});

describe.concurrent("deliveries at each of their ten attempts when the secret is rotated", () => {
  const rotatedAt = Date.parse("2026-11-20T12:00:00Z");
  const inPlaceAt = rotatedAt + 120_000;
  const data = sampleData("esim.enabled");
  const [old, fresh] = [newSecret(), newSecret()];

  interface Delivery {
    readonly id: string;
    attempt: number;
    dueMs: number;
    readonly statuses: number[];
    status: "pending" | "delivered" | "failed" | "exhausted";
  }

  /** Ten deliveries whose first to tenth attempt is due at the rotation, each sent until its end on a clock of its own. */
  async function sendAll(
    receiverAt: (nowMs: number) => Receiver,
    time: { now: number },
  ): Promise<Delivery[]> {
    const deliveries = scheduleSeconds.map(
      (_, index): Delivery => ({
        id: `msg_${index + 1}`,
        attempt: index + 1,
        dueMs: rotatedAt,
        statuses: [],
        status: "pending",
      }),
    );
    const isOpen = ({ status }: Delivery) => status === "pending";
    while (deliveries.some(isOpen)) {
      time.now = Math.min(...deliveries.filter(isOpen).map(({ dueMs }) => dueMs));
      const receiver = receiverAt(time.now);
      const due = deliveries.filter((delivery) => isOpen(delivery) && delivery.dueMs === time.now);
      await Promise.all(due.map((delivery) => attempt(receiver, delivery, time.now)));
    }
    return deliveries;
  }

  async function attempt(receiver: Receiver, delivery: Delivery, nowMs: number): Promise<void> {
    const { id } = delivery;
    const request = signedRequest(
      { id, type: "esim.enabled", data, timestamp: new Date(rotatedAt).toISOString() },
      { secret: fresh, at: new Date(nowMs) },
    );
    const { status } = await receiver.receive(request);
    delivery.statuses.push(status);
    const waitSeconds = scheduleSeconds[delivery.attempt];
    if (status < 300) delivery.status = "delivered";
    else if (status < 500) delivery.status = "failed";
    else if (waitSeconds === undefined) delivery.status = "exhausted";
    else {
      delivery.attempt += 1;
      delivery.dueMs += waitSeconds * 1000;
    }
  }

  /** The deliveries listing of the API. */
  function listingOf(deliveries: readonly Delivery[]): Readable {
    const timestamp = new Date(rotatedAt).toISOString();
    const records = deliveries.map(({ id, status, attempt: attemptNumber }) => ({
      eventType: "esim.enabled",
      eventId: id,
      payload: { type: "esim.enabled", timestamp, data },
      status,
      attemptNumber,
    }));
    return Readable.from([Buffer.from(JSON.stringify({ data: records, pagination: {} }))]);
  }

  it.each(["a key source", "a static secret"])(
    "with %s, all are handled but those whose tenth attempt met a 503: they are exhausted in the listing, and reconciled from it",
    async (kind) => {
      const time = { now: rotatedAt };
      const handled: string[] = [];
      const handlers = { "*": ({ id }: { id: string }) => void handled.push(id) };
      const store = memoryStore();
      const options = { store, clock: { now: () => time.now } };
      const rotating: LoadedKeys = { keys: [old], rotatingUntil: new Date(rotatedAt + 600_000) };
      const load = async () => (time.now < inPlaceAt ? rotating : { keys: [old, fresh] });
      const secret = kind === "a key source" ? { load } : old;
      const before = createReceiver(handlers, { ...options, secret });
      const after =
        kind === "a key source" ? before : createReceiver(handlers, { ...options, secret: [old, fresh] });
      if (kind === "a static secret") await before.close(); // held off, as docs/rotation.md has it

      const deliveries = await sendAll((nowMs) => (nowMs < inPlaceAt ? before : after), time);

      const lost = deliveries.filter(({ status }) => status !== "delivered");
      expect(lost).toMatchObject([{ id: "msg_10", status: "exhausted", statuses: [503] }]);
      expect(deliveries.map(({ statuses }) => statuses)).toEqual([
        [503, 503, 503, 200], // at once, after 30 s, after 1 min, after 5 min
        [503, 503, 200],
        ...Array(7).fill([503, 200]),
        [503],
      ]);
      expect(handled.length).toBe(9);

      const report = await importDeliveries(listingOf(deliveries), handlers, {
        store,
        trustUnsigned: true,
        statuses: ["exhausted"],
      });
      expect(report.ledger).toMatchObject({ read: 10, stored: 1, filtered: 9 });
      expect(handled.toSorted()).toEqual(deliveries.map(({ id }) => id).toSorted());
    },
  );
});
