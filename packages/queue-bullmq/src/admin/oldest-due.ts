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

/** Overdue jobs stay delayed until a worker takes one. */
async function firstDelayedUntil(client: QueueClient, keyStart: string): Promise<number | undefined> {
  const [, score] = (await client.zrange(`${keyStart}:delayed`, 0, 0, { WITHSCORES: true })).flat();
  return score === undefined ? undefined : Math.floor(Number(score) / 0x1000); // below the ms are 12 bits for the order
}
