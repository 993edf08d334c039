import { randomUUID } from "node:crypto";
import type { JobsOptions } from "bullmq";
import { bullmqScripts } from "./bullmq-scripts.ts";
import type { BullmqQueue, QueueClient } from "./queue.ts";

/** BullMQ's scripts that add a job which has no children. */
const addNames = ["addStandardJob", "addDelayedJob", "addPrioritizedJob"];

/** The lines of these scripts on which `atomic` relies. */
const argumentsOf = ["jobIdKey = args[1] .. jobId", "jobId = args[2]", "local deduplicationKey = args[9]"];

/** The data of a job that is removed by the script that adds it. */
const probeData = { esimWebhooks: "probe" };

/**
 * BullMQ's `add` writes the deduplication key first. If the server then refuses a command, Redis keeps what was written, and the key names a
 * job that does not exist. Inside the script below, an add that fails leaves nothing, so the key proves that its job was stored.
 */
function atomic(lua: string): string {
  return `
local function add()
${lua}
end
local args = cmsgpack.unpack(ARGV[1])
local prefix, id, deduplicationKey = args[1], args[2], args[9]
if not deduplicationKey or redis.call("EXISTS", deduplicationKey) == 1 then return add() end
local jobKey = prefix .. id
local isProbe = ARGV[2] == '${JSON.stringify(probeData)}'
if isProbe then -- shows that the user may do what a duplicate needs, and what removes the job below
  redis.call("SET", deduplicationKey, "", "PX", 1) -- the first write, since a server that is out of memory refuses no later one
  redis.call("GET", deduplicationKey)
  redis.call("PTTL", deduplicationKey)
  redis.call("DEL", deduplicationKey)
  redis.call("LINDEX", jobKey, 0)
  redis.call("LPOP", jobKey)
  redis.call("RPOP", jobKey)
  redis.call("ZREM", jobKey, id)
end
local added, answer = pcall(add)
if added and not isProbe then return answer end
for at, pop in pairs({ [0] = "LPOP", [-1] = "RPOP" }) do
  if redis.pcall("LINDEX", prefix .. "wait", at) == id then redis.pcall(pop, prefix .. "wait") end
end
redis.pcall("ZREM", prefix .. "delayed", id)
redis.pcall("ZREM", prefix .. "prioritized", id)
for _, key in ipairs({ jobKey, deduplicationKey }) do
  local deleted = redis.pcall("DEL", key)
  if type(deleted) == "table" then redis.pcall("SET", key, "", "PX", 1) end -- SET wrote the key, so it is allowed
end
redis.pcall("XADD", prefix .. "events", "*", "event", "removed", "jobId", id)
if added then return answer end
return type(answer) == "table" and answer or { err = answer } -- Redis 6 has a text`;
}

/** Replaces the scripts by which a queue adds jobs, on its client. Throws `invalid_option` for a BullMQ that has other scripts. */
export function makeAddsAtomic(queue: BullmqQueue, client: QueueClient): void {
  const scripts = bullmqScripts(queue);
  for (const name of addNames) {
    const script = scripts.get(name, argumentsOf);
    client.defineCommand(scripts.nameOf(name), { ...script, lua: atomic(script.lua) });
  }
}

/**
 * Adds a job as for an event, and removes it in the same script: no worker sees it. Does so twice, since ioredis sends EVAL the first time on
 * a connection, and then EVALSHA.
 */
export async function addProbe(
  queue: BullmqQueue,
  client: QueueClient,
  jobOptions: JobsOptions,
): Promise<void> {
  for (const _ of ["EVAL", "EVALSHA"]) {
    const id = `probe-${randomUUID()}`;
    await queue.add("probe", probeData, { ...jobOptions, jobId: id, deduplication: { id, ttl: 1000 } });
  }
  await client.call?.("EVAL", "return 1", 0); // EVAL is needed again on the next connection
}
