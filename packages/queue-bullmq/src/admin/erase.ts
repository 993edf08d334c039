import type { InboxEntry, InboxState } from "@esim-webhooks/core";
import type { JobType } from "bullmq";
import { erasedData } from "../redis/erased-data.ts";
import type { BullmqJob, BullmqQueue } from "../redis/queue.ts";
import type { Scripts } from "../redis/script.ts";
import { entryIn, type SubjectReader } from "./rows.ts";

const erasedResult = '{"outcome":"discarded","reason":"erased"}';

/**
 * Erases a job in one script, so that no worker changes the job in between. The worker of an active job loses the lock: BullMQ then accepts
 * no result from it. The deduplication key stays.
 */
const lua = `
local completed, failed, delayed, prioritized, parents, active, wait, paused, stalled, events, meta, job = unpack(KEYS, 1, 12)
local id, data, now, isKept = unpack(ARGV)
local state = "ready"
local function eraseEvents() -- BullMQ keeps what a job failed with, or returned, in its stream of events too
  local from = "-"
  repeat
    local entries = redis.call("XRANGE", events, from, "+", "COUNT", 1000)
    for _, entry in ipairs(entries) do
      local _, event, _, jobId = unpack(entry[2], 1, 4)
      if jobId == id and (event == "failed" or event == "completed") then redis.call("XDEL", events, entry[1]) end
      from = "(" .. entry[1]
    end
  until #entries < 1000
end
if redis.call("EXISTS", job) == 0 then return "" end
if redis.call("ZSCORE", completed, id) then state = "done"
elseif redis.call("ZREM", failed, id) == 1 then state = "dead"
elseif redis.call("LREM", active, 1, id) == 1 then
  state = "leased"
  redis.call("DEL", job .. ":lock")
  redis.call("SREM", stalled, id)
elseif redis.call("ZREM", delayed, id) + redis.call("ZREM", prioritized, id) + redis.call("ZREM", parents, id) == 0
  and redis.call("LREM", wait, 1, id) + redis.call("LREM", paused, 1, id) == 0 then return "" end
redis.call("DEL", unpack(KEYS, 13))
if state == "done" or redis.call("HEXISTS", job, "stacktrace") == 1 then eraseEvents() end
local limit = redis.call("HGET", meta, "opts.maxLenEvents") or 10000
if isKept == "0" then -- by removeOnComplete
  redis.call("DEL", job)
  redis.call("ZREM", completed, id)
  redis.call("XADD", events, "MAXLEN", "~", limit, "*", "event", "removed", "jobId", id)
  return state
end
local result = '${erasedResult}'
redis.call("HDEL", job, "failedReason", "stacktrace", "progress", "defa", "tm")
redis.call("HSET", job, "data", data, "returnvalue", result)
if state == "done" then return state end
redis.call("HSET", job, "finishedOn", now)
redis.call("ZADD", completed, now, id)
redis.call("XADD", events, "MAXLEN", "~", limit, "*", "event", "completed", "jobId", id, "returnvalue", result)
return state`;

/**
 * Redis marks a deleted entry of a stream as such, and keeps its bytes, also in its files, until all entries next to it are deleted. So the
 * stream of events is written again, with the same ids: its readers miss none. The errors and results of jobs that no longer exist are left
 * out: an operator or BullMQ has deleted these jobs, so it is unknown which subjects they were about.
 */
const rewriteLua = `
local start = string.sub(KEYS[1], 1, -string.len("events") - 1)
local entries = redis.call("XRANGE", KEYS[1], "-", "+")
redis.call("DEL", KEYS[1])
for _, entry in ipairs(entries) do
  local fields = entry[2]
  local isEnd = fields[2] == "failed" or fields[2] == "completed"
  if isEnd and redis.call("EXISTS", start .. fields[4]) == 0 then
    for at = 5, #fields, 2 do
      if fields[at] == "failedReason" then fields[at + 1] = "erased" end
      if fields[at] == "returnvalue" then fields[at + 1] = '${erasedResult}' end
    end
  end
  redis.call("XADD", KEYS[1], entry[1], unpack(fields))
end`;

