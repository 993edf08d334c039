import type { DedupeStore } from "@esim-webhooks/core";

/**
 * A dedupe store that does nothing: the lock of a BullMQ job is the claim on its event, and the queue remembers the ids. BullMQ gives
 * a job to one worker, which renews the lock, and accepts no result from a worker that has lost the lock.
 */
export const lockStore: DedupeStore = {
  capabilities: {
    durable: true,
    multiProcess: true,
    transactional: false,
    retentionMs: Number.MAX_SAFE_INTEGER,
  },
  claim: () => ({ status: "claimed", token: "" }),
  extend: () => true,
  complete: () => true,
  release: () => true,
  close: async () => {},
};
