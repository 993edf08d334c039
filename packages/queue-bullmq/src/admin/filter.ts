import { type InboxFilter, type InboxState, type RedriveFilter, WebhookError } from "@esim-webhooks/core";
import type { JobType } from "bullmq";

/** The states that BullMQ distinguishes. */
export type BullmqState = Exclude<InboxState, "unhandled">;

/** The states of BullMQ that make up a state of an event. */
export const jobTypes: Readonly<Record<BullmqState, readonly JobType[]>> = {
  leased: ["active"],
  ready: ["waiting", "prioritized", "delayed", "waiting-children"],
  dead: ["failed"],
  done: ["completed"],
};

/** A filter that BullMQ can answer: by state, or by ids of one source or of all. */
export interface AdminFilter {
  readonly states: readonly BullmqState[];
  readonly ids?: readonly string[];
  readonly source?: string;
}

const reasons: Readonly<Partial<Record<keyof InboxFilter, string>>> = {
  types: "by type",
  idPrefix: "by the beginning of an id; write the whole id",
  since: "by time",
  until: "by time",
  error: "by error",
  subject: "by subject",
  expiredBy: "by the end of the retention: done jobs leave by removeOnComplete",
  dueAfter: "by when they are due",
};

/** Throws `invalid_input` for a filter other than by state or ids: BullMQ has no index of the other fields. */
export function readFilter(filter: InboxFilter): AdminFilter {
  const { state, ids, source } = filter;
  for (const [name, reason] of Object.entries(reasons)) {
    if (filter[name as keyof InboxFilter] !== undefined)
      throw refused(`bullmqInbox cannot select events ${reason}.`);
  }
  if (source !== undefined && ids === undefined)
    throw refused("bullmqInbox cannot select events by source alone.");
  if (state === "unhandled") {
    throw new WebhookError(
      "invalid_input",
      "In bullmqInbox, unhandled events are dead: BullMQ has the one state failed for both.",
      "Use the state dead; the error of such an event begins with unhandled.",
    );
  }
  return {
    states: state === undefined ? (Object.keys(jobTypes) as BullmqState[]) : [state],
    ...(ids && { ids }),
    ...(source !== undefined && { source }),
  };
}

/** Throws `invalid_input` as `readFilter` does, and for a state whose events are not redriven. */
export function readRedriveFilter({ state = "dead", ...filter }: RedriveFilter): AdminFilter {
  const selected = readFilter({ ...filter, state });
  if (state === "dead" || state === "ready") return selected;
  throw new WebhookError(
    "invalid_input",
    `bullmqInbox.redrive cannot make events of the state ${state} ready.`,
    "Leave the state out: dead events are redriven.",
  );
}

/** BullMQ moves a job to `failed` only for the worker that has it. */
export function refuseGiveUp(): never {
  throw new WebhookError(
    "invalid_input",
    "bullmqInbox cannot end events that wait: BullMQ ends a job only for the worker that has it.",
    "Let the handler throw, or use an inbox on SQLite or Postgres.",
  );
}

function refused(problem: string): WebhookError {
  return new WebhookError(
    "invalid_input",
    problem,
    "Filter by state or by ids; BullMQ has an index of no other field.",
  );
}

export function stateOf(jobState: string): BullmqState | undefined {
  const found = Object.entries(jobTypes).find(([, types]) => types.some((type) => type === jobState));
  return found?.[0] as BullmqState | undefined;
}
