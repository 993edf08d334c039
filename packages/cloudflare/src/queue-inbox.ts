import { type InboxWriter, WebhookError } from "@esim-webhooks/core";
import { type EncodedEntry, encodeEntry, withMethods } from "@esim-webhooks/core/engine";

/** The part of a Queue binding that `queueInbox` uses. */
export interface QueueProducer {
  /** Resolves once the Queue has stored the message. */
  send(message: EncodedEntry, options: { readonly contentType: "json" }): Promise<unknown>;
}

const queueMethods = withMethods<QueueProducer>("send");
const longestMessageBytes = 128_000 - 200; // the limit of Cloudflare Queues, less what they add

/**
 * An inbox that sends each event to a Cloudflare Queue: `webhookHandler(queueInbox(env.EVENTS))`. The sender is answered 202 once the
 * Queue has accepted it. A Queue does not deduplicate: `queueHandler` does, with its store. Throws `invalid_option`. `put` rejects with the
 * Queue's error, and with `invalid_input` for an event that no message can hold: its body is longer than about 90 kB.
 */
export function queueInbox(queue: QueueProducer): Pick<InboxWriter, "put"> {
  if (!queueMethods.safeParse(queue).success) {
    throw new WebhookError(
      "invalid_option",
      "the argument is not a binding to a Queue.",
      'Pass env.EVENTS, and add { "binding": "EVENTS", "queue": "esim-events" } to queues.producers in wrangler.jsonc.',
      { where: "queueInbox" },
    );
  }
  return {
    async put(entries) {
      const messages = entries.map(encodeEntry);
      for (const message of messages) checkLength(message);
      await Promise.all(messages.map((message) => queue.send(message, { contentType: "json" })));
      return entries.map(() => "stored");
    },
  };
}

function checkLength(message: EncodedEntry): void {
  const bytes = Buffer.byteLength(JSON.stringify(message));
  if (bytes <= longestMessageBytes) return;
  throw new WebhookError(
    "invalid_input",
    `The message of an event would have ${bytes} bytes, and a Cloudflare Queue accepts ${longestMessageBytes}.`,
    "Handle such events as they arrive: pass handlers, not queueInbox, to webhookHandler.",
  );
}
