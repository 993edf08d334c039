import { randomUUID } from "node:crypto";
import { type DedupeStore, type EventKey, WebhookError } from "@esim-webhooks/core";
import {
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  spreadRetention,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/engine";
import type { RedisClient } from "./client.ts";
import { openRedis, type RedisOptions, redisShape } from "./open-redis.ts";
import { dedupe, isOne, type Operation } from "./scripts.ts";

export interface RedisStoreOptions extends RedisOptions, StoreOptions {}

export interface RedisStore extends DedupeStore {
  ready(): Promise<void>;
}

const shape: OptionsShape<Required<RedisStoreOptions>> = { ...storeShape, ...redisShape };

/**
 * The dedupe store on Redis 6 or newer, shared by any number of processes. `redis` is a `redis://` URL, or an ioredis client
 * (`Redis`, also behind Sentinel, or `Cluster`), which stays yours to close. One key per id and one round trip per operation.
 * Leases and retention use the server's clock.
 *
 * A failover can lose writes, because Redis replicates asynchronously: a claim or done mark that the old master had just
 * written may be missing on the new one, and the redelivery runs again. `waitReplicas` makes that rarer, not impossible.
 * A restart loses what was not yet on disk (`appendonly yes`, `appendfsync`).
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`; with `read_only_store` on a replica, `missing_rights`
 * while the user may not run a command, `store_full` while the server is out of memory, `missing_replicas` while it has fewer replicas
 * than it needs, and `unsaved_store` while it cannot save its data; and with `invalid_option` while it refuses the database in the URL.
 * While the server may evict keys, `claim` rejects with `evicting_store`: the policy is read before the first operation, before a claim
 * when ten seconds have passed, and before every claim until it could be read and is accepted.
 */
export function redisStore(redis: RedisClient | string, options: RedisStoreOptions = {}): RedisStore {
  const settings = parseOptions("redisStore", shape, options);
  const { keyPrefix, retentionMs, allowEviction } = settings;
  const { place, ready, send, begin, close } = openRedis("redisStore", redis, dedupe, settings);
  const { letters } = dedupe;
  warnOfShortRetention("redisStore", settings);

  function keyOf({ source, id }: EventKey): string {
    return `${keyPrefix}${source.length}:${source}:${id}`; // the length distinguishes "a:b" + "c" from "a" + "b:c"
  }

  function operation(letter: string, key: EventKey, token: string, ms: number): Operation {
    return { letter, key: keyOf(key), args: [token, ms] };
  }

  async function run(letter: string, key: EventKey, token: string, ms: number): Promise<boolean> {
    return isOne(await send(operation(letter, key, token, ms)));
  }

  return {
    capabilities: { durable: !allowEviction, multiProcess: true, transactional: false, retentionMs },
    ...(place && { place }),
    ready,
    async claim(key, leaseMs, fingerprint) {
      const token = `${randomUUID()}:${fingerprint?.toString(16) ?? ""}`;
      const undo = operation(letters.release, key, token, 0); // otherwise the id would be busy until the lease ends, without an owner
      const answer = await begin({ ...operation(letters.claim, key, token, leaseMs), undo });
      if (isOne(answer)) return { status: "claimed", token };
      const status = statusIn(answer);
      if (status !== "done" && status !== "busy") {
        throw new WebhookError(
          "store_unavailable",
          "The Redis key of an id has a value that redisStore did not write.",
          "Delete the key, or set a keyPrefix that no other program uses.",
        );
      }
      const [, conflicting, leftMs] = answer as unknown[];
      const conflict = isOne(conflicting) && { conflict: true as const };
      return status === "done"
        ? { status, ...conflict }
        : { status, retryAfterMs: Math.max(1, Number(leftMs)), ...conflict };
    },
    extend: (key, token, leaseMs) => run(letters.extend, key, token, leaseMs),
    complete: (key, token) => run(letters.complete, key, token, spreadRetention(retentionMs)),
    release: (key, token) => run(letters.release, key, token, 0),
    close,
  };
}

function statusIn(answer: unknown): unknown {
  return Array.isArray(answer) ? answer[0] : undefined;
}
