import type { BullmqQueue } from "./queue.ts";

/** The sources whose events the queue has had. An event's id is unique within its source only. */
export interface Sources {
  /** Notes a source, once per process. */
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
  const noted = new Set<string>();
  return {
    async note(source) {
      if (noted.has(source)) return;
      await backend.setQueueMeta({ [`${field}${source}`]: 1 });
      noted.add(source);
    },
    async known() {
      const names = Object.keys(await backend.getQueueMeta());
      return names.filter((name) => name.startsWith(field)).map((name) => name.slice(field.length));
    },
  };
}
