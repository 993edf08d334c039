import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  type SendMessageBatchCommandInput,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { type InboxEntry, type InboxWriter, memoryStore } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { lambdaHandler, type SqsHandler, type SqsRecord, sqsHandler } from "@esim-webhooks/lambda";
import { type SqsInboxOptions, sqsInbox } from "@esim-webhooks/lambda/sqs";
import type { SQSHandler } from "aws-lambda";
import { type FauxqsServer, startFauxqs } from "fauxqs";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it, onTestFinished, vi } from "vitest";
import { entry as inboxEntry } from "../../../test/inbox-entry.ts";
import { loggerWith } from "../../../test/support/loggers.ts";

let server: FauxqsServer;
let client: SQSClient;
let queues = 0;

beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false });
  client = new SQSClient({
    endpoint: server.address,
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
});
afterAll(async () => {
  client.destroy();
  await server.stop();
});

/** A new queue, with its inbox and what SQS was asked to send. */
function openQueue({
  attributes = {},
  ...options
}: SqsInboxOptions & { readonly attributes?: Record<string, string> } = {}) {
  queues += 1;
  const isFifo = attributes["FifoQueue"] === "true";
  const { queueUrl, queueName } = server.createQueue(`events-${queues}${isFifo ? ".fifo" : ""}`, {
    attributes,
  });
  const batches: SendMessageBatchCommandInput[] = [];
  const recording = {
    send(command: { readonly input: SendMessageBatchCommandInput }, given?: object) {
      batches.push(command.input);
      return client.send(command as never, given);
    },
  };
  const inbox = sqsInbox(queueUrl, { client: recording, ...options });
  onTestFinished(() => inbox.close());
  const held = () => {
    const { ready = [], inflight = [] } = server.inspectQueue(queueName)?.messages ?? {};
    return ready.length + inflight.length;
  };
  return { queueUrl, inbox, batches, held };
}

const remaining = (ms: number) => ({ getRemainingTimeInMillis: () => ms });
const fifo = { FifoQueue: "true" };

