import { redriveStack } from "../redis/attempt-note.ts";
import { type BullmqJob, type BullmqQueue, type QueueClient, startsOf } from "../redis/queue.ts";
import type { Scripts } from "../redis/script.ts";
import { entryIn } from "./rows.ts";

const redriveLua = `
if not redis.call("ZSCORE", KEYS[1], ARGV[1]) then return end
local stacks = redis.call("HGET", KEYS[2], "stacktrace") or "[]"
stacks = string.sub(stacks, 1, -2) .. (#stacks > 2 and "," or "") .. ARGV[3] .. "]"
redis.call("HSET", KEYS[2], "data", ARGV[2], "stacktrace", stacks, "atm", 0, "ats", 0)
redis.call("HDEL", KEYS[2], "progress")`;

/**
 * Returns a function that notes a redrive in a failed or delayed job: its time, which BullMQ does not keep, in the job's data, and the
 * operator's step among the stacks. The event can be put off again, and its attempts count from 0. This is a script, so that the body of an
 * event that was erased meanwhile does not come back.
 */
export function createNoteRedrive(
  scripts: Scripts,
  keyStart: string,
): (job: BullmqJob, state: "failed" | "delayed", step: string) => Promise<void> {
  const script = scripts.create("esimWebhooksNoteRedrive", 2, redriveLua);
  return async ({ id = "", data, attemptsStarted, stalledCounter: stalled }, state, step) => {
    if (entryIn(data) === undefined) return; // another program's data
    const redrivenAt = Date.now();
    const attempts = startsOf({ data, attemptsStarted });
    const redriven = JSON.stringify({ ...(data as object), redrivenAt, startsBefore: attempts });
    const stack = JSON.stringify(redriveStack(step, { at: redrivenAt, stalled, attempts }));
    await script([`${keyStart}:${state}`, `${keyStart}:${id}`], [id, redriven, stack]);
  };
}

/**
 * When the oldest due event was due; undefined if none is. For a waiting event that was tried before, it is the time of its last try
 * or redrive, since BullMQ does not keep when a pause between tries ended.
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

const overdueLua = `return redis.call("ZCOUNT", KEYS[1], "-inf", ARGV[1])`;

/** Returns a function that counts the delayed jobs that are due: they stay delayed until a worker takes one. */
export function createCountOverdue(scripts: Scripts, keyStart: string): () => Promise<number> {
  const script = scripts.create("esimWebhooksCountOverdue", 1, overdueLua);
  return async () => {
    const now = (Date.now() + 1) * scorePerMs - 1;
    return Number(await script([`${keyStart}:delayed`], [String(now)]));
  };
}

/** Below the ms, the score of a delayed job has 12 bits for the order. */
const scorePerMs = 0x1000;

async function firstDelayedUntil(client: QueueClient, keyStart: string): Promise<number | undefined> {
  const [, score] = (await client.zrange(`${keyStart}:delayed`, 0, 0, { WITHSCORES: true })).flat();
  return score === undefined ? undefined : Math.floor(Number(score) / scorePerMs);
}
