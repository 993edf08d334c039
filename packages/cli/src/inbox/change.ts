import type { EventKey, InboxFilter, InboxState } from "@esim-webhooks/core";
import { hasRole, whyItWaits } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage } from "../program/program-error.ts";
import { flagsOf, shellWord } from "../program/shell.ts";
import { missingRole } from "../set-up/open-target.ts";
import { confirm } from "../terminal/confirm.ts";
import { count, counted, countedSoFar, mostCounted } from "../terminal/quantities.ts";
import { sentenceStart } from "../terminal/text.ts";
import { filterOf, listPages } from "./filter.ts";
import type { DeadFlags, PurgeFlags, RetryFlags } from "./flags.ts";
import { type InboxAccess, withInbox } from "./with-inbox.ts";

export async function retry(this: CliContext, flags: RetryFlags): Promise<void> {
  checkConfirmable(this, "retry", flags);
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const { status: state = "dead" } = flags;
    const filter = { ...(await filterOf(flags, access, this.output)), state };
    await perform(this, flags, {
      name: "retry",
      noun: `${state} event`,
      verb: "retry",
      report: (events) => `Made ready again: ${events}.`,
      next: `To see what becomes of them: esim-webhooks inbox ${watching(flags)}`,
      others: await othersNamed(access, filter, retryRemedies, this.now()),
      count: (most) => inbox.count(filter, most),
      act: (limit) => inbox.redrive(filter, limit),
    });
  });
}

/** What to do about a named event that is in this state, and not in the one that `retry` changes. Others wait: `whyItWaits` has the words. */
const retryRemedies: Remedies = {
  done: "To run it again, import a dump that has it with esim-webhooks import --force.",
  unhandled: "To retry it, add --status unhandled.",
  dead: "To retry it, leave out --status unhandled.",
};

/** The same of `discard`. */
const discardRemedies: Remedies = {
  done: "Only dead events are discarded; esim-webhooks inbox purge deletes it after its retention.",
  unhandled: "Only dead events are discarded; esim-webhooks inbox purge deletes it after its retention.",
};

type Remedies = { readonly [State in InboxState]?: string };

/** An event that was named with --id and is in another state. */
interface OtherNamed extends EventKey {
  readonly state: InboxState;
  /** What to know or to do about it. */
  readonly message: string;
}

async function othersNamed(
  { inbox }: InboxAccess,
  { source, ids, state }: InboxFilter,
  remedies: Remedies,
  now: number,
): Promise<readonly OtherNamed[]> {
  if (ids === undefined) return [];
  const [pauses, workers] = await Promise.all([inbox.paused(), inbox.workers()]);
  const others: OtherNamed[] = [];
  for await (const { rows } of listPages(inbox, { ...(source !== undefined && { source }), ids })) {
    for (const row of rows.filter((each) => each.state !== state)) {
      const event = await inbox.get(row);
      if (event === undefined) continue; // it was deleted since
      const waits = whyItWaits(event, { now, pauses, workers });
      const message = waits ?? remedies[event.state] ?? "";
      others.push({ source: row.source, id: row.id, state: event.state, message });
    }
  }
  return others;
}

/** The command that shows the same events in any state, so not by their error; without a filter, the one that counts all. */
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
      others: await othersNamed(access, { ...filter, state: "dead" }, discardRemedies, this.now()),
      count: (most) => inbox.count({ ...filter, state: "dead" }, most),
      act: (limit) => inbox.purgeDead(filter, limit),
    });
  });
}

export async function purge(this: CliContext, flags: PurgeFlags): Promise<void> {
  checkConfirmable(this, "purge", flags);
  await withInbox(this, flags, async ({ inbox, where }) => {
    if (!hasRole(inbox, "queue")) throw missingRole("queue", where);
    const expiredBy = new Date(this.now());
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

/** A command that changes many events. */
export interface Action {
  readonly name: "retry" | "discard" | "purge";
  /** The events that it changes, in the singular: `dead event`. */
  readonly noun: string;
  /** The plural. Default: the noun with an `s`. */
  readonly nouns?: string;
  /** As in `Would retry 3 dead events.` and `Retry 3 dead events?` */
  readonly verb: string;
  /** The sentence to print at the end. `events` is the amount with its noun: `3 dead events`. */
  report(events: string): string;
  /** A sentence for the operator after events were changed: what to do next. */
  readonly next?: string;
  /** The events that were named and cannot be changed. */
  readonly others?: readonly OtherNamed[];
  /** Counts the events that it would change without a limit. Need not count further than `most`. */
  count(most: number): Promise<number>;
  /** Changes at most `limit` events. Resolves to how many it changed. */
  act(limit: number): Promise<number>;
}

/** The most events that one statement of the store changes. */
const stepEvents = 1000;

/** Throws `invalid_usage` when there is neither --yes nor --dry-run, and no terminal to ask on. */
export function checkConfirmable(
  { process }: CliContext,
  name: Action["name"] | "erase",
  { dryRun, yes }: Pick<PurgeFlags, "dryRun" | "yes">,
): void {
  const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true;
  if (dryRun || yes || canAsk) return;
  throw invalidUsage(
    `inbox ${name} asks before it changes events, but there is no terminal to ask on.`,
    "Add --yes, or --dry-run to see what it would do.",
  );
}

/** Counts the events, asks for confirmation, changes the events and reports how many. */
export async function perform(context: CliContext, flags: PurgeFlags, action: Action): Promise<void> {
  const { limit, dryRun = false, yes = false, json = false } = flags;
  const { output } = context;
  const { others = [] } = action;
  const found = await action.count(mostCounted + 1);
  const isMore = found > mostCounted && limit > mostCounted;
  const events = isMore ? mostCounted : Math.min(limit, found);
  const named = (amount: number) => counted(amount, action.noun, action.nouns);
  const report = (amount: number, text: string, more = {}) =>
    json
      ? output.json({
          action: action.name,
          dryRun,
          events: amount,
          ...more,
          ...(others.length > 0 && { others }),
        })
      : output.data(text);
  if (!json)
    for (const { id, state, message } of others) output.note(printable(`${id} is ${state}. ${message}`));

  const planned = isMore ? countedSoFar(found, action.noun, action.nouns) : named(events);
  const plan = `${action.verb} ${planned}${isMore ? `, at most ${count(limit)} (--limit)` : limitNote(found, limit)}`;
  if (events === 0) return report(0, `Nothing to do: ${named(0)}.`);
  if (dryRun) return report(events, `Would ${plan}.`, isMore ? { isMore } : {});
  if (!yes && !(await isConfirmed(context, plan))) return output.note("Nothing was changed.");
  const done = await actInSteps(action, isMore ? limit : events);
  report(done, action.report(named(done)));
  if (action.next !== undefined && done > 0 && !json) output.note(action.next);
}

/** Asks whether to do what the plan says. `remark` is a sentence after the question. */
export async function isConfirmed({ process }: CliContext, plan: string, remark = ""): Promise<boolean> {
  const question = `${sentenceStart(plan)}?${remark}`;
  const answer = await confirm(question, { input: process.stdin, output: process.stderr });
  if (answer === "interrupted") process.exitCode = exitCodes.interrupted;
  return answer === "yes";
}

async function actInSteps({ act }: Action, limit: number): Promise<number> {
  let done = 0;
  for (let isMore = true; isMore && done < limit; ) {
    const step = Math.min(stepEvents, limit - done);
    const acted = await act(step);
    done += acted;
    isMore = acted === step;
  }
  return done;
}

function limitNote(found: number, limit: number): string {
  return found > limit ? ` (limited by --limit ${limit})` : "";
}
