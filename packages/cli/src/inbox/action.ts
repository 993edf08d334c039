import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { ProgramError } from "../program/program-error.ts";
import { confirm } from "../terminal/confirm.ts";
import { counted } from "../terminal/quantities.ts";

export interface ActionFlags {
  readonly limit: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Something that changes many events at once. */
export interface Action {
  readonly name: "retry" | "discard" | "purge";
  /** What it is about: `dead event`. */
  readonly noun: string;
  readonly nouns?: string;
  /** What it does to them, as in `Would … 3 dead events` and `… 3 dead events?`. */
  readonly verb: string;
  /** What has been done to `3 dead events`. */
  report(events: string): string;
  /** How many there are. */
  count(): Promise<number>;
  /** Acts on so many at most, and says on how many it did. */
  act(limit: number): Promise<number>;
}

/** One statement of the store is about so many. */
const stepEvents = 1000;

/** Refuses, before anything is opened, to act where nobody can be asked and nobody has said yes. */
export function checkAskable(
  { process }: CliContext,
  name: Action["name"],
  { dryRun, yes }: ActionFlags,
): void {
  const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true;
  if (dryRun || yes || canAsk) return;
  throw new ProgramError(
    "invalid_usage",
    `inbox ${name} asks before it acts, and there is no terminal to ask at.`,
    "Add --yes, or --dry-run to see what it would do.",
  );
}

/** Counts, asks, acts and reports. */
export async function perform(context: CliContext, flags: ActionFlags, action: Action): Promise<void> {
  const { limit, dryRun = false, yes = false, json = false } = flags;
  const { output } = context;
  const events = Math.min(limit, await action.count());
  const named = (amount: number) => counted(amount, action.noun, action.nouns);
  const report = (amount: number, text: string) =>
    json ? output.json({ action: action.name, dryRun, events: amount }) : output.data(text);

  const about = `${action.verb} ${named(events)}${limitNote(events, limit)}`;
  if (events === 0) return report(0, `Nothing to do: ${named(0)}.`);
  if (dryRun) return report(events, `Would ${about}.`);
  if (!yes && !(await isWanted(context, about))) return output.note("Nothing was changed.");
  const done = await actInSteps(action, events);
  report(done, action.report(named(done)));
}

async function isWanted({ process }: CliContext, about: string): Promise<boolean> {
  const question = `${about.charAt(0).toUpperCase()}${about.slice(1)}?`;
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

function limitNote(events: number, limit: number): string {
  return events < limit ? "" : `, the limit (--limit ${limit})`;
}