const sets = [
  "completed",
  "failed",
  "delayed",
  "prioritized",
  "waiting-children",
  "active",
  "wait",
  "paused",
  "stalled",
  "events",
  "meta",
];
const otherKeys = [":logs", ":dependencies", ":processed", ":failed", ":unsuccessful"];

/** The states, in the order in which a job goes through them, so that a job which moves on is found in the next one. */
const states: readonly JobType[] = [
  "delayed",
  "waiting-children",
  "prioritized",
  "waiting",
  "active",
  "failed",
  "completed",
];

/** How many times all states are searched at most: by a retry or a redrive, a job can also go back to a state that was already searched. */
const mostSearches = 5;
const sliceLength = 100;

interface FoundJob {
  readonly id: string;
  readonly job: BullmqJob;
  readonly entry: InboxEntry;
}

type Erased = Record<InboxState, number>;

/** Runs a step of a search, which has its own time limit. */
type RunStep = <Result>(step: () => Promise<Result>) => Promise<Result>;

/** Returns a function that erases the events of a subject: BullMQ has no index of subjects, so it reads every job. */
export function createErase(
  queue: BullmqQueue,
  scripts: Scripts,
  keyStart: string,
  subjectOf: SubjectReader,
): (subject: string, limit: number, run: RunStep) => Promise<Readonly<Erased>> {
  const script = scripts.create("esimWebhooksErase", sets.length + 1 + otherKeys.length, lua);
  const rewrite = scripts.create("esimWebhooksRewriteEvents", 1, rewriteLua);

  /** The job, if it is about the subject. */
  async function findAbout(subject: string, id: string): Promise<FoundJob | undefined> {
    const job = await queue.getJob(id);
    const entry = job && entryIn(job.data);
    return entry && subjectOf(entry) === subject ? { id, job, entry } : undefined;
  }

  /** Resolves to the state in which the job was. Undefined: it was removed meanwhile. */
  async function erase({ id, job, entry }: FoundJob): Promise<InboxState | undefined> {
    const now = new Date();
    const keys = [...sets, id, ...otherKeys.map((end) => `${id}${end}`)].map((key) => `${keyStart}:${key}`);
    const args = [id, JSON.stringify(erasedData(entry, now)), String(now.getTime()), isKept(job) ? "1" : "0"];
    return ((await script(keys, args)) as InboxState | "") || undefined;
  }

  /** Searches a state once, and erases the subject's jobs. Adds each job that was read to `read`. */
  async function search(
    type: JobType,
    subject: string,
    read: Set<string>,
    limit: number,
    run: RunStep,
  ): Promise<readonly InboxState[]> {
    const erased: InboxState[] = [];
    for (let start = 0; erased.length < limit; ) {
      const ids = await run(() => queue.getRanges([type], start, start + sliceLength - 1, false));
      if (ids.length === 0) break;
      const unread = ids.filter((id) => !read.has(id));
      const jobs = await run(() => Promise.all(unread.map((id) => findAbout(subject, id))));
      const found = jobs.filter((each) => each !== undefined).slice(0, limit - erased.length);
      const states = await run(() => Promise.all(found.map(erase)));
      for (const id of unread) read.add(id);
      erased.push(...states.filter((state) => state !== undefined));
      start += ids.length - found.length; // the erased jobs have left the list, and others have taken their places
    }
    return erased;
  }

  return async (subject, limit, run) => {
    const erased: Erased = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
    const read = new Set<string>();
    let left = limit;
    for (let searches = 0; searches < mostSearches && left > 0; searches += 1) {
      const before = read.size;
      for (const type of states) {
        const found = await search(type, subject, read, left, run);
        for (const state of found) erased[state] += 1;
        left -= found.length;
      }
      if (read.size === before) break;
    }
    await run(() => rewrite([`${keyStart}:events`], [])); // even if no job was found: an earlier erasure may have been interrupted
    return erased;
  };
}

/** Whether BullMQ keeps the job once it is done. */
function isKept({ opts: { removeOnComplete } }: BullmqJob): boolean {
  const count = typeof removeOnComplete === "object" ? removeOnComplete.count : removeOnComplete;
  return count !== true && count !== 0;
}
