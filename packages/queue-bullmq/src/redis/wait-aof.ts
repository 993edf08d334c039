import { WebhookError } from "@esim-webhooks/core";
import { coalesce } from "@esim-webhooks/core/engine";
import type { QueueClient } from "./queue.ts";

/** Resolves with the result of `write` once all that it has written on the queue's connection is on the server's disk. */
export type OnDisk = <Result>(write: () => Promise<Result>) => Promise<Result>;

/**
 * Sends WAITAOF after each write; concurrent writes share one. It covers only what its own connection has written, so a
 * write rejects with `store_unavailable` if the connection was replaced meanwhile.
 */
export function createOnDisk(client: () => Promise<QueueClient>, timeoutMs: number): OnDisk {
  const wait = coalesce<null, true>(
    async (calls) => {
      const answer = await (await client()).call?.("WAITAOF", 1, 0, Math.ceil(timeoutMs / 2));
      const synced = Number(Array.isArray(answer) ? answer[0] : 0) >= 1;
      if (!synced) throw notOnDisk();
      return calls.map(() => true);
    },
    { maxItems: Number.POSITIVE_INFINITY, maxFlushes: 1 },
  );
  return async (write) => {
    const redis = await client();
    const { stream } = redis;
    const result = await write();
    await wait(null);
    if (redis.stream !== stream) throw connectionReplaced();
    return result;
  };
}

function notOnDisk(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    "The Redis server of bullmqInbox did not write its append-only file to disk in time.",
    "Check its disk, or raise timeoutMs.",
  );
}

function connectionReplaced(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    "The connection to the Redis server of bullmqInbox ended before the server had confirmed that the events are on its disk.",
    "Put them again: those that are stored are duplicates.",
  );
}

/** Throws `invalid_option` for a connection on which WAITAOF cannot be sent. */
export function checkCanWait({ isCluster, call }: QueueClient): void {
  if (isCluster) {
    throw new WebhookError(
      "invalid_option",
      "waitAof cannot be used with a Cluster, since each of its nodes has a file of its own.",
      "Leave waitAof out, and set appendfsync to always on the nodes.",
      { where: "bullmqInbox" },
    );
  }
  if (typeof call === "function") return;
  throw new WebhookError(
    "invalid_option",
    "waitAof needs the queue's own connection, and this queue's client has no way to send WAITAOF on it.",
    "Pass connection in place of the queue, or a Queue on an ioredis client.",
    { where: "bullmqInbox" },
  );
}
