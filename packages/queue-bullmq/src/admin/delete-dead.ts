import type { BullmqJob, QueueClient } from "../redis/queue.ts";

const command = "esimWebhooksDeleteDead";

/** BullMQ removes a job in whatever state it is by then. In one script, a job that is redriven meanwhile stays. */
const lua = `
local failed, job, logs, deduplication = unpack(KEYS)
local id = ARGV[1]
if redis.call("ZREM", failed, id) == 0 then return 0 end
redis.call("DEL", job, logs)
if redis.call("GET", deduplication) == id then redis.call("DEL", deduplication) end
return 1`;

/** Returns a function that deletes a job with its deduplication key, and resolves to whether it was dead. */
export function createDeleteDead(
  client: () => Promise<QueueClient>,
  keyStart: string,
): (job: BullmqJob) => Promise<boolean> {
  let isDefined = false;
  return async ({ id = "", opts }) => {
    const redis = await client();
    if (!isDefined) redis.defineCommand(command, { numberOfKeys: 4, lua });
    isDefined = true;
    const keys = ["failed", id, `${id}:logs`, `de:${opts.deduplication?.id}`];
    return (await redis.runCommand(command, [...keys.map((key) => `${keyStart}:${key}`), id])) === 1;
  };
}
