import {
  type EventKey,
  type InboxAdmin,
  type InboxRow,
  type StoredEvent,
  WebhookError,
} from "@esim-webhooks/core";
import { encodeStep, withoutBody } from "@esim-webhooks/core/engine";
import { deduplicationIdOf } from "../redis/job-identity.ts";
import type { Notes } from "../redis/notes.ts";
import type { Pauses } from "../redis/pauses.ts";
import type { BullmqJob, BullmqQueue, QueueClient } from "../redis/queue.ts";
import type { Scripts } from "../redis/script.ts";
import { createDeleteDead } from "./delete-dead.ts";
import {
  type AdminFilter,
  type BullmqState,
  jobTypes,
  readFilter,
  readRedriveFilter,
  stateOf,
} from "./filter.ts";
import { createCountOverdue, createNoteRedrive, oldestDueAt } from "./oldest-due.ts";
import { eventOf, goneEvent, type SubjectReader } from "./rows.ts";
import { connectedWorkers } from "./workers.ts";

export type AdminOperations = Pick<
  InboxAdmin,
  "stats" | "gauges" | "workers" | "count" | "list" | "get" | "redrive" | "purgeDead"
>;

const pageLimit = 50;
export const operatorLimit = 1000;

export interface AdminOptions {
  readonly queue: BullmqQueue;
  readonly client: () => Promise<QueueClient>;
  readonly scripts: Scripts;
  /** The beginning of each Redis key of the queue: BullMQ's prefix, a colon and the name of the queue. */
  readonly keyStart: string;
  readonly notes: Notes;
  readonly pauses: Pauses;
  readonly subjectOf: SubjectReader;
}

