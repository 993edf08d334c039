import { monotonicClock } from "@esim-webhooks/core/kit";
import type { BullmqQueue } from "./queue.ts";

const againAfterMs = 10_000;
const field = "esim-webhooks.last-delivery";

/** When the last delivery was received: jobs leave the queue, and their lists are not ordered by it. */
export interface LastDelivery {
  /** Notes the time, in ms since the Unix epoch, if this process has not done so in the last ten seconds. */
  note(receivedAtMs: number): Promise<void>;
  read(): Promise<Date | null>;
}

/** Keeps it as a field of the queue's `meta` hash, which BullMQ leaves alone. */
export function createLastDelivery(queue: BullmqQueue): LastDelivery {
  const backend = queue.getBackend() as {
    setQueueMeta(values: Record<string, string | number>): Promise<unknown>;
    getQueueMeta(): Promise<Record<string, string>>;
  };
  let notedAt = Number.NEGATIVE_INFINITY;
  return {
    async note(receivedAtMs) {
      const now = monotonicClock.now();
      if (now - notedAt < againAfterMs) return;
      await backend.setQueueMeta({ [field]: receivedAtMs });
      notedAt = now;
    },
    async read() {
      const noted = (await backend.getQueueMeta())[field];
      return noted === undefined ? null : new Date(Number(noted));
    },
  };
}
