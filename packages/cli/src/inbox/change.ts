import type { InboxAdmin, InboxFilter, InboxRow, InboxState } from "@esim-webhooks/core";
import { hasRole, storeTimeMs, whyItWaits } from "@esim-webhooks/core/internal";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { flagsOf, shellWord } from "../program/shell.ts";
import { missingRole } from "../set-up/open-target.ts";
import { sentenceStart } from "../terminal/text.ts";
import { filterOf, listPages } from "./filter.ts";
import type { DeadFlags, GiveUpFlags, PurgeFlags, RetryFlags } from "./flags.ts";
import { operator } from "./pauses.ts";
import { checkConfirmable, type OtherNamed, perform } from "./perform.ts";
import { type InboxAccess, withInbox } from "./with-inbox.ts";

export async function retry(this: CliContext, flags: RetryFlags): Promise<void> {
  checkConfirmable(this, "retry", flags);
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const { status = "dead", by = operator(this) } = flags;
    const state = status === "waiting" ? "ready" : status;
    const filter = { ...(await filterOf(flags, access, this.output)), state } as const;
    const now = await storeTimeMs(inbox, this.now());
    const isMeant = (row: InboxRow) =>
      row.state === state && (status !== "waiting" || (row.dueAt?.getTime() ?? Infinity) > now);
    await perform(this, flags, {
      name: "retry",
      noun: `${status} event`,
      verb: "retry",
      report: (events) => `Made ${status === "waiting" ? "due now" : "ready again"}: ${events}.`,
      next: `To see what becomes of them: esim-webhooks inbox ${watching(flags)}`,
      others: await othersNamed(access, filter, isMeant, retryRemedies, now),
      count: (most) =>
        status === "waiting" ? countWaiting(inbox, filter, now, most) : inbox.count(filter, most),
      act: (limit) => inbox.redrive(filter, limit, by),
    });
  });
}

/** Counts the events that are due later. BullMQ cannot filter by when events are due: if events are named, all ready ones of these are counted. */
async function countWaiting(
  inbox: InboxAdmin,
  filter: InboxFilter,
  now: number,
  most: number,
): Promise<number> {
  if (inbox.capabilities.filters === undefined)
    return inbox.count({ ...filter, dueAfter: new Date(now) }, most);
  return filter.ids === undefined ? (await inbox.gauges()).counts.waiting : inbox.count(filter, most);
}

/** Ends ready events as dead. Leaves those that a worker handles. */
export async function giveUp(this: CliContext, flags: GiveUpFlags): Promise<void> {
  checkConfirmable(this, "give-up", flags);
  await withInbox(this, flags, async (access) => {
    const { inbox, where } = access;
    if (inbox.capabilities.givesUp === false)
      throw invalidUsage(
        `${sentenceStart(where)} cannot end events that no worker has.`,
        "Let their handlers throw, or use an inbox on SQLite or Postgres.",
      );
    const { reason, by = operator(this) } = flags;
    const filter = await filterOf(flags, access, this.output);
    const isReady = ({ state }: InboxRow) => state === "ready";
    let leased = await inbox.count({ ...filter, state: "leased" });
    await perform(this, flags, {
      name: "give-up",
      noun: "ready event",
      verb: "give up",
      report: (events) => `Given up, and dead now: ${events}.`,
      next: "To run them after all: esim-webhooks inbox retry. To delete them: esim-webhooks inbox discard.",
      others: await othersNamed(access, filter, isReady, {}, this.now()),
      leased: () => leased,
      count: (most) => inbox.count({ ...filter, state: "ready" }, most),
      async act(limit) {
        const givenUp = await inbox.giveUp(filter, { reason, by }, limit);
        leased = givenUp.leased;
        return givenUp.events;
      },
    });
  });
}

/** The advice for an event that was named, but is not one that these flags retry, by its state. `whyItWaits` explains a leased one. */
const retryRemedies: Remedies = {
  ready: "To run it now, add --status waiting.",
  done: "To run it again, import a dump that has it with esim-webhooks import --force.",
  unhandled: "To retry it, add --status unhandled.",
  dead: "To retry it, leave out --status unhandled.",
};

/** The advice for an event that was named, but that `discard` does not delete, by its state. */
const discardRemedies: Remedies = {
  done: "Only dead events are discarded; esim-webhooks inbox purge deletes it after its retention.",
  unhandled: "Only dead events are discarded; esim-webhooks inbox purge deletes it after its retention.",
};

type Remedies = { readonly [State in InboxState]?: string };

async function othersNamed(
  { inbox }: InboxAccess,
  { source, ids }: InboxFilter,
  isMeant: (row: InboxRow) => boolean,
  remedies: Remedies,
  machineMs: number,
): Promise<readonly OtherNamed[]> {
  if (ids === undefined) return [];
  const now = await storeTimeMs(inbox, machineMs);
  const [pauses, workers] = await Promise.all([inbox.paused(), inbox.workers()]);
  const others: OtherNamed[] = [];
  for await (const { rows } of listPages(inbox, { ...(source !== undefined && { source }), ids })) {
    for (const row of rows.filter((each) => !isMeant(each))) {
      const event = await inbox.get(row);
      if (event === undefined) continue; // it was deleted meanwhile
      const waits = whyItWaits(event, { now, pauses, workers });
      const isDueLater = event.state !== "ready" || (event.dueAt?.getTime() ?? 0) > now;
      const message = [waits, isDueLater && remedies[event.state]].filter(Boolean).join(" ");
      others.push({ source: row.source, id: row.id, state: event.state, message });
    }
  }
  return others;
}

/** The command, after `esim-webhooks inbox`, that shows these events in any state: a retry changes their state and error. Without a filter: `stats`. */
function watching({ types, id = [], source, esim, since, until, from, config, dataDir }: RetryFlags): string {
  const filter = [
    ...id.map((each) => ` --id ${shellWord(each)}`),
    flagsOf({
      types: types?.join(","),
      source,
      esim,
      since: since?.toISOString(),
      until: until?.toISOString(),
    }),
  ].join("");
  return `${filter === "" ? "stats" : "list"}${filter}${flagsOf({ from, config, dataDir })}`;
}

export async function discard(this: CliContext, flags: DeadFlags): Promise<void> {
  checkConfirmable(this, "discard", flags);
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const filter = await filterOf(flags, access, this.output);
    await perform(this, flags, {
      name: "discard",
      noun: "dead event",
      verb: "permanently delete",
      report: (events) => `Deleted: ${events}.`,
      others: await othersNamed(access, filter, ({ state }) => state === "dead", discardRemedies, this.now()),
      count: (most) => inbox.count({ ...filter, state: "dead" }, most),
      act: (limit) => inbox.purgeDead(filter, limit),
    });
  });
}

export async function purge(this: CliContext, flags: PurgeFlags): Promise<void> {
  checkConfirmable(this, "purge", flags);
  await withInbox(this, flags, async ({ inbox, where }) => {
    if (!hasRole(inbox, "queue")) throw missingRole("queue", where);
    const expiredBy = new Date(await storeTimeMs(inbox, this.now()));
    const ended = (state: InboxState, most: number) => inbox.count({ state, expiredBy }, most);
    await perform(this, flags, {
      name: "purge",
      noun: "event past its retention",
      nouns: "events past their retention",
      verb: "delete",
      report: (events) => `Deleted: ${events}.`,
      count: async (most) => (await ended("done", most)) + (await ended("unhandled", most)),
      act: (limit) => inbox.purge(limit),
    });
  });
}
