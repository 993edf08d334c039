import type { BullmqJob } from "../redis/queue.ts";
import type { Scripts } from "../redis/script.ts";

/** Deletes a job in one script, so that a job which is redriven meanwhile stays: BullMQ itself would remove a job in any state. */
const lua = `
local failed, events, meta, deduplication = unpack(KEYS, 1, 4)
local id = ARGV[1]
if redis.call("ZREM", failed, id) == 0 then return 0 end
redis.call("DEL", unpack(KEYS, 5))
if redis.call("GET", deduplication) == id then redis.call("DEL", deduplication) end
local limit = redis.call("HGET", meta, "opts.maxLenEvents") or 10000
redis.call("XADD", events, "MAXLEN", "~", limit, "*", "event", "removed", "jobId", id, "prev", "failed")
return 1`;

/** The ends of a job's keys: its data, its log, and its children. */
const jobSuffixes = ["", ":logs", ":dependencies", ":processed", ":failed", ":unsuccessful"];

/** Returns a function that deletes a job with its deduplication key, and resolves to whether it was dead. */
export function createDeleteDead(scripts: Scripts, keyStart: string): (job: BullmqJob) => Promise<boolean> {
  const script = scripts.create("esimWebhooksDeleteDead", 4 + jobSuffixes.length, lua);
  return async ({ id = "", opts }) => {
    const jobKeys = jobSuffixes.map((suffix) => `${id}${suffix}`);
    const keys = ["failed", "events", "meta", `de:${opts.deduplication?.id}`, ...jobKeys];
    return (
      (await script(
        keys.map((key) => `${keyStart}:${key}`),
        [id],
      )) === 1
    );
  };
}
