import {
  type DedupeStore,
  type EsimEvents,
  fullJitter,
  type Handlers,
  type ProcessorOptions,
  WebhookError,
} from "@esim-webhooks/core";
import { createEntryProcessor, decodeEntry, type Ending } from "@esim-webhooks/core/engine";
import { limitPauses, safeLogger, silentLogger } from "@esim-webhooks/core/internal";

/** Options of `queueHandler`. */
export interface QueueHandlerOptions<Data = EsimEvents, Tx = unknown> extends ProcessorOptions<Data, Tx> {
  /** Remembers done ids, such as `durableObjectStore(env.DEDUPE)`: a Queue delivers a message more than once, to any isolate. */
  store: DedupeStore<Tx>;
}

/** The part of a message that `queueHandler` uses. */
export interface QueueMessage {
  /** Identifies the message, not the event. */
  readonly id: string;
  /** The message that `queueInbox` sent. */
  readonly body: unknown;
  /** The number of this attempt, from 1. */
  readonly attempts: number;
  /** Deletes the message: its event needs no other attempt. */
  ack(): void;
  /** Has the message delivered again after the delay, in seconds. */
  retry(options: { readonly delaySeconds: number }): void;
}

/** The part of a batch that `queueHandler` uses. */
export interface MessageBatch {
  /** The messages, in no order: a Queue keeps none. */
  readonly messages: readonly QueueMessage[];
}

/**
 * The consumer of the Queue of a `queueInbox`: `export default { queue: queueHandler(handlers, { store }) }`. It handles the messages of
 * a batch concurrently, and acknowledges or retries each by itself. A handler that throws is retried with full jitter, up to 1 s after the
 * first failure, doubling up to 15 minutes; `retryLater(ms)` is retried after that time, at most 12 hours. Every retry counts towards the
 * consumer's `max_retries`. An event that is invalid is retried without a pause until the Queue makes it a dead letter, or deletes it
 * if there is no `dead_letter_queue`. An event without a handler is acknowledged, with a warning about its type. Throws
 * `unknown_event_type` and `invalid_option`. The function that it returns never rejects.
 */
export function queueHandler<Data = EsimEvents, Tx = unknown>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: QueueHandlerOptions<Data, Tx>,
): (batch: MessageBatch) => Promise<void> {
  if (options?.store === undefined) {
    throw new WebhookError(
      "invalid_option",
      'there is no "store", and a Queue delivers a message more than once, to any isolate.',
      "Pass { store: durableObjectStore(env.DEDUPE) }.",
      { where: "queueHandler", option: "store" },
    );
  }
  const processEntry = createEntryProcessor<Data, Tx>(handlers, options);
  const logger = safeLogger(options.logger ?? silentLogger);
  const limited = limitPauses("retryLater", logger, () => 60_000);

  async function endingOf(message: QueueMessage, fields: Record<string, unknown>): Promise<Ending> {
    const entry = decodeEntry(message.body);
    Object.assign(fields, { source: entry.source, id: entry.id, type: entry.type });
    const { attempts: attempt } = message;
    const { ending, report } = await processEntry(entry, { attempt, backoffMs: backoff(attempt) });
    if (ending.state !== "dead" || attempt === 1) report(fields); // all attempts of an invalid event fail alike
    return ending;
  }

  async function handle(message: QueueMessage): Promise<void> {
    const fields = { message: message.id, attempt: message.attempts };
    const retryMs = await endingOf(message, fields).then(retryMsOf, (err: unknown) => {
      logger.error({ ...fields, err }, "A message is not an event of queueInbox, or its schema threw.");
      return backoff(message.attempts);
    });
    if (retryMs === undefined) return message.ack();
    const delaySeconds = Math.ceil(limited(retryMs, message.attempts) / 1000);
    message.retry({ delaySeconds: Math.min(delaySeconds, longestDelaySeconds) });
  }

  return async ({ messages }) => {
    await Promise.all(messages.map(handle));
  };
}

const backoff = fullJitter({ baseMs: 1000, capMs: 15 * 60_000 }); // as a worker's
const longestDelaySeconds = 43_200; // 12 hours, the limit of Cloudflare Queues
const pauseMs = 5000; // the store is unreachable, or another owner has the event

/** After which time a message is delivered again, in ms; undefined if it is acknowledged. */
function retryMsOf(ending: Ending): number | undefined {
  switch (ending.state) {
    case "done":
    case "unhandled":
      return undefined;
    case "dead":
      return 0; // only max_retries makes a message a dead letter
    case "retry":
    case "waiting":
    case "given_back":
      return ending.afterMs ?? pauseMs;
    case "lost":
    case "store_unavailable":
      return pauseMs;
  }
}
