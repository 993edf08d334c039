import { eraseSubject, type InboxAdmin, type RedriveFilter, WebhookError } from "@esim-webhooks/core";
import type { Calls, Changed, Empty, Erased, EventName, Filter, Payload } from "./contract.ts";
import { storedEvent } from "./events.ts";
import { refused } from "./failure.ts";
import { revealedPayload } from "./payload.ts";
import { nameOf } from "./rows.ts";
import { selectAll } from "./selection.ts";
import type { Settings } from "./settings.ts";

export async function reveal(settings: Settings, name: EventName, by: string): Promise<Payload> {
  const event = await storedEvent(settings.inbox, name);
  log(settings, { code: "dashboard_reveal", by, ...nameOf(name) }, "An operator has revealed a payload.");
  return revealedPayload(event);
}

export async function retry(settings: Settings, input: Calls["retry"]["in"], by: string): Promise<Changed> {
  const { state = "dead" } = input.filter;
  if (state !== "dead" && state !== "unhandled") {
    throw refused(
      "invalid_call",
      `Events in the state ${state} cannot be retried.`,
      "Filter by the state dead or unhandled.",
    );
  }
  const facts = { code: "dashboard_retry", by, filter: shownFilter(input.filter) };
  const act = (filter: RedriveFilter, limit: number) => settings.inbox.redrive({ ...filter, state }, limit);
  return change(
    settings,
    { ...input, filter: { ...input.filter, state } },
    facts,
    "An operator has retried events.",
    act,
  );
}

export async function discard(
  settings: Settings,
  input: Calls["discard"]["in"],
  by: string,
): Promise<Changed> {
  const { state = "dead" } = input.filter;
  if (state !== "dead") {
    throw refused(
      "invalid_call",
      `Events in the state ${state} cannot be deleted.`,
      "Filter by the state dead.",
    );
  }
  const facts = { code: "dashboard_discard", by, filter: shownFilter(input.filter) };
  const act = (filter: RedriveFilter, limit: number) => settings.inbox.purgeDead(filter, limit);
  return change(
    settings,
    { ...input, filter: { ...input.filter, state } },
    facts,
    "An operator has deleted dead events.",
    act,
  );
}

export async function pause(settings: Settings, input: Calls["pause"]["in"], by: string): Promise<Empty> {
  const { inbox, catalog } = settings;
  const { type, reason, forMs } = input;
  await inbox.pause({
    reason,
    by,
    ...(type !== null && { types: [type], catalog: { types: [...catalog.types, type] } }),
    ...(forMs !== undefined && { until: new Date(Date.now() + forMs) }),
  });
  log(settings, { code: "dashboard_pause", by, type: type ?? "all types" }, "An operator has paused events.");
  return {};
}

export async function resume(
  settings: Settings,
  { type }: Calls["resume"]["in"],
  by: string,
): Promise<Changed> {
  const ended = await settings.inbox.resume(type === null ? {} : { types: [type] });
  const facts = { code: "dashboard_resume", by, type: type ?? "all types", pauses: ended.length };
  log(settings, facts, "An operator has ended pauses.");
  return { done: ended.length };
}

export async function erase(
  settings: Settings,
  { subject }: Calls["erase"]["in"],
  by: string,
): Promise<Erased> {
  const erased = await eraseSubject(settings.inbox, subject);
  log(
    settings,
    { code: "dashboard_erase", by, events: erased.events },
    "An operator has erased the personal data of an eSIM.",
  );
  return erased;
}

/** The most events of one action: the page counts no further. */
export const mostChanged = 10_000;
/** The most events that one statement of an inbox changes. */
const stepEvents = 500;

/**
 * Changes at most `most` events, step by step. They are chosen before the first step, and each is changed once: one that dies again meanwhile is not
 * chosen again. What was changed before a step failed is logged, and the failure says it.
 */
async function change(
  settings: Settings,
  { filter, most }: Calls["retry"]["in"],
  facts: Facts,
  message: string,
  act: (filter: RedriveFilter, limit: number) => Promise<number>,
): Promise<Changed> {
  const { inbox } = settings;
  const steps = await chosen(inbox, filter, most);
  let done = 0;
  try {
    for (const step of steps) done += await act(step, step.ids.length);
  } catch (error) {
    if (done === 0 || !WebhookError.is(error) || error.code !== "store_unavailable") throw error;
    throw refused(
      "inbox_unavailable",
      `The inbox stopped answering after ${done} of ${most} events.`,
      "Check its database, and do it again: it continues with the rest.",
      error,
    );
  } finally {
    log(settings, { ...facts, events: done, most }, message);
  }
  return { done };
}

/** The ids of the events that a filter selects, at most `most`, in steps of one source each. */
async function chosen(
  inbox: InboxAdmin,
  filter: Filter,
  most: number,
): Promise<readonly { readonly source?: string; readonly ids: readonly string[] }[]> {
  const bySource = new Map<string, string[]>();
  let left = most;
  for await (const { rows } of selectAll(inbox, filter, stepEvents)) {
    for (const { source, id } of rows.slice(0, left)) {
      const ids = bySource.get(source) ?? [];
      bySource.set(source, ids);
      ids.push(id);
    }
    left -= Math.min(left, rows.length);
    if (left === 0) break;
  }
  const hasSources = inbox.capabilities.filters === undefined; // else the engine selects by id alone
  return Array.from(bySource).flatMap(([source, ids]) =>
    Array.from({ length: Math.ceil(ids.length / stepEvents) }, (_, step) => ({
      ...(hasSources && { source }),
      ids: ids.slice(step * stepEvents, (step + 1) * stepEvents),
    })),
  );
}

interface Facts {
  readonly code: string;
  /** Who did it. */
  readonly by: string;
  readonly [name: string]: unknown;
}

function log({ logger }: Settings, facts: Facts, message: string): void {
  logger.info(facts, message);
}

/** A filter without what is personal data or may quote it. */
function shownFilter({ subject, error, ...filter }: Filter): Record<string, unknown> {
  return {
    ...filter,
    ...(subject !== undefined && { subject: "•••" }),
    ...(error !== undefined && { error: "•••" }),
  };
}
