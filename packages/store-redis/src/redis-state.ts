import { randomUUID } from "node:crypto";
import { type StateStore, type StoredState, WebhookError } from "@esim-webhooks/core";
import { checkStateName, encodeState, parseOptions } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import { openRedis, type RedisOptions, redisShape } from "./open-redis.ts";
import * as scripts from "./scripts.ts";

export interface RedisStateOptions extends RedisOptions {}

const versionLength = 36; // a UUID

/**
 * Small state on Redis 6 or newer, shared by any number of processes: one key a name, which never expires. `redis` is as
 * for `redisStore`, and so is what a failover or a restart can lose.
 *
 * A write that the client sends again, since its connection broke, counts once; only if somebody else has written the name
 * after it meanwhile does it answer false.
 *
 * Throws `invalid_option`; operations reject as those of `redisStore`, and with `invalid_input` as `StateStore` says.
 */
export function redisState(redis: RedisClient | string, options: RedisStateOptions = {}): StateStore {
  const settings = parseOptions("redisState", redisShape, options);
  const { guard, send, close } = openRedis("redisState", redis, settings);

  async function run(script: scripts.Script, name: string, ...args: string[]): Promise<unknown> {
    checkStateName(name);
    const key = `${settings.keyPrefix}state:${name}`;
    return guard.run((signal) => send({ script, key, args, signal }));
  }

  return {
    capabilities: { durable: true, multiProcess: true },
    ready: guard.ready,
    async read(name) {
      const stored = await run(scripts.readState, name);
      return stored === null ? undefined : decoded(String(stored));
    },
    async write(name, value, version) {
      const next = randomUUID();
      const written = await run(scripts.writeState, name, version ?? "", next, encodeState(value));
      return Number(written) === 1;
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
      "Remove it, and give the state a keyPrefix that nobody else uses.",
      { cause },
    );
  }
}
