import {
  eraseSubject,
  type InboxAdmin,
  type InboxState,
  type Pause,
  type WebhookError,
} from "@esim-webhooks/core";
import { change } from "./change.ts";
import type {
  Calls,
  Changed,
  Empty,
  Erased,
  Filter,
  GaveUp,
  Outcome,
  Retried,
  RetriedEvents,
  Round,
} from "./contract.ts";
import { storedEvent } from "./events.ts";
import { type FailureCode, refused } from "./failure.ts";
import { revealedPayload } from "./payload.ts";
import { nameOf } from "./rows.ts";
import type { Settings } from "./settings.ts";
import type { EventName, Payload } from "./views.ts";

export async function reveal(settings: Settings, name: EventName, by: string): Promise<Payload> {
  const event = await storedEvent(settings.inbox, name);
  log(settings, { code: "dashboard_reveal", by, ...nameOf(name) }, "An operator has revealed a payload.");
  return revealedPayload(event);
}

export async function retry(settings: Settings, input: Calls["retry"]["in"], by: string): Promise<Retried> {
  const { inbox } = settings;
  const isWaiting = input.filter.state === "ready";
  const filter: Filter = isWaiting ? { ...input.filter, dueLater: true } : input.filter;
  const events: RetriedEvents[] = [];
  const round = await change(
    settings,
    { ...input, filter },
    {
      log: (facts) =>
        log(settings, { code: "dashboard_retry", by, ...facts }, "An operator has retried events."),
      states: ["dead", "unhandled", "ready"],
      done: "retried",
      async act(step, state) {
        const { ids } = step;
        const changed = await inbox.redrive({ ...step, state }, ids.length, by);
        const isWhole = changed === ids.length || isWaiting; // in the state ready, changed and unchanged events look the same
        // if this look-up fails, all are watched: the retry has been done, and its count must be shown
        const watched = isWhole ? ids : await without(inbox, step, state).catch(() => ids);
        events.push({ ...step, ids: watched });
        return changed;
      },
    },
  );
  return { ...round, events };
}

/** The ids of the events that are no longer in a state. Dead events whose body was removed, for example, still are. */
async function without(
  inbox: InboxAdmin,
  { source, ids }: RetriedEvents,
  state: InboxState,
): Promise<readonly string[]> {
  const { rows } = await inbox.list({ source, ids, state }, { limit: ids.length });
  const left = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !left.has(id));
}

/** The results of retried events, each found by its key. A retry has set their tries to 0. */
export async function progress(
  { inbox }: Settings,
  { source, ids }: RetriedEvents,
): Promise<readonly Outcome[]> {
  const { rows } = await inbox.list({ source, ids }, { limit: ids.length });
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const row = found.get(id);
    if (row === undefined) return "gone";
    return row.state === "ready" && row.tries > 0 ? "failed" : row.state;
  });
}

export function discard(settings: Settings, input: Calls["discard"]["in"], by: string): Promise<Round> {
  return change(settings, input, {
    log: (facts) =>
      log(settings, { code: "dashboard_discard", by, ...facts }, "An operator has deleted dead events."),
    states: ["dead"],
    done: "deleted",
    act: (step) => settings.inbox.purgeDead(step, step.ids.length),
  });
}

/** Ends ready events as dead. `leased`: how many a worker has taken since they were chosen. */
export async function giveUp(
  settings: Settings,
  { reason, ...input }: Calls["giveUp"]["in"],
  by: string,
): Promise<GaveUp> {
  let leased = 0;
  const round = await change(settings, input, {
    log: (facts) =>
      log(settings, { code: "dashboard_give_up", by, reason, ...facts }, "An operator has given events up."),
    states: ["ready"],
    done: "given up",
    async act(step) {
      const givenUp = await settings.inbox.giveUp(step, { reason, by }, step.ids.length);
      leased += givenUp.leased;
      return givenUp.events;
    },
  });
  return { ...round, leased };
}

export async function pause(settings: Settings, input: Calls["pause"]["in"], by: string): Promise<Empty> {
  const { inbox, catalog } = settings;
  const { type, reason, forMs, replaces } = input;
  const earlier = (await inbox.paused()).find((pause) => pause.type === type);
  if (earlier !== undefined && earlier.since.toISOString() !== replaces) throw alreadyPaused(earlier);
  const until = forMs === undefined ? undefined : new Date(Date.now() + forMs);
  await inbox.pause({
    reason,
    by,
    ...(type !== null && { types: [type], catalog: { types: [...catalog.types, type] } }),
    ...(until !== undefined && { until }),
  });
  const facts = {
    code: "dashboard_pause",
    by,
    type: type ?? "all types",
    reason,
    until: until?.toISOString() ?? null,
    ...(earlier !== undefined && { replacedPauseOf: earlier.by }),
  };
  log(settings, facts, "An operator has paused events.");
  return {};
}

function alreadyPaused({ type, by, reason }: Pause): WebhookError<FailureCode> {
  const what = type === null ? "All types have" : `${type} has`;
  return refused(
    "already_paused",
    `${what} been paused${by === null ? "" : ` by ${by}`}: ${reason}.`,
    "Cancel, and pause again to replace that pause: the dialog then shows it.",
  );
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

interface Facts {
  readonly code: string;
  /** The operator's name. */
  readonly by: string;
  readonly [name: string]: unknown;
}

function log({ logger }: Settings, facts: Facts, message: string): void {
  logger.info(facts, message);
}
