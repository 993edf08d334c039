import { monotonicClock } from "@esim-webhooks/core/kit";
import type { BullmqQueue } from "./queue.ts";

/** A server that has lost its data gets them again. */
const againAfterMs = 10_000;

/** The sources whose events the queue has had. An event's id is unique within its source only. */
export interface Sources {
  /** Notes a source, if this process has not done so in the last ten seconds. */
  note(source: string): Promise<void>;
  known(): Promise<readonly string[]>;
}

const field = "esim-webhooks.source.";

/** Keeps them as fields of the queue's `meta` hash, which BullMQ leaves alone. */
export function createSources(queue: BullmqQueue): Sources {
  const backend = queue.getBackend() as {
    setQueueMeta(values: Record<string, string | number>): Promise<unknown>;
    getQueueMeta(): Promise<Record<string, string>>;
  };
  const notedAt = new Map<string, number>();
  return {
    async note(source) {
      const now = monotonicClock.now();
      if (now - (notedAt.get(source) ?? Number.NEGATIVE_INFINITY) < againAfterMs) return;
      await backend.setQueueMeta({ [`${field}${source}`]: 1 });
      notedAt.set(source, now);
    },
    async known() {
      const names = Object.keys(await backend.getQueueMeta());
      return names.filter((name) => name.startsWith(field)).map((name) => name.slice(field.length));
    },
  };
}
