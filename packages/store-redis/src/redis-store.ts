import { randomUUID } from "node:crypto";
import { type DedupeStore, type EventKey, WebhookError } from "@esim-webhooks/core";
import {
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  spreadRetention,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import { openRedis, type RedisOptions, redisShape } from "./open-redis.ts";
import { dedupe } from "./scripts.ts";

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
 * while the user may not run a command, and `store_full` while the server is out of memory; and with `invalid_option` while
 * it refuses the database in the URL. While the server may evict keys, `claim` rejects with `evicting_store`: the policy is
 * read before the first operation, again every ten seconds, and before every claim until it could be read and is accepted.
 */
export function redisStore(redis: RedisClient | string, options: RedisStoreOptions = {}): RedisStore {
  const settings = parseOptions("redisStore", shape, options);
  const { keyPrefix, retentionMs, allowEviction } = settings;
  const { guard, ready, recheck, send, sendUnguarded, close } = openRedis("redisStore", redis, settings);
  warnOfShortRetention("redisStore", settings);

  function keyOf({ source, id }: EventKey): string {
    return `${keyPrefix}${source.length}:${source}:${id}`; // the length keeps "a:b" + "c" from "a" + "b:c"
  }

  function run(key: EventKey, ...args: (string | number)[]): Promise<unknown> {
    return guard.run((signal) => send({ script: dedupe, key: keyOf(key), args, signal }));
  }

  /** Releases a claim that fails or succeeds too late: otherwise the id would be busy for a lease that nobody holds. */
  function runClaim(key: EventKey, token: string, leaseMs: number): Promise<unknown> {
    const name = keyOf(key);
    const releaseClaim = () => {
      sendUnguarded({ script: dedupe, key: name, args: ["release", token, 0] }).catch(() => {});
    };
    return guard.run(async (signal) => {
      await recheck();
      if (signal.aborted) return null; // nobody waits for it any more
      const sent = send({ script: dedupe, key: name, args: ["claim", token, leaseMs], signal });
      sent.then((answer) => signal.aborted && isOne(answer) && releaseClaim(), releaseClaim);
      return sent;
    });
  }

  return {
    capabilities: { durable: !allowEviction, multiProcess: true, transactional: false, retentionMs },
    ready,
    async claim(key, leaseMs, fingerprint) {
      const token = `${randomUUID()}:${fingerprint?.toString(16) ?? ""}`;
      const answer = await runClaim(key, token, leaseMs);
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
    extend: async (key, token, leaseMs) => isOne(await run(key, "extend", token, leaseMs)),
    complete: async (key, token) => isOne(await run(key, "complete", token, spreadRetention(retentionMs))),
    release: async (key, token) => isOne(await run(key, "release", token, 0)),
    close,
  };
}

function statusIn(answer: unknown): unknown {
  return Array.isArray(answer) ? answer[0] : undefined;
}

/** A client made with `stringNumbers` answers "1". */
function isOne(answer: unknown): boolean {
  return Number(answer) === 1;
}
