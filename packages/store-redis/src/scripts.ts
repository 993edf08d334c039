import { createHash } from "node:crypto";
import type { RedisClient } from "./client.ts";

/**
 * A Lua script, which the server runs atomically for any number of keys. It is a table of functions; each key comes with the name of one
 * and its arguments, and has an answer of its own. An error, as for a key of another program, is the answer of that key alone.
 */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/** @param arity the name of a function and its arguments: how many each key has */
function script(arity: number, functions: string): Script {
  const given = Array.from({ length: arity - 1 }, (_, index) => `, ARGV[at + ${index + 2}]`);
  const source = `
local run = {}
${functions.trim()}
local answers = {}
for i = 1, #KEYS do
  local at = (i - 1) * ${arity}
  local ran, answer = pcall(run[ARGV[at + 1]], KEYS[i]${given.join("")})
  if not ran and type(answer) ~= 'table' then answer = {err = answer} end -- Redis 6
  answers[i] = answer
end
return answers`;
  return { source, sha1: createHash("sha1").update(source).digest("hex") };
}

/**
 * A dedupe store has one key per id. Its value is `c` and the owner's token while claimed, or `d` and that token once done.
 * A token is a UUID followed by the claim's fingerprint in hex, so every function keeps the fingerprint. Leases and retention
 * are the key's time to live, by the server's clock.
 *
 * - `claim` → 1 when claimed, `[done, conflict]`, `[busy, conflict, remaining ms of the lease]`, or 0 for a value that another
 *   program wrote. `conflict` is 1 or 0. Repeating a claim with the same token is the same claim.
 * - `extend` → 1, or 0 when the claim is not this token's.
 * - `complete` → 1, also for the token that completed it before, or 0.
 * - `release` → 1, or 0 when the claim is not this token's.
 */
export const dedupe: Script = script(
  3,
  `
function run.claim(key, token, leaseMs)
  local value = 'c' .. token
  local held = redis.call('GET', key)
  if not held or held == value then
    redis.call('SET', key, value, 'PX', leaseMs)
    return 1
  end
  local state, theirs = string.match(held, '^([cd])%x+%-%x+%-%x+%-%x+%-%x+:(%x*)$')
  if not state then return 0 end
  local ours = string.match(token, ':(%x*)$')
  local conflict = ours ~= '' and theirs ~= '' and ours ~= theirs and 1 or 0
  if state == 'd' then return {'done', conflict} end
  local left = redis.call('PTTL', key)
  if left < 0 then return 0 end
  return {'busy', conflict, left}
end
function run.extend(key, token, leaseMs)
  if redis.call('GET', key) ~= 'c' .. token then return 0 end
  return redis.call('PEXPIRE', key, leaseMs)
end
function run.complete(key, token, retentionMs)
  local held = redis.call('GET', key)
  if held == 'd' .. token then return 1 end
  if held ~= 'c' .. token then return 0 end
  redis.call('SET', key, 'd' .. token, 'PX', retentionMs)
  return 1
end
function run.release(key, token)
  if redis.call('GET', key) ~= 'c' .. token then return 0 end
  return redis.call('DEL', key)
end`,
);

/**
 * A state has one key per name. Its value is the version, a UUID, followed by the JSON.
 *
 * - `read` → the value, or null.
 * - `write` → 1, or 0 if the current version is not `version`, which is empty for a name without a value. Repeating a write
 *   with the same new version is the same write.
 */
export const state: Script = script(
  4,
  `
function run.read(key)
  return redis.call('GET', key)
end
function run.write(key, version, newVersion, text)
  local held = string.sub(redis.call('GET', key) or '', 1, 36)
  if held == newVersion then return 1 end
  if held ~= version then return 0 end
  redis.call('SET', key, newVersion .. text)
  return 1
end`,
);

/** Runs every command that the other scripts run, and leaves nothing: shows that the server takes them from this user. */
export const probe: Script = script(
  1,
  `
function run.probe(key)
  redis.call('SET', key, '', 'PX', 1000)
  redis.call('GET', key)
  redis.call('PTTL', key)
  redis.call('PEXPIRE', key, 1000)
  return redis.call('DEL', key)
end`,
);

/** One operation. Nothing more is sent for it once `signal` has aborted. */
export interface Operation {
  readonly script: Script;
  readonly key: string;
  /** The name of the function and its arguments, as many as the script's arity. */
  readonly args: readonly (string | number)[];
  readonly signal?: AbortSignal;
}

/** Runs one script for the operations, in one round trip, or two if the server does not know it yet, as after a restart. */
export async function runTogether(
  client: RedisClient,
  { source, sha1 }: Script,
  operations: readonly Operation[],
): Promise<readonly unknown[]> {
  const keys = operations.map(({ key }) => key);
  const keysAndArgs = keys.concat(...(operations.map(({ args }) => args) as string[][]));
  try {
    return answersIn(await client.evalsha(sha1, keys.length, ...keysAndArgs));
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
    if (operations.every(({ signal }) => signal?.aborted)) return operations.map(() => null);
    return answersIn(await client.eval(source, keys.length, ...keysAndArgs));
  }
}

/** Runs one operation. Null: not sent. Rejects with an error of its key. */
export async function run(client: RedisClient, operation: Operation): Promise<unknown> {
  return answerOf((await runTogether(client, operation.script, [operation]))[0]);
}

/** The answer to the only key of a script. Throws it if it is an error. */
export function onlyAnswerIn(answer: unknown): unknown {
  return answerOf(answersIn(answer)[0]);
}

function answersIn(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : [];
}

/** Throws the answer if it is an error. */
export function answerOf(answer: unknown): unknown {
  if (answer instanceof Error) throw answer;
  return answer;
}
