import { type InboxAdmin, type InboxState, WebhookError } from "@esim-webhooks/core";
import type { Calls, Filter, RetriedEvents, Round } from "./contract.ts";
import { refused } from "./failure.ts";
import { select } from "./selection.ts";
import type { Settings } from "./settings.ts";

/** The most events of one round. */
export const mostChanged = 10_000;
/** The most events that one statement of an inbox changes. */
const stepEvents = 500;

/** A change that an operator makes to events. */
export interface Change<State extends InboxState> {
  /** The states whose events it can change, the default first. */
  readonly states: readonly [State, ...State[]];
  /** The participle in messages, such as `retried`. */
  readonly done: string;
  /** Changes events of a state. Resolves to the number of changed events. */
  act(step: RetriedEvents, state: State): Promise<number>;
  /** Logs what was done, even if a step has failed. */
  log(facts: Readonly<Record<string, unknown>>): void;
}

/**
 * Changes at most `most` events, step by step. They are chosen before the first step, and each is changed once: one that dies again meanwhile
 * is not chosen again, not even by the next round, which begins at the cursor. If the inbox stops answering, the failure says how many
 * were changed.
 */
export async function change<State extends InboxState>(
  { inbox }: Settings,
  { filter, most, cursor }: Calls["discard"]["in"],
  { states, done: verb, act, log }: Change<State>,
): Promise<Round> {
  const { state: named = states[0] } = filter;
  const state = states.find((each) => each === named);
  if (state === undefined)
    throw refused(
      "invalid_call",
      `Events in the state ${named} cannot be ${verb}.`,
      `Filter by the state ${states.join(" or ")}.`,
    );
  const { steps, nextCursor } = await chosen(inbox, { ...filter, state }, most, cursor);
  let done = 0;
  try {
    for (const step of steps) done += await act(step, state);
  } catch (error) {
    if (done === 0 || !WebhookError.is(error) || error.code !== "store_unavailable") throw error;
    throw refused(
      "inbox_unavailable",
      `The inbox stopped answering after ${done} of ${most} events.`,
      "Check its database, and do it again: it continues with the rest.",
      error,
    );
  } finally {
    log({ filter: shownFilter(filter), most, events: done });
  }
  return { done, nextCursor };
}

/** Whether a cursor still names its place after events before it were changed. Otherwise an action ends with its first round. */
export function continues({ capabilities }: InboxAdmin): boolean {
  return capabilities.filters === undefined;
}

/** The ids of the events that a filter selects, at most `most`, in steps of one source each. */
async function chosen(
  inbox: InboxAdmin,
  filter: Filter,
  most: number,
  start: string | undefined,
): Promise<{ readonly steps: readonly RetriedEvents[]; readonly nextCursor: string | null }> {
  const bySource = new Map<string, string[]>();
  let cursor: string | null | undefined = start;
  for (let left = most; left > 0 && cursor !== null; ) {
    const { rows, nextCursor } = await select(inbox, filter, Math.min(stepEvents, left), cursor);
    for (const { source, id } of rows) {
      const ids = bySource.get(source) ?? [];
      bySource.set(source, ids);
      ids.push(id);
    }
    left -= rows.length;
    cursor = nextCursor;
  }
  const steps = Array.from(bySource).flatMap(([source, ids]) =>
    Array.from({ length: Math.ceil(ids.length / stepEvents) }, (_, step) => ({
      source,
      ids: ids.slice(step * stepEvents, (step + 1) * stepEvents),
    })),
  );
  return { steps, nextCursor: continues(inbox) ? (cursor ?? null) : null };
}

/** A filter as the log shows it: without the texts that are personal data, or may quote it. */
function shownFilter({ subject, error, ...filter }: Filter): Record<string, unknown> {
  return {
    ...filter,
    ...(subject !== undefined && { subject: "•••" }),
    ...(error !== undefined && { error: "•••" }),
  };
}
