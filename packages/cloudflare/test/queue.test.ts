import { type QueueMessage, type QueueProducer, queueHandler, queueInbox } from "@esim-webhooks/cloudflare";
import {
  type DedupeStore,
  type EsimEvents,
  type HandlerContext,
  type Handlers,
  memoryStore,
  webhookHandler,
} from "@esim-webhooks/core";
import { newSecret, type SignedRequest, sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { loggerWith } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";

const secret = newSecret();

function faulted(data: Record<string, unknown> = {}): SignedRequest {
  return signedDelivery(secret, { data });
}

/** A Queue that keeps what it was sent, as the JSON that it would be. */
function recordingQueue() {
  const sent: unknown[] = [];
  const queue: QueueProducer = { send: async (message) => sent.push(JSON.parse(JSON.stringify(message))) };
  return { queue, sent };
}

async function received(queue: QueueProducer, request: SignedRequest): Promise<[number, unknown]> {
  const receive = webhookHandler(queueInbox(queue), { secret });
  const response = await receive(new Request("https://localhost/webhooks", request));
  return [response.status, await response.json()];
}

/** What a consumer does with one message: "ack", or the seconds after which it asks for it again. */
async function consumed(
  body: unknown,
  handlers: Handlers<EsimEvents>,
  { attempts = 1, store = memoryStore() }: { attempts?: number; store?: DedupeStore } = {},
) {
  const endings: unknown[] = [];
  const lines: Record<string, unknown>[] = [];
  const message: QueueMessage = {
    id: "message-1",
    body,
    attempts,
    ack: () => void endings.push("ack"),
    retry: ({ delaySeconds }) => void endings.push(delaySeconds),
  };
  const logger = loggerWith({ error: (fields) => void lines.push(fields) });
  await queueHandler(handlers, { store, logger })({ messages: [message] });
  expect(endings).toHaveLength(1);
  return { ending: endings[0], errors: lines };
}

async function message(data: Record<string, unknown> = {}): Promise<unknown> {
  const { queue, sent } = recordingQueue();
  expect(await received(queue, faulted(data))).toEqual([202, { outcome: "stored" }]);
  return sent[0];
}

describe("queueInbox", () => {
  it("answers 503, and so has the sender try again, unless the Queue has accepted the event", async () => {
    const queue: QueueProducer = { send: () => Promise.reject(new Error("Queue is overloaded")) };
    expect(await received(queue, faulted())).toMatchObject([503, { code: "store_unavailable" }]);
  });

  it("sends nothing longer than a message can be, and says so", async () => {
    const { queue, sent } = recordingQueue();
    expect(await received(queue, faulted({ note: "x".repeat(90_000) }))).toMatchObject([202, {}]);
    expect(await received(queue, faulted({ note: "x".repeat(100_000) }))).toMatchObject([503, {}]);
    expect(sent).toHaveLength(1);
    expect(JSON.stringify(sent[0]).length).toBeLessThan(128_000);
  });

  it("says what to add to wrangler.jsonc when the binding is missing", () => {
    expect(() => queueInbox(undefined as never)).toThrow(
      /queueInbox: .*queues\.producers in wrangler\.jsonc/,
    );
  });
});

describe("queueHandler", () => {
  it("gives the handler the event as it was signed, with its source and its attempt", async () => {
    const seen: unknown[] = [];
    const body = await message({ esimReference: "größer 📶", unknownField: 1 });
    const { ending } = await consumed(
      body,
      { "*": ({ type, data }, { source, attempt }) => void seen.push([type, data, source, attempt]) },
      { attempts: 3 },
    );
    expect(ending).toBe("ack");
    const data = { ...sampleData("esim.faulted"), esimReference: "größer 📶", unknownField: 1 };
    expect(seen).toEqual([["esim.faulted", data, "default", 3]]);
  });

  it("acknowledges a second message of an event without running its handler again", async () => {
    const ran: string[] = [];
    const handlers = { "*": ({ id }: { readonly id: string }) => void ran.push(id) };
    const body = await message();
    const store = memoryStore();
    for (const _ of [1, 2])
      expect(await consumed(body, handlers, { store })).toMatchObject({ ending: "ack" });
    expect(ran).toHaveLength(1);
  });

  it.each([
    ["acknowledges what the handler discards", discards, 1, 0, 0, "ack"],
    ["retries after the time that the handler asks for, in whole seconds", asksFor(90_500), 1, 91, 91, 91],
    [
      "retries after 12 hours, the limit of a Queue, if it asks for more",
      asksFor(80_000_000),
      1,
      43_200,
      43_200,
      43_200,
    ],
    ["retries within a second after the first failure", fails, 1, 0, 1, "seconds"],
    ["retries within 15 minutes after the twentieth", fails, 20, 0, 900, "seconds"],
  ])("%s", async (_, handler, attempts, least, most, expected) => {
    const { ending } = await consumed(await message(), { "*": handler }, { attempts });
    if (expected !== "seconds") return expect(ending).toBe(expected);
    expect(ending).toBeGreaterThanOrEqual(least);
    expect(ending).toBeLessThanOrEqual(most);
  });

  it("acknowledges an event without a handler", async () => {
    expect(await consumed(await message(), { "esim.assigned": () => {} })).toMatchObject({ ending: "ack" });
  });

  it("hurries an event that does not fit its schema to the dead letters, and logs one error, without its data", async () => {
    const body = await message({ reason: null });
    const { ending, errors } = await consumed(body, { "*": () => {} });
    expect(ending).toBe(0);
    expect(errors).toMatchObject([{ outcome: "invalid", type: "esim.faulted", source: "default" }]);
    expect(JSON.stringify(errors)).not.toContain(sampleData("esim.faulted").esimReference);
    expect(await consumed(body, { "*": () => {} }, { attempts: 2 })).toEqual({ ending: 0, errors: [] });
  });

  it("retries a message that is not of queueInbox, so that it becomes a dead letter, and logs what is wrong", async () => {
    const { ending, errors } = await consumed({ hello: 1 }, { "*": () => {} });
    expect(ending).toBeTypeOf("number");
    expect(errors).toMatchObject([{ message: "message-1", err: { code: "invalid_input" } }]);
  });

  it("retries an event while its store is unreachable, runs no handler, and logs the reason", async () => {
    const reason = new Error("no such object");
    const store = { ...memoryStore(), claim: () => Promise.reject(reason) };
    const handlers = { "*": () => expect.unreachable() };
    const { ending, errors } = await consumed(await message(), handlers, { store });
    expect(ending).toBe(5);
    expect(errors).toMatchObject([{ outcome: "store_unavailable", err: reason }]);
  });

  it("removes an event whose id was done with another body, and logs an error", async () => {
    const store = memoryStore();
    const body = (await message()) as { body: string };
    await consumed(body, { "*": () => {} }, { store });
    const other = Buffer.from(`${Buffer.from(body.body, "base64")} `).toString("base64");
    const { ending, errors } = await consumed({ ...body, body: other }, { "*": () => {} }, { store });
    expect(ending).toBe("ack");
    expect(errors).toMatchObject([{ outcome: "conflict" }]);
  });

  it("cannot be made without a store", () => {
    expect(() => queueHandler({ "*": () => {} }, {} as never)).toThrow(/queueHandler: .*durableObjectStore/);
  });
});

function discards(_: unknown, context: HandlerContext): never {
  return context.discard("no effect");
}

function asksFor(ms: number): (event: unknown, context: HandlerContext) => never {
  return (_, context) => context.retryLater(ms);
}

function fails(): never {
  throw new Error("no connection");
}
