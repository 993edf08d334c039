import { eraseSubject, type RedriveFilter, WebhookError } from "@esim-webhooks/core";
import type { Calls, Changed, Empty, Erased, EventName, Payload } from "./contract.ts";
import { storedEvent } from "./events.ts";
import { refused } from "./failure.ts";
import { inboxFilter } from "./filter.ts";
import { revealedPayload } from "./payload.ts";
import { nameOf } from "./rows.ts";
import type { Settings } from "./settings.ts";

export async function reveal(settings: Settings, name: EventName, by: string): Promise<Payload> {
  const event = await storedEvent(settings.inbox, name);
  log(settings, { code: "dashboard_reveal", by, ...nameOf(name) }, "An operator has revealed a payload.");
  return revealedPayload(event);
}

export async function retry(settings: Settings, input: Calls["retry"]["in"], by: string): Promise<Changed> {
  const { inbox } = settings;
  const { state = "dead", ...filter } = inboxFilter(inbox, input.filter);
  if (state !== "dead" && state !== "unhandled") {
    throw refused(
      "invalid_call",
      `Events in the state ${state} cannot be retried.`,
      "Filter by the state dead or unhandled.",
    );
  }
  const selected: RedriveFilter = { ...filter, state };
  const facts = { code: "dashboard_retry", by, filter: shownFilter(input.filter) };
  return change(settings, input.most, facts, "An operator has retried events.", (limit) =>
    inbox.redrive(selected, limit),
  );
}

export async function discard(
  settings: Settings,
  input: Calls["discard"]["in"],
  by: string,
): Promise<Changed> {
  const { inbox } = settings;
  const { state = "dead", ...filter } = inboxFilter(inbox, input.filter);
  if (state !== "dead") {
    throw refused(
      "invalid_call",
      `Events in the state ${state} cannot be deleted.`,
      "Filter by the state dead.",
    );
  }
  const facts = { code: "dashboard_discard", by, filter: shownFilter(input.filter) };
  return change(settings, input.most, facts, "An operator has deleted dead events.", (limit) =>
    inbox.purgeDead(filter, limit),
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

/** The most events that one statement of an inbox changes. */
const stepEvents = 1000;

/** Changes at most `most` events, step by step. What was changed before a step failed is logged, and the failure says it. */
async function change(
  settings: Settings,
  most: number,
  facts: Facts,
  message: string,
  act: (limit: number) => Promise<number>,
): Promise<Changed> {
  let done = 0;
  try {
    for (let isMore = true; isMore && done < most; ) {
      const step = Math.min(stepEvents, most - done);
      const changed = await act(step);
      done += changed;
      isMore = changed === step;
    }
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
function shownFilter({ subject, error, ...filter }: Calls["retry"]["in"]["filter"]): Record<string, unknown> {
  return {
    ...filter,
    ...(subject !== undefined && { subject: "•••" }),
    ...(error !== undefined && { error: "•••" }),
  };
}
