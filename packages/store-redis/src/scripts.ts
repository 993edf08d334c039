import { createHash } from "node:crypto";
import type { RedisClient } from "./client.ts";

/**
 * Of a dedupe store, one key an id. Its value is `c` and the owner's token while claimed, `d` and that token once done; absent is absent.
 * A token is a UUID, and behind it the fingerprint of the claim in hex, so that every script keeps it. Leases and
 * retention are the key's time to live, by the server's clock. Each script looks and acts in one step, on one key, so
 * that it also runs on the node of a cluster that has the key.
 */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

function script(source: string): Script {
  return { source, sha1: createHash("sha1").update(source).digest("hex") };
}

/**
 * → `[claimed]`, `[done, conflict]`, `[busy, conflict, for how many ms the owner may still have it]`, or `[foreign]` when
 * the value is somebody else's; `conflict` is 1 or 0. The same token again is the same claim.
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

/** → 1, for the token that completed it before as well, or 0. */
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

/** One key a name. Its value is the version, a UUID, and behind it the JSON. → that, or null. */
export const readState: Script = script(`
return redis.call('GET', KEYS[1])`);

/**
 * → 1, or 0 when the version is not ARGV[1] any more; an empty one stands for no value. The same new version, ARGV[2], once
 * more is the same write.
 */
export const writeState: Script = script(`
local held = string.sub(redis.call('GET', KEYS[1]) or '', 1, 36)
if held == ARGV[2] then return 1 end
if held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2] .. ARGV[3])
return 1`);

/** One operation, until `signal` says that nobody waits for it any more: from then on nothing is sent for it. */
export interface Operation {
  readonly script: Script;
  readonly key: string;
  readonly args: readonly (string | number)[];
  readonly signal?: AbortSignal;
}

/** One round trip; a second one when the server has not seen the script yet, as after a restart. Null: not sent. */
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
