import { createHash } from "node:crypto";
import {
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  type SendMessageBatchCommandOutput,
  type SendMessageBatchRequestEntry,
  SQSClient,
} from "@aws-sdk/client-sqs";
import {
  type InboxEntry,
  type InboxWriter,
  type LaneOf,
  type Logger,
  WebhookError,
} from "@esim-webhooks/core";
import {
  coalesce,
  createStoreGuard,
  durationMs,
  inboxShape,
  laneReader,
  type OptionsShape,
  parseOptions,
  withMethods,
} from "@esim-webhooks/core/engine";
import { loggerOption, type SettingsOf, silentLogger } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { type AwsClient, awsErrorName, checkName, refusedBy } from "./base/aws.ts";
import type { LambdaErrorCode } from "./base/errors.ts";
import { encodeMessage } from "./base/message.ts";

/** Options of `sqsInbox`. */
export interface SqsInboxOptions {
  /** An `SQSClient`, which stays yours to destroy. Default: a new one, with the function's own region and role. */
  client?: AwsClient;
  /**
   * The lane of an event, such as `(event) => event.data.esimReference`: events of a lane are handled one at a time, as they arrived.
   * Needs a FIFO queue. Default: no lanes.
   */
  lane?: LaneOf;
  /** How long one call of SQS may take, in ms. Default 5,000. */
  timeoutMs?: number;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
}

const shape: OptionsShape<SettingsOf<SqsInboxOptions, "client" | "lane">> = {
  client: z.optional(withMethods<AwsClient>("send")),
  lane: inboxShape.lane,
  timeoutMs: z._default(durationMs(1), 5000),
  logger: z._default(loggerOption, () => silentLogger),
};

/** The limit of one message, and of all messages of a batch together: bytes of UTF-8. */
const mostBytes = 1024 * 1024;
const mostMessages = 10;
const fifoMemoryMs = 5 * 60_000;

interface Outgoing {
  readonly body: string;
  readonly bytes: number;
  readonly fifo: Pick<SendMessageBatchRequestEntry, "MessageGroupId" | "MessageDeduplicationId">;
}

/**
 * An inbox that sends events to an SQS queue, for `sqsHandler`: `lambdaHandler(sqsInbox(queueUrl))`. Concurrent deliveries share
 * batches, of at most ten messages and 1 MiB. Each is answered 202 once SQS has its own message, and 503 if SQS refused it. A body has room up to
 * 780,000 bytes.
 *
 * It has the role of a writer only. A standard queue stores a redelivery again; a FIFO queue drops one of the same body for five minutes. The
 * store of `sqsHandler` recognizes all of them.
 *
 * Throws `invalid_option`. `put` and `ready` reject with `store_unavailable`, `unknown_queue` and `missing_rights`, `put` also with
 * `message_too_large`. `ready` needs `sqs:GetQueueAttributes`, `put` only `sqs:SendMessage`.
 */
export function sqsInbox(queueUrl: string, options: SqsInboxOptions = {}): InboxWriter {
  const { client, lane, timeoutMs, logger } = parseOptions("sqsInbox", shape, options);
  checkName(queueUrl, "sqsInbox", "queue URL", "Pass the URL of the queue.");
  const isFifo = queueUrl.endsWith(".fifo");
  if (lane !== undefined && !isFifo)
    throw new WebhookError(
      "invalid_option",
      "there is a lane, and a standard queue has no order.",
      "Use a FIFO queue, or leave lane out.",
      { where: "sqsInbox" },
    );
  const place = `SQS queue ${queueUrl.split("/").at(-1)}`;
  const sqs: AwsClient = client ?? new SQSClient({});
  const laneOf = laneReader({ lane }, logger);
  const guard = createStoreGuard({
    name: place,
    timeoutMs,
    logger,
    async check() {}, // it would need a right that sending does not
    explain: (error) =>
      /NonExistentQueue|QueueDoesNotExist/.test(awsErrorName(error))
        ? unknownQueue(place, error)
        : refusedBy(error, `the ${place}`, "sqs:SendMessage, and sqs:GetQueueAttributes for ready()"),
  });
  const call = <Output>(command: object): Promise<Output> =>
    guard.run((abortSignal) => sqs.send(command as never, { abortSignal }) as Promise<Output>);

  /** Returns for each message `stored`, or an error with the reason that SQS gave. */
  async function send(messages: readonly Outgoing[]): Promise<readonly ("stored" | WebhookError)[]> {
    const Entries = messages.map(({ body, fifo }, index) => ({ Id: `${index}`, MessageBody: body, ...fifo }));
    const command = new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries });
    const { Successful = [], Failed = [] } = await call<SendMessageBatchCommandOutput>(command);
    return messages.map((_, index) => {
      if (Successful.some(({ Id }) => Id === `${index}`)) return "stored";
      return refused(place, Failed.find(({ Id }) => Id === `${index}`)?.Code ?? "no answer");
    });
  }

  const enqueue = coalesce(send, {
    maxItems: mostMessages,
    maxFlushes: isFifo ? 1 : 8, // in FIFO, one: two calls may overtake each other
    maxSize: mostBytes,
    sizeOf: ({ bytes }) => bytes,
  });

  return {
    capabilities: {
      roles: ["writer"],
      durable: true,
      multiProcess: true,
      transactional: false,
      ordered: isFifo,
      retentionMs: isFifo ? fifoMemoryMs : 0,
    },
    place,
    ready: () => call(new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["QueueArn"] })),
    async put(entries) {
      const messages = entries.map((entry) => outgoing(entry, isFifo ? fifoOf(entry, laneOf(entry)) : {}));
      return Promise.all(
        messages.map(async (message) => {
          const result = await enqueue(message);
          if (result !== "stored") throw result;
          return result;
        }),
      );
    },
    close: () =>
      guard.close(async () => {
        if (client === undefined) (sqs as SQSClient).destroy();
      }),
  };
}

/** Returns the group and the deduplication id. A lane is a group. An event without a lane has its own group, so that it waits for no other. */
function fifoOf({ source, id, body }: InboxEntry, lane: string | null): Outgoing["fifo"] {
  const key = digest(String(source.length), source, id);
  return {
    MessageGroupId: lane === null ? key : digest("lane", lane),
    // the body is in the digest, so that the same id with another body reaches the store, which reports the conflict
    MessageDeduplicationId: digest(key, body),
  };
}

/** Hashes parts to an id. SQS accepts up to 128 characters of a limited set, and logs them. */
function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\n");
  return hash.digest("base64url");
}

function outgoing(entry: InboxEntry, fifo: Outgoing["fifo"]): Outgoing {
  const body = encodeMessage(entry);
  const bytes = Buffer.byteLength(body);
  if (bytes <= mostBytes) return { body, bytes, fifo };
  throw new WebhookError<LambdaErrorCode>(
    "message_too_large",
    `The message of a delivery would have ${bytes} bytes, and SQS takes at most ${mostBytes}.`,
    "Store such events in an inbox without this limit, such as postgresInbox.",
  );
}

function refused(place: string, code: string): WebhookError {
  return new WebhookError(
    "store_unavailable",
    `The ${place} did not take a message (${code}).`,
    "The sender tries again. If it persists, look the code up in the SQS API reference, under SendMessage.",
  );
}

function unknownQueue(place: string, cause: unknown): WebhookError<LambdaErrorCode> {
  return new WebhookError<LambdaErrorCode>(
    "unknown_queue",
    `There is no ${place}.`,
    "Create it, or correct the URL. It must be in the region of the client.",
    { cause },
  );
}
