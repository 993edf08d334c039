import { randomUUID } from "node:crypto";
import { type StateStore, type StoredState, WebhookError } from "@esim-webhooks/core";
import { checkStateName, encodeState, parseOptions } from "@esim-webhooks/core/engine";
import type { RedisClient } from "./client.ts";
import { openRedis, type RedisOptions, redisShape } from "./open-redis.ts";
import { isOne, type Operation, state } from "./scripts.ts";

export interface RedisStateOptions extends RedisOptions {}

const versionLength = 36; // a UUID
const versionPattern = /^[0-9a-f-]{36}$/;

/**
 * Small state on Redis 6 or newer, shared by any number of processes: one key per name, without expiry. `redis` is the same
 * as for `redisStore`, and a failover or a restart can lose the same writes.
 *
 * If the connection breaks, the client sends a write again. The write takes effect once, and answers true unless another process has
 * written the name in between.
 *
 * Throws `invalid_option`. Operations reject like those of `redisStore`, and with `invalid_input` for an invalid name or value.
 */
export function redisState(redis: RedisClient | string, options: RedisStateOptions = {}): StateStore {
  const settings = parseOptions("redisState", redisShape, options);
  const { place, ready, send, begin, close } = openRedis("redisState", redis, state, settings);

  const { letters } = state;

  function operation(letter: string, name: string, ...args: readonly string[]): Operation {
    return { letter, key: `${settings.keyPrefix}state:${name}`, args };
  }

  return {
    capabilities: { durable: !settings.allowEviction, multiProcess: true },
    ...(place && { place }),
    ready,
    async read(name) {
      checkStateName(name);
      const stored = await send(operation(letters.read, name, "", "", ""));
      return stored === null ? undefined : decoded(String(stored));
    },
    async write(name, value, version) {
      checkStateName(name);
      const text = encodeState(value);
      if (version !== undefined && !versionPattern.test(version)) return false; // the script takes "" for no value yet
      return isOne(await begin(operation(letters.write, name, version ?? "", randomUUID(), text)));
    },
    close,
  };
}

function decoded(stored: string): StoredState {
  try {
    return { value: JSON.parse(stored.slice(versionLength)), version: stored.slice(0, versionLength) };
  } catch (cause) {
    throw new WebhookError(
      "store_unavailable",
      "The Redis key of a state has a value that redisState did not write.",
      "Delete the key, or set a keyPrefix that no other program uses.",
      { cause },
    );
  }
}
