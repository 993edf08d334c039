import type { InboxState } from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/kit";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { ProgramError } from "../program/program-error.ts";
import { flagsOf, shellWord } from "../program/shell.ts";
import { missingRole } from "../set-up/open-target.ts";
import { confirm } from "../terminal/confirm.ts";
import { count, counted, countedSoFar, mostCounted } from "../terminal/quantities.ts";
import { sentenceStart } from "../terminal/text.ts";
import { filterOf } from "./filter.ts";
import type { ActionFlags, DeadFlags, PurgeFlags, RetryFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

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
      count: (most) => inbox.count(filter, most),
      act: (limit) => inbox.redrive(filter, limit),
    });
  });
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
      count: (most) => inbox.count({ ...filter, state: "dead" }, most),
      act: (limit) => inbox.purgeDead(filter, limit),
    });
  });
}

export async function purge(this: CliContext, flags: PurgeFlags): Promise<void> {
  checkConfirmable(this, "purge", flags);
  await withInbox(this, flags, async ({ inbox, where }) => {
    if (!hasRole(inbox, "queue")) throw missingRole("queue", where);
    const endedBy = new Date();
    const ended = (state: InboxState, most: number) => inbox.count({ state, endedBy }, most);
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
  { dryRun, yes }: Pick<ActionFlags, "dryRun" | "yes">,
): void {
  const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true;
  if (dryRun || yes || canAsk) return;
  throw new ProgramError(
    "invalid_usage",
    `inbox ${name} asks before it changes events, but there is no terminal to ask on.`,
    "Add --yes, or --dry-run to see what it would do.",
  );
}

/** Counts the events, asks for confirmation, changes the events and reports how many. */
export async function perform(context: CliContext, flags: ActionFlags, action: Action): Promise<void> {
  const { limit, dryRun = false, yes = false, json = false } = flags;
  const { output } = context;
  const found = await action.count(mostCounted + 1);
  const isMore = found > mostCounted && limit > mostCounted;
  const events = isMore ? mostCounted : Math.min(limit, found);
  const named = (amount: number) => counted(amount, action.noun, action.nouns);
  const report = (amount: number, text: string, more = {}) =>
    json ? output.json({ action: action.name, dryRun, events: amount, ...more }) : output.data(text);

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
