import { monotonicClock } from "@esim-webhooks/core/internal";
import type { BullmqQueue } from "./queue.ts";

/** How soon a note is written again, since the server may have lost its data. */
const againAfterMs = 10_000;

/** The notes that the inbox keeps next to its jobs, which leave the queue: fields of the queue's `meta` hash, which BullMQ leaves alone. */
export interface Notes {
  /** Notes that events of a source were stored, if this process has not done so in the last ten seconds. */
  noteSource(source: string): Promise<void>;
  /** Notes when a delivery was received, in ms since the Unix epoch, if this process has noted none in the last ten seconds. */
  noteDelivery(receivedAtMs: number): Promise<void>;
  /** Rejects if notes cannot be written. */
  tryOut(): Promise<void>;
  /** The sources whose events the queue has had. An event's id is unique within its source only. */
  sources(): Promise<readonly string[]>;
  lastDelivery(): Promise<Date | null>;
}

const sourceField = "esim-webhooks.source.";
const deliveryField = "esim-webhooks.last-delivery";
const checkField = "esim-webhooks.checked";

export function createNotes(queue: BullmqQueue): Notes {
  const backend = queue.getBackend() as {
    setQueueMeta(values: Record<string, string | number>): Promise<unknown>;
    getQueueMeta(): Promise<Record<string, string>>;
  };
  const notedAt = new Map<string, number>();

  async function note(field: string, value: number): Promise<void> {
    const now = monotonicClock.now();
    if (now - (notedAt.get(field) ?? Number.NEGATIVE_INFINITY) < againAfterMs) return;
    await backend.setQueueMeta({ [field]: value });
    notedAt.set(field, now);
  }

  return {
    noteSource: (source) => note(`${sourceField}${source}`, 1),
    noteDelivery: (receivedAtMs) => note(deliveryField, receivedAtMs),
    async tryOut() {
      await backend.setQueueMeta({ [checkField]: 1 });
    },
    async sources() {
      const fields = Object.keys(await backend.getQueueMeta());
      return fields
        .filter((field) => field.startsWith(sourceField))
        .map((field) => field.slice(sourceField.length));
    },
    async lastDelivery() {
      const noted = (await backend.getQueueMeta())[deliveryField];
      return noted === undefined ? null : new Date(Number(noted));
    },
  };
}