/** What Lambda does for a queue: invokes the handler with up to ten messages, deletes what is done, and returns the rest to the queue. */
async function invoke(queueUrl: string, handler: SqsHandler, leftMs = 30_000) {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ["All"],
    }),
  );
  const Records = Messages.map(
    ({ MessageId = "", Body = "", Attributes = {} }): SqsRecord => ({
      messageId: MessageId,
      body: Body,
      attributes: Attributes as SqsRecord["attributes"],
      eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:${queueUrl.split("/").at(-1)}`,
    }),
  );
  const error = await handler({ Records }, remaining(leftMs)).catch((thrown) => thrown);
  const failed: { itemIdentifier: string }[] =
    error.batchItemFailures ?? Records.map(({ messageId }) => ({ itemIdentifier: messageId }));
  for (const { MessageId, ReceiptHandle } of Messages) {
    const hasFailed = failed.some(({ itemIdentifier }) => itemIdentifier === MessageId);
    const about = { QueueUrl: queueUrl, ReceiptHandle };
    await client.send(
      hasFailed
        ? (new ChangeMessageVisibilityCommand({ ...about, VisibilityTimeout: 0 }) as never)
        : new DeleteMessageCommand(about),
    );
  }
  return { received: Messages.length, failed: failed.length, code: error.code as string | undefined };
}

function numbered(count: number, changes: (n: number) => Partial<InboxEntry> = () => ({})): InboxEntry[] {
  return Array.from({ length: count }, (_, n) => ({ ...inboxEntry(`msg_${n}`), ...changes(n) }));
}

/** Handles all that is in the queue. Resolves to the ids, in the order of their handlers. */
async function handledIn(queueUrl: string): Promise<string[]> {
  const ids: string[] = [];
  const handler = sqsHandler({ "*": ({ id }) => void ids.push(id) });
  while ((await invoke(queueUrl, handler)).received > 0);
  return ids;
}

describe("sqsInbox", () => {
  it("stores a delivery, whose event reaches the handler as it was received", async () => {
    const { queueUrl, inbox, held } = openQueue();
    await inbox.ready();
    const secret = newSecret();
    const receiver = lambdaHandler(inbox, { secret, source: "eu" });
    const data = { ...sampleData("esim.faulted"), detail: "\uffff\ufffe \u0000 žluťoučký" };
    const { headers, body } = signedRequest({ type: "esim.faulted", data }, { secret });
    const requestContext = { http: { method: "POST" } };
    const event = { headers: headers as Record<string, string>, body, requestContext };
    expect(await receiver(event, remaining(30_000))).toMatchObject({ statusCode: 202 });
    const handle = vi.fn();
    expect(await invoke(queueUrl, sqsHandler({ "esim.faulted": handle }))).toMatchObject({
      received: 1,
      failed: 0,
    });
    expect(handle).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ id: headers["webhook-id"], data }),
      expect.objectContaining({ source: "eu", attempt: 1, replayed: false }),
    );
    expect(held()).toBe(0);
  });

  it("sends concurrent deliveries in batches of ten", async () => {
    const { queueUrl, inbox, batches } = openQueue();
    const results = await Promise.all(numbered(95).map((entry) => inbox.put([entry])));
    expect(new Set(results.flat())).toEqual(new Set(["stored"]));
    expect(batches.map(({ Entries }) => Entries?.length)).toEqual([...Array(9).fill(10), 5]);
    expect(new Set(await handledIn(queueUrl)).size).toBe(95);
  });

  it("splits batches by their bytes, so that none exceeds 1 MiB", async () => {
    const { queueUrl, inbox, batches } = openQueue();
    const { body } = inboxEntry("msg_0");
    const padded = Buffer.concat([body, Buffer.alloc(300_000, " ")]);
    await inbox.put(numbered(5, () => ({ body: padded })));
    expect(batches.map(({ Entries }) => Entries?.length)).toEqual([2, 2, 1]);
    expect((await handledIn(queueUrl)).sort()).toEqual(["msg_0", "msg_1", "msg_2", "msg_3", "msg_4"]);
  });

  it("refuses a body that no message has room for, and says so", async () => {
    const { inbox, batches } = openQueue();
    const body = Buffer.alloc(800_000, " ");
    await expect(inbox.put([{ ...inboxEntry("msg_0"), body }])).rejects.toMatchObject({
      code: "message_too_large",
    });
    await inbox.put([{ ...inboxEntry("msg_0"), body: body.subarray(0, 780_000) }]);
    expect(batches.length).toBe(1);
  });

  it("acknowledges no delivery whose message SQS refused, and the others of its batch", async () => {
    const { queueUrl, inbox, batches } = openQueue({ attributes: { MaximumMessageSize: "2048" } });
    const [small, large, other] = numbered(3, (n) => (n === 1 ? { body: Buffer.alloc(4000, " ") } : {}));
    const results = await Promise.allSettled(
      [small, large, other].map((entry) => inbox.put([entry as InboxEntry])),
    );
    expect(batches.length).toBe(1);
    expect(results).toMatchObject([
      { value: ["stored"] },
      { reason: { code: "store_unavailable" } },
      { value: ["stored"] },
    ]);
    expect((await handledIn(queueUrl)).sort()).toEqual(["msg_0", "msg_2"]);
  });

  it("rejects all when SQS answers for none of them", async () => {
    const silent = { send: async () => ({}) };
    const inbox = sqsInbox("https://sqs.example/1/events", { client: silent });
    await expect(inbox.put(numbered(2))).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("says that there is no such queue, that rights are missing, and that SQS does not answer", async () => {
    const { queueUrl } = openQueue();
    const missing = sqsInbox(`${queueUrl}-none`, { client });
    await expect(missing.put(numbered(1))).rejects.toMatchObject({ code: "unknown_queue" });
    await expect(missing.ready()).rejects.toMatchObject({ code: "unknown_queue" });
    const denied = Object.assign(new Error("denied"), { name: "AccessDenied" });
    const refused = sqsInbox(queueUrl, { client: { send: () => Promise.reject(denied) } });
    await expect(refused.put(numbered(1))).rejects.toMatchObject({ code: "missing_rights" });
    const hanging = sqsInbox(queueUrl, { client: { send: () => new Promise(() => {}) }, timeoutMs: 20 });
    await expect(hanging.put(numbered(1))).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("has the events of a lane in a FIFO queue in one group, in the order in which they arrived", async () => {
    const { queueUrl, inbox, batches } = openQueue({
      attributes: fifo,
      lane: ({ data }) => data.esimReference,
    });
    const entries = Array.from({ length: 25 }, (_, n) =>
      inboxEntry(`msg_${n}`, { esim: "8932042000010012344" }),
    );
    await Promise.all(entries.map((entry) => inbox.put([entry])));
    const groups = batches.flatMap(({ Entries = [] }) => Entries.map(({ MessageGroupId }) => MessageGroupId));
    expect(new Set(groups).size).toBe(1);
    expect(String(groups[0])).not.toContain("8932042000010012344");
    expect(await handledIn(queueUrl)).toEqual(entries.map(({ id }) => id));
  });

  it("stores a redelivery once in a FIFO queue, and the same id of another source or with another body again", async () => {
    const { inbox, held } = openQueue({ attributes: fifo });
    const [entry] = numbered(1) as [InboxEntry];
    expect(await inbox.put([entry])).toEqual(["stored"]);
    expect(await inbox.put([entry])).toEqual(["stored"]);
    expect(held()).toBe(1);
    await inbox.put([{ ...entry, source: "other" }]);
    expect(held()).toBe(2);
    await inbox.put([{ ...entry, body: Buffer.concat([entry.body, Buffer.from(" ")]) }]);
    expect(held()).toBe(3);
  });

  it("states what it guarantees, and refuses lanes in a standard queue and a missing URL", () => {
    const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/events";
    const standard = sqsInbox(url, { client });
    expect(standard).toMatchObject({
      place: "SQS queue events",
      capabilities: { roles: ["writer"], ordered: false },
    });
    expect(sqsInbox(`${url}.fifo`, { client }).capabilities).toMatchObject({
      ordered: true,
      retentionMs: 300_000,
    });
    expect(() => sqsInbox(url, { client, lane: () => "a" })).toThrow(/standard queue has no order/);
    expect(() => sqsInbox(undefined as never)).toThrow(/no queue URL/);
    expectTypeOf(standard).toExtend<InboxWriter>();
  });
});

describe("sqsHandler", () => {
  it("reports only the messages whose handlers failed, and handles those again", async () => {
    const { queueUrl, inbox, held } = openQueue();
    await inbox.put(numbered(4));
    const attempts: string[] = [];
    const handler = sqsHandler({
      "*": ({ id }, { attempt, retryLater }) => {
        attempts.push(`${id} ${attempt}`);
        if (id === "msg_1" && attempt === 1) throw new Error("the shop is down");
        return id === "msg_2" && attempt === 1 ? retryLater(1000) : undefined;
      },
    });
    expect(await invoke(queueUrl, handler)).toMatchObject({ received: 4, failed: 2, code: undefined });
    expect(held()).toBe(2);
    expect(await invoke(queueUrl, handler)).toMatchObject({ received: 2, failed: 0 });
    expect(attempts.sort()).toEqual(["msg_0 1", "msg_1 1", "msg_1 2", "msg_2 1", "msg_2 2", "msg_3 1"]);
    expect(held()).toBe(0);
  });

  it("handles a message that is delivered twice once, and logs the conflict of another body with its id", async () => {
    const { queueUrl, inbox } = openQueue();
    const [entry] = numbered(1) as [InboxEntry];
    const error = vi.fn();
    const logger = loggerWith({ error });
    const handle = vi.fn();
    const handler = sqsHandler({ "*": handle }, { store: memoryStore(), logger });
    await inbox.put([entry]);
    await invoke(queueUrl, handler);
    await inbox.put([entry]);
    expect(await invoke(queueUrl, handler)).toMatchObject({ received: 1, failed: 0 });
    expect(error).not.toHaveBeenCalled();
    await inbox.put([{ ...entry, body: Buffer.concat([entry.body, Buffer.from(" ")]) }]);
    expect(await invoke(queueUrl, handler)).toMatchObject({ received: 1, failed: 0 });
    expect(handle).toHaveBeenCalledOnce();
    expect(error).toHaveBeenCalledOnce();
  });

  it("leaves the rest of a FIFO group in the queue after a message that failed, in its order, and handles the other groups", async () => {
    const { inbox, batches } = openQueue({ attributes: fifo, lane: ({ data }) => data.esimReference });
    const inLane = (id: string, esim: string) => inboxEntry(id, { esim });
    await inbox.put([
      inLane("a1", "a"),
      inLane("a2", "a"),
      inLane("a3", "a"),
      inLane("b1", "b"),
      inLane("b2", "b"),
    ]);
    const ids: string[] = [];
    let isDown = true;
    const handler = sqsHandler({
      "*": ({ id }) => {
        ids.push(id);
        if (id === "a2" && isDown) throw new Error("down");
      },
    });
    // Lambda passes on several messages of a group, which the fake queue never hands out together
    const Records = batches.flatMap(({ Entries = [] }) =>
      Entries.map(({ MessageBody = "", MessageGroupId = "" }, index): SqsRecord => {
        const attributes = { ApproximateReceiveCount: "1", MessageGroupId };
        return {
          messageId: `${index}`,
          body: MessageBody,
          attributes,
          eventSourceARN: "arn:aws:sqs:eu:1:a.fifo",
        };
      }),
    );
    const { batchItemFailures } = await handler({ Records }, remaining(30_000));
    expect(batchItemFailures).toEqual([{ itemIdentifier: "1" }, { itemIdentifier: "2" }]);
    expect(ids.toSorted()).toEqual(["a1", "a2", "b1", "b2"]);
    isDown = false;
    expect(await handler({ Records: Records.slice(1, 3) })).toEqual({ batchItemFailures: [] });
    expect(ids.filter((id) => id.startsWith("a"))).toEqual(["a1", "a2", "a2", "a3"]);
  });

  it("rejects when no message is done, so that SQS deletes none even without ReportBatchItemFailures", async () => {
    const { queueUrl, inbox, held } = openQueue();
    await inbox.put(numbered(3));
    const handler = sqsHandler({ "*": () => Promise.reject(new Error("down")) });
    expect(await invoke(queueUrl, handler)).toMatchObject({ received: 3, failed: 3, code: "batch_failed" });
    expect(held()).toBe(3);
  });

  it("keeps what is no message of sqsInbox, and what does not fit its schema, for the dead-letter queue", async () => {
    const { queueUrl, inbox, held } = openQueue();
    const log = vi.fn();
    const logger = loggerWith({ warn: log, error: log });
    await inbox.put([{ ...inboxEntry("msg_invalid"), body: Buffer.from("[]") }, inboxEntry("msg_good")]);
    await client.send(
      new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: "+420 601 123 456 is not JSON" }),
    );
    const handler = sqsHandler({ "*": () => {} }, { logger });
    expect(await invoke(queueUrl, handler)).toMatchObject({ received: 3, failed: 2 });
    expect(held()).toBe(2);
    expect(log.mock.calls.map(([{ code }]) => code)).toContain("message_failed");
    expect(log.mock.calls.map(([{ err }]) => String(err?.stack)).join()).not.toContain("601 123");
  });

  it("acknowledges an event without a handler, as a receiver with handlers does", async () => {
    const { queueUrl, inbox, held } = openQueue();
    await inbox.put(numbered(1));
    expect(await invoke(queueUrl, sqsHandler({ "esim.faulted": () => {} }))).toMatchObject({ failed: 0 });
    expect(held()).toBe(0);
  });

  it("keeps what is not done when the function's time ends, and aborts its handlers", async () => {
    const { queueUrl, inbox, held } = openQueue();
    await inbox.put(numbered(2));
    const aborted = Promise.withResolvers<void>();
    const handler = sqsHandler({
      "*": ({ id }, { signal }) =>
        id === "msg_0"
          ? undefined
          : new Promise<void>(() => signal.addEventListener("abort", () => aborted.resolve())),
    });
    expect(await invoke(queueUrl, handler, 550)).toMatchObject({ received: 2, failed: 1 });
    await aborted.promise;
    expect(held()).toBe(1);
  });

  it.each([500, 0, -1, Number.NaN])(
    "starts nothing with %d ms left, and keeps all messages",
    async (leftMs) => {
      const { queueUrl, inbox, held } = openQueue();
      await inbox.put(numbered(2));
      const handle = vi.fn();
      const result = await invoke(queueUrl, sqsHandler({ "*": handle }), leftMs);
      expect(result).toMatchObject({ failed: 2, code: "batch_failed" });
      expect(handle).not.toHaveBeenCalled();
      expect(held()).toBe(2);
    },
  );

  it("rejects an event that is not of SQS, and names lambdaHandler", async () => {
    const handler = sqsHandler({ "*": () => {} });
    for (const event of [{ Records: [] }, { Records: [{ Sns: {} }] }, {}, null]) {
      await expect(handler(event as never)).rejects.toMatchObject({
        code: "unknown_event_source",
        message: expect.stringContaining("lambdaHandler"),
      });
    }
    expectTypeOf(handler).toExtend<SQSHandler>();
  });
});
