import { type EsimEvents, type Handlers, type ProcessorOptions, WebhookError } from "@esim-webhooks/core";
import { createDeadline, createEntryProcessor, warnOfSetup } from "@esim-webhooks/core/engine";
import { safeLogger, silentLogger } from "@esim-webhooks/core/internal";
import { type LambdaErrorCode, unknownEventSource } from "./base/errors.ts";
import { decodeMessage } from "./base/message.ts";
import { type LambdaContext, remainingMs } from "./base/remaining-time.ts";
import { groupsOf, type SqsBatchResult, type SqsEvent, type SqsRecord } from "./base/sqs-event.ts";

const longestInvocationMs = 15 * 60_000;

/** A Lambda function of SQS messages. */
export type SqsHandler = (event: SqsEvent, context?: LambdaContext) => Promise<SqsBatchResult>;

/**
 * Handles the messages of `sqsInbox`: `export const handler = sqsHandler(handlers, { store })`. The event source mapping needs
 * `ReportBatchItemFailures`: without it, SQS deletes the messages that failed as well.
 *
 * Messages of a batch are handled concurrently. In a FIFO queue, those of a group are handled one after the other, and if one fails, the rest
 * of its group stays in the queue. Half a second before the function's timeout, handlers are aborted, and what is not done stays in the queue. A
 * message that fails is delivered again after the visibility timeout, also when its handler called `retryLater`, and goes to the
 * dead-letter queue after `maxReceiveCount` attempts. An event without a handler is done, as in a receiver with handlers.
 *
 * Throws like `createProcessor`. The handler rejects with `batch_failed` when no message is done, and with `unknown_event_source` for an event that is
 * not of SQS.
 */
export function sqsHandler<Data = EsimEvents, Tx = unknown>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: ProcessorOptions<Data, Tx> = {},
): SqsHandler {
  const processEntry = createEntryProcessor<Data, Tx>(handlers, options);
  const logger = safeLogger(options.logger ?? silentLogger);

  async function handle({ body: text, attributes }: SqsRecord, signal: AbortSignal): Promise<boolean> {
    const attempt = Number(attributes.ApproximateReceiveCount);
    const { ending, report } = await processEntry(decodeMessage(text), { attempt, signal });
    report();
    return ending.state === "done" || ending.state === "unhandled";
  }

  async function handleSafely(record: SqsRecord, signal: AbortSignal): Promise<boolean> {
    try {
      return await handle(record, signal);
    } catch (err) {
      const text = "A message of SQS could not be read or handled, and stays in the queue. See its error.";
      warnOfSetup(logger, "message_failed", text, err);
      return false;
    }
  }

  return async (event, context) => {
    if (!Array.isArray(event?.Records) || typeof event.Records[0]?.body !== "string")
      throw unknownEventSource(
        "sqsHandler",
        "The event is not a batch of SQS messages.",
        "Connect sqsHandler to a queue of SQS. For HTTP requests, use lambdaHandler.",
      );
    const limitMs = remainingMs(context) ?? longestInvocationMs;
    const done = new Set<string>();
    const deadline = createDeadline(limitMs);
    const { signal } = deadline;
    const work = async (records: readonly SqsRecord[]) => {
      for (const record of records) {
        if (signal.aborted || !(await handleSafely(record, signal))) return;
        done.add(record.messageId);
      }
    };
    if (limitMs > 0) await deadline.before(Promise.all(groupsOf(event.Records).map(work)));
    const failed = event.Records.filter(({ messageId }) => !done.has(messageId));
    // SQS would delete these messages if the mapping does not have ReportBatchItemFailures
    if (failed.length === event.Records.length) throw allFailed(failed.length);
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

function allFailed(count: number): WebhookError<LambdaErrorCode> {
  return new WebhookError<LambdaErrorCode>(
    "batch_failed",
    `None of the ${count} messages of a batch is done, so all stay in the queue.`,
    "The lines before this one in the log say why each has failed.",
    { where: "sqsHandler" },
  );
}
