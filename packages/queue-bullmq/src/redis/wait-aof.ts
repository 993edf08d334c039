import { WebhookError } from "@esim-webhooks/core";
import { coalesce } from "@esim-webhooks/core/kit";
import type { QueueClient } from "./queue.ts";

/** Resolves once all that this connection has written is on the server's disk. Calls at the same time share a WAITAOF. */
export function createWaitAof(client: () => Promise<QueueClient>, timeoutMs: number): () => Promise<void> {
  const wait = coalesce<null, true>(
    async (calls) => {
      const answer = await (await client()).call?.("WAITAOF", 1, 0, Math.ceil(timeoutMs / 2));
      const synced = Number(Array.isArray(answer) ? answer[0] : 0) >= 1;
      if (!synced) throw notOnDisk();
      return calls.map(() => true);
    },
    { maxItems: Number.POSITIVE_INFINITY, maxFlushes: 1 },
  );
  return async () => void (await wait(null));
}

function notOnDisk(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    "The Redis server of bullmqInbox did not write its append-only file to disk in time.",
    "Check its disk, or raise timeoutMs.",
  );
}

/** Throws `invalid_option` for a connection on which WAITAOF cannot be sent. */
export function checkCanWait({ isCluster, call }: QueueClient): void {
  if (isCluster) {
    throw new WebhookError(
      "invalid_option",
      "bullmqInbox: waitAof cannot be used with a Cluster, since each of its nodes has a file of its own.",
      "Leave waitAof out, and set appendfsync to always on the nodes.",
    );
  }
  if (typeof call === "function") return;
  throw new WebhookError(
    "invalid_option",
    "bullmqInbox: waitAof needs the queue's own connection, and this queue's client has no way to send WAITAOF on it.",
    "Pass connection in place of the queue, or a Queue on an ioredis client.",
  );
}
