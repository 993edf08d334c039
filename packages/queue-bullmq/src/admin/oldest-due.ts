import type { BullmqJob, BullmqQueue, QueueClient } from "../redis/queue.ts";
import { eventOf } from "./rows.ts";

/** BullMQ does not keep when a job was retried, so the time is in the data of an event that was redriven. It can also wait again. */
export async function noteRedrive(job: BullmqJob): Promise<void> {
  if (eventOf(job, "dead") === undefined) return; // another program's data
  await job.updateData({ ...(job.data as object), redrivenAt: Date.now(), waitingSince: undefined });
}

/**
 * When the oldest due event was due; undefined if none is. For an event that was tried before, it is the time of its last try,
 * since BullMQ does not keep when its pause ended.
 */
export async function oldestDueAt(
  queue: BullmqQueue,
  client: QueueClient,
  keyStart: string,
): Promise<number | undefined> {
  // the oldest is at one end, depending on lifo
  const ends = [true, false].map((asc) => queue.getJobs(["waiting", "prioritized"], 0, 0, asc));
  const waiting = (await Promise.all(ends)).flat().map(dueAt);
  const delayed = await firstDelayedUntil(client, keyStart);
  const due = [...waiting, ...(delayed !== undefined && delayed <= Date.now() ? [delayed] : [])];
  return due.length === 0 ? undefined : Math.min(...due);
}

function dueAt({ timestamp, opts, processedOn = 0, data }: BullmqJob): number {
  const { redrivenAt = 0 } = (data ?? {}) as { readonly redrivenAt?: number };
  return Math.max(timestamp + (opts.delay ?? 0), processedOn, redrivenAt);
}

const overdueCommand = "esimWebhooksCountOverdue";
const overdueLua = `return redis.call("ZCOUNT", KEYS[1], "-inf", ARGV[1])`;

/** Returns a function that counts the delayed jobs that are due: they stay delayed until a worker takes one. */
export function createCountOverdue(
  client: () => Promise<QueueClient>,
  keyStart: string,
): () => Promise<number> {
  let isDefined = false;
  return async () => {
    const redis = await client();
    if (!isDefined) redis.defineCommand(overdueCommand, { numberOfKeys: 1, lua: overdueLua });
    isDefined = true;
    const now = (Date.now() + 1) * scorePerMs - 1;
    return Number(await redis.runCommand(overdueCommand, [`${keyStart}:delayed`, String(now)]));
  };
}

/** Below the ms, the score of a delayed job has 12 bits for the order. */
const scorePerMs = 0x1000;

async function firstDelayedUntil(client: QueueClient, keyStart: string): Promise<number | undefined> {
  const [, score] = (await client.zrange(`${keyStart}:delayed`, 0, 0, { WITHSCORES: true })).flat();
  return score === undefined ? undefined : Math.floor(Number(score) / scorePerMs);
}