/** The operations for operators that BullMQ can answer: by state, or by ids. */
export function createAdmin({
  queue,
  client,
  scripts,
  keyStart,
  notes,
  pauses,
  subjectOf,
}: AdminOptions): AdminOperations {
  const deleteDead = createDeleteDead(scripts, keyStart);
  const countOverdue = createCountOverdue(scripts, keyStart);
  const noteRedrive = createNoteRedrive(scripts, keyStart);

  async function counts(): Promise<Readonly<Record<BullmqState, number>>> {
    const all = await queue.getJobCounts(...Object.values(jobTypes).flat());
    const sum = (state: BullmqState) => jobTypes[state].reduce((total, type) => total + (all[type] ?? 0), 0);
    return { ready: sum("ready"), leased: sum("leased"), done: sum("done"), dead: sum("dead") };
  }

  async function find(
    key: EventKey,
  ): Promise<{ readonly event: StoredEvent; readonly job?: BullmqJob } | undefined> {
    const jobId = await queue.getDeduplicationJobId(deduplicationIdOf(key));
    if (jobId === null) return undefined;
    let job = await queue.getJob(jobId);
    const state = stateOf((await job?.getState()) ?? "unknown");
    const hasEnded = state === "done" || state === "dead";
    if (hasEnded && job?.finishedOn === undefined) job = await queue.getJob(jobId); // it ended after it was read
    if (job === undefined || state === undefined) return { event: goneEvent(key) }; // no state: removed meanwhile
    const event = eventOf(job, state, subjectOf);
    return event && { event, job };
  }

  /** The events with the ids of a filter, in its states. */
  async function findByIds({ states, ids = [], source }: AdminFilter) {
    const from = source === undefined ? await notes.sources() : [source];
    const keys = from.flatMap((source) => [...new Set(ids)].map((id) => ({ source, id })));
    const found = await Promise.all(keys.map(find));
    return found.filter((each) => each !== undefined).filter(({ event }) => isIn(states, event));
  }

  async function oldestReadyMs(): Promise<number | null> {
    if ((await pauses.current()) !== null) return null; // nothing is ready
    const oldest = await oldestDueAt(queue, await client(), keyStart);
    return oldest === undefined ? null : Math.max(0, Date.now() - oldest);
  }

  /** Returns the jobs with the ids of a filter. Without ids: the failed or delayed jobs, the earliest first. */
  async function jobsIn(
    state: "failed" | "delayed",
    filter: AdminFilter,
    limit: number,
  ): Promise<readonly BullmqJob[]> {
    if (filter.ids === undefined) return queue.getJobs([state], 0, limit - 1, true);
    return (await findByIds(filter)).flatMap(({ job }) => job ?? []).slice(0, limit);
  }

  /** Makes a failed or delayed job due. False: it is in another state, since another operator was faster, or its id was forgotten and stored again. */
  async function retry(job: BullmqJob, state: "failed" | "delayed", step: string): Promise<boolean> {
    const deduplicationId = job.opts.deduplication?.id;
    const latest = deduplicationId && (await queue.getDeduplicationJobId(deduplicationId));
    if (latest && latest !== job.id) return false;
    try {
      await noteRedrive(job, state, step);
      if (state === "delayed") await job.promote();
      else await job.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true }); // keeps its deduplication id
      return true;
    } catch (error) {
      if ((await job.getState()) === state) throw error;
      return false;
    }
  }

  return {
    async stats() {
      const [states, oldest, lastReceivedAt] = await Promise.all([
        counts(),
        oldestReadyMs(),
        notes.lastDelivery(),
      ]);
      return {
        states: { ...states, unhandled: 0 },
        types: [],
        oldestReadyMs: oldest,
        conflicts: 0,
        lastReceivedAt,
      };
    },
    async gauges() {
      const pause = await pauses.current();
      const [all, overdue, oldest, lastReceivedAt] = await Promise.all([
        queue.getJobCounts("waiting", "prioritized", "delayed", "waiting-children", "active", "failed"),
        countOverdue(),
        oldestReadyMs(),
        notes.lastDelivery(),
      ]);
      const { waiting = 0, prioritized = 0, delayed = 0, active = 0, failed = 0 } = all;
      const { "waiting-children": parents = 0 } = all; // they are not due before their children have ended
      const due = waiting + prioritized + overdue;
      const counts = {
        ready: pause === null ? due : 0,
        waiting: Math.max(0, delayed - overdue) + parents,
        blocked: 0, // it has no lanes
        paused: pause === null ? 0 : due,
        leased: active,
        unhandled: 0,
        dead: failed,
      };
      const blockedBy = { failing: 0, paused: 0, dead: 0 };
      return { counts, capped: [], blockedBy, oldestReadyMs: oldest, lastReceivedAt };
    },
    workers: () => connectedWorkers(queue),
    async count(filter = {}, most = Number.POSITIVE_INFINITY) {
      const selected = readFilter(filter);
      if (selected.ids !== undefined) return Math.min(most, (await findByIds(selected)).length);
      const all = await counts();
      return Math.min(
        most,
        selected.states.reduce((total, state) => total + all[state], 0),
      );
    },
    async list(filter = {}, { limit = pageLimit, cursor } = {}) {
      const selected = readFilter(filter);
      const place = readPlace(cursor);
      if (selected.ids !== undefined) {
        const found = await findByIds(selected);
        return { rows: found.map(({ event }) => withoutBody(event)), nextCursor: null, searchedTo: null };
      }
      const rows: InboxRow[] = [];
      const types = selected.states.flatMap((state) => jobTypes[state].map((type) => ({ state, type })));
      const counts = await queue.getJobCounts(...types.map(({ type }) => type));
      for (let { state: index, offset } = place; index < types.length; index += 1, offset = 0) {
        const { state, type } = types[index] as (typeof types)[number];
        const left = (counts[type] ?? 0) - offset;
        if (left <= 0) continue;
        const wanted = Math.min(limit - rows.length, left);
        if (wanted > 0) {
          const jobs = await queue.getJobs([type], offset, offset + wanted - 1, false);
          rows.push(...jobs.flatMap((job) => eventOf(job, state, subjectOf) ?? []).map(withoutBody));
        }
        if (wanted >= left) continue;
        const nextCursor = writePlace({ state: index, offset: offset + wanted });
        return { rows, nextCursor, searchedTo: null }; // the order is by state first
      }
      return { rows, nextCursor: null, searchedTo: null };
    },
    get: async (key) => (await find(key))?.event,
    async redrive(filter = {}, limit = operatorLimit, by) {
      const selected = readRedriveFilter(filter);
      const state = filter.state === "ready" ? "delayed" : "failed";
      const step = encodeStep("retried", by ?? null);
      const jobs = await jobsIn(state, selected, limit);
      const retried = await Promise.all(jobs.map((job) => retry(job, state, step)));
      return retried.filter(Boolean).length;
    },
    async purgeDead(filter, limit = operatorLimit) {
      const selected = readFilter({ ...filter, state: "dead" });
      if (selected.ids === undefined) return (await queue.clean(0, limit, "failed")).length;
      const jobs = await jobsIn("failed", selected, limit);
      const deleted = await Promise.all(jobs.map(deleteDead));
      return deleted.filter(Boolean).length;
    },
  };
}

function isIn(states: readonly BullmqState[], { state }: StoredEvent): boolean {
  return (states as readonly string[]).includes(state);
}

/** Where a page begins: the index of a job state, and how many of its jobs were listed. */
interface PagePlace {
  readonly state: number;
  readonly offset: number;
}

function writePlace({ state, offset }: PagePlace): string {
  return Buffer.from(`${state}:${offset}`).toString("base64url");
}

/** Throws `invalid_input` for a cursor that `writePlace` did not write. */
function readPlace(cursor: string | undefined): PagePlace {
  if (cursor === undefined) return { state: 0, offset: 0 };
  const text = Buffer.from(cursor, "base64url").toString();
  const [, state, offset] = /^(\d{1,2}):(\d{1,15})$/.exec(text) ?? [];
  if (state !== undefined && offset !== undefined) return { state: Number(state), offset: Number(offset) };
  throw new WebhookError(
    "invalid_input",
    "The cursor is not one that list() returned.",
    "Pass the nextCursor of a page.",
  );
}
