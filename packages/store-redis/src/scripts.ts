import { createHash } from "node:crypto";
import type { RedisClient } from "./client.ts";

/**
 * A Lua script on one key, which the server runs atomically; in a cluster, on the node of the key.
 *
 * A dedupe store has one key per id. Its value is `c` and the owner's token while claimed, or `d` and that token once done.
 * A token is a UUID followed by the claim's fingerprint in hex, so every script keeps the fingerprint. Leases and retention
 * are the key's time to live, by the server's clock.
 */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

function script(source: string): Script {
  return { source, sha1: createHash("sha1").update(source).digest("hex") };
}

/**
 * → `[claimed]`, `[done, conflict]`, `[busy, conflict, remaining ms of the lease]`, or `[foreign]` for a value that another
 * program wrote. `conflict` is 1 or 0. Repeating a claim with the same token is the same claim.
 */
export const claim: Script = script(`
local held = redis.call('GET', KEYS[1])
if not held or held == 'c' .. ARGV[1] then
  redis.call('SET', KEYS[1], 'c' .. ARGV[1], 'PX', ARGV[2])
  return {'claimed'}
end
local state, theirs = string.match(held, '^([cd])%x+%-%x+%-%x+%-%x+%-%x+:(%x*)$')
if not state then return {'foreign'} end
local ours = string.match(ARGV[1], ':(%x*)$')
local conflict = ours ~= '' and theirs ~= '' and ours ~= theirs and 1 or 0
if state == 'd' then return {'done', conflict} end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then return {'foreign'} end
return {'busy', conflict, left}`);

/** → 1, or 0 when the claim is not this token's. */
export const extend: Script = script(`
if redis.call('GET', KEYS[1]) ~= 'c' .. ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/** → 1, also for the token that completed it before, or 0. */
export const complete: Script = script(`
local held = redis.call('GET', KEYS[1])
if held == 'd' .. ARGV[1] then return 1 end
if held ~= 'c' .. ARGV[1] then return 0 end
redis.call('SET', KEYS[1], 'd' .. ARGV[1], 'PX', ARGV[2])
return 1`);

/** → 1, or 0 when the claim is not this token's. */
export const release: Script = script(`
if redis.call('GET', KEYS[1]) ~= 'c' .. ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`);

/** A state has one key per name. Its value is the version, a UUID, followed by the JSON. → the value, or null. */
export const readState: Script = script(`
return redis.call('GET', KEYS[1])`);

/**
 * → 1, or 0 if the current version is not ARGV[1], which is empty for a name without a value. Repeating a write with the
 * same new version, ARGV[2], is the same write.
 */
export const writeState: Script = script(`
local held = string.sub(redis.call('GET', KEYS[1]) or '', 1, 36)
if held == ARGV[2] then return 1 end
if held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2] .. ARGV[3])
return 1`);

/** Runs every command that the other scripts run, and leaves nothing: shows that the server takes them from this user. */
export const probe: Script = script(`
redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)
redis.call('GET', KEYS[1])
redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 1000)
return redis.call('DEL', KEYS[1])`);

/** One operation. Nothing more is sent for it once `signal` has aborted. */
export interface Operation {
  readonly script: Script;
  readonly key: string;
  readonly args: readonly (string | number)[];
  readonly signal?: AbortSignal;
}

/** Runs a script in one round trip, or two if the server does not know it yet, as after a restart. Null: not sent. */
export async function run(
  client: RedisClient,
  { script: { source, sha1 }, key, args, signal }: Operation,
): Promise<unknown> {
  try {
    return await client.evalsha(sha1, 1, key, ...args);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
    if (signal?.aborted) return null;
    return client.eval(source, 1, key, ...args);
  }
}
