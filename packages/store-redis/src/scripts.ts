import { createHash } from "node:crypto";
import type { RedisClient } from "./client.ts";

/**
 * A Lua script, which the server runs atomically for any number of keys. It has functions, each with a letter. A command's first argument
 * has a letter for each key: the function to run on it. Each key also has arguments of its own, and an answer of its own. An error, as for
 * a key of another program, is only that key's answer, except READONLY: it is the answer of the whole command, so that ioredis's
 * `reconnectOnError` sees it.
 */
export interface Script<Name extends string = string> {
  readonly source: string;
  readonly sha1: string;
  readonly letters: Readonly<Record<Name, string>>;
}

const firstLetter = "a".charCodeAt(0);

/** @param arity how many arguments each key has */
function script<Name extends string>(arity: number, functions: Readonly<Record<Name, string>>): Script<Name> {
  const names = Object.keys(functions) as Name[];
  const lettered = names.map((name, index) => [name, String.fromCharCode(firstLetter + index)]);
  const letters = Object.fromEntries(lettered) as Record<Name, string>;
  const defined = names.map((name) => `run.${letters[name]} = ${functions[name].trim()} -- ${name}`);
  const given = Array.from({ length: arity }, (_, index) => `, ARGV[at + ${index + 1}]`);
  const source = `
local run = {}
${defined.join("\n")}
local letters = ARGV[1]
local answers = {}
local at = 1
for i, key in ipairs(KEYS) do
  local ran, answer = pcall(run[string.sub(letters, i, i)], key${given.join("")})
  if not ran and type(answer) ~= 'table' then answer = {err = answer} end -- Redis 6
  local refusal = type(answer) == 'table' and answer.err
  if refusal and string.find(refusal, 'READONLY', 1, true) then return answer end
  answers[i] = answer
  at = at + ${arity}
end
return answers`;
  return { source, sha1: createHash("sha1").update(source).digest("hex"), letters };
}

/**
 * A dedupe store has one key per id. Its value is `c` and the owner's token while claimed, or `d` and that token once done.
 * A token is a UUID followed by the claim's fingerprint in hex, so every function keeps the fingerprint. Leases and retention
 * are the key's time to live, by the server's clock.
 *
 * - `claim` → 1 when claimed, `[done, conflict]`, `[busy, conflict, remaining ms of the lease]`, or 0 for a value that another
 *   program wrote. `conflict` is 1 or 0. Repeating a claim with the same token is the same claim. For a first delivery, the function runs a
 *   single command. If the server is out of memory, it fails for a new id only.
 * - `extend` → 1, or 0 when the claim is not this token's.
 * - `complete` → 1, also for the token that completed it before, or 0.
 * - `release` → 1, or 0 when the claim is not this token's.
 */
export const dedupe: Script<"claim" | "extend" | "complete" | "release"> = script(2, {
  claim: `
function(key, token, leaseMs)
  local value = 'c' .. token
  local set = redis.pcall('SET', key, value, 'PX', leaseMs, 'NX')
  if set and set.ok then return 1 end
  local held = redis.call('GET', key)
  if not held then return set end
  if held == value then
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
end`,
  extend: `
function(key, token, leaseMs)
  if redis.call('GET', key) ~= 'c' .. token then return 0 end
  return redis.call('PEXPIRE', key, leaseMs)
end`,
  complete: `
function(key, token, retentionMs)
  local held = redis.call('GET', key)
  if held == 'd' .. token then return 1 end
  if held ~= 'c' .. token then return 0 end
  redis.call('SET', key, 'd' .. token, 'PX', retentionMs)
  return 1
end`,
  release: `
function(key, token)
  if redis.call('GET', key) ~= 'c' .. token then return 0 end
  return redis.call('DEL', key)
end`,
});

/**
 * A state has one key per name. Its value is the version, a UUID, followed by the JSON.
 *
 * - `read` → the value, or null.
 * - `write` → 1, or 0 if the current version is not `version`, which is empty for a name without a value. Repeating a write
 *   with the same new version is the same write.
 */
export const state: Script<"read" | "write"> = script(3, {
  read: `
function(key)
  return redis.call('GET', key)
end`,
  write: `
function(key, version, newVersion, text)
  local held = string.sub(redis.call('GET', key) or '', 1, 36)
  if held == newVersion then return 1 end
  if held ~= version then return 0 end
  redis.call('SET', key, newVersion .. text)
  return 1
end`,
});

/** Runs every command that the other scripts run, to find out whether the server accepts them from this user. Leaves nothing. */
export const probe: Script<"probe"> = script(0, {
  probe: `
function(key)
  redis.call('SET', key, '', 'PX', 1000)
  redis.call('GET', key)
  redis.call('PTTL', key)
  redis.call('PEXPIRE', key, 1000)
  return redis.call('DEL', key)
end`,
});

/** A key, and the function of a script that is run on it. */
export interface Operation {
  /** The letter of its function. */
  readonly letter: string;
  readonly key: string;
  /** As many as the script's arity. */
  readonly args: readonly (string | number)[];
}

/**
 * Runs operations of a script in one round trip, or two if the server does not know the script yet, as after a restart.
 * Resolves to an answer for each, in their order: an `Error` if this key alone has failed, null if it was not sent because it was no longer
 * wanted.
 */
export async function runTogether(
  client: RedisClient,
  script: Script,
  operations: readonly Operation[],
  isWanted: () => boolean = () => true,
): Promise<readonly unknown[]> {
  const keysAndArgs: (string | number)[] = operations.map(({ key }) => key);
  keysAndArgs.push(operations.reduce((letters, { letter }) => letters + letter, ""));
  for (const { args } of operations) keysAndArgs.push(...args);
  try {
    return answersIn(await client.evalsha(script.sha1, operations.length, ...keysAndArgs), operations.length);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
    if (!isWanted()) return operations.map(() => null);
    return answersIn(await client.eval(script.source, operations.length, ...keysAndArgs), operations.length);
  }
}

/** The answers to the keys of a command. Throws if there is not one for each, as from a client that is not ioredis. */
export function answersIn(answer: unknown, keys: number): readonly unknown[] {
  if (Array.isArray(answer) && answer.length === keys) return answer;
  throw new TypeError(`The client did not answer with a list of ${keys}, one for each key of the script.`);
}

/** Whether an answer is 1. A client made with `stringNumbers` answers "1". */
export function isOne(answer: unknown): boolean {
  return Number(answer) === 1;
}
