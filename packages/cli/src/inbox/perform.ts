import type { EventKey, InboxState } from "@esim-webhooks/core";
import { printable } from "@esim-webhooks/core/log-lines";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage } from "../program/program-error.ts";
import { confirm } from "../terminal/confirm.ts";
import { count, counted, countedSoFar, mostCounted } from "../terminal/quantities.ts";
import { sentenceStart } from "../terminal/text.ts";
import type { PurgeFlags } from "./flags.ts";

/** An event that was named with --id, but is not in the state that the command changes. */
export interface OtherNamed extends EventKey {
  readonly state: InboxState;
  /** A remark on the event, or advice. */
  readonly message: string;
}

/** A command that changes many events. */
export interface Action {
  readonly name: "retry" | "give-up" | "discard" | "purge";
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
  /** How many events that match are left, since a worker handles them. */
  leased?(): number;
  /** Counts the events that it would change without a limit. Need not count further than `most`. */
  count(most: number): Promise<number>;
  /** Changes at most `limit` events. Resolves to how many it changed. */
  act(limit: number): Promise<number>;
}

/** The most events that one call of `act` changes. */
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
          ...(action.leased && { leased: action.leased() }),
          ...(others.length > 0 && { others }),
        })
      : reportText(text);
  const reportText = (text: string) => {
    output.data(text);
    const leased = action.leased?.() ?? 0;
    if (leased > 0)
      output.note(
        `Left, since a worker handles ${leased === 1 ? "it" : "them"}: ${counted(leased, "event")}.`,
      );
  };
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
