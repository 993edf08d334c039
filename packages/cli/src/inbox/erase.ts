import { type ErasedSubject, eraseSubject, type InboxState } from "@esim-webhooks/core";
import { warningLogger } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";
import { count, countSoFar, mostCounted } from "../terminal/quantities.ts";
import { checkConfirmable, isConfirmed } from "./change.ts";
import { findsEsims } from "./filter.ts";
import type { EraseFlags } from "./flags.ts";
import { type InboxAccess, withInbox } from "./with-inbox.ts";

/** Erases the personal data of an eSIM. Prints its reference nowhere: output may be kept. */
export async function erase(this: CliContext, flags: EraseFlags): Promise<void> {
  const { esim, dryRun = false, yes = false, json = false } = flags;
  const { output } = this;
  if (esim === "") {
    throw new ProgramError("invalid_usage", "--esim is empty.", "Write the esimReference of the eSIM.");
  }
  checkConfirmable(this, "erase", flags);
  const use = async ({ inbox }: InboxAccess) => {
    const found = await countStates(inbox, esim);
    const plan = planOf(found);
    if (dryRun && json) return output.json({ action: "erase", dryRun, events: found });
    if (dryRun) return output.data(`Would ${plan}.`);
    if (!yes && !(await isConfirmed(this, plan))) return output.note("Nothing was changed.");
    const erased = await eraseSubject(inbox, esim);
    if (json) return output.json({ action: "erase", dryRun, ...erased });
    for (const line of eraseView(erased)) output.data(line);
  };
  await withInbox(this, flags, use, warningLogger(output)); // SQLite warns if its log still holds what was erased
}

type Counts = Readonly<Record<InboxState, number>>;
const states = ["ready", "leased", "done", "unhandled", "dead"] as const;

/** How many events of the eSIM are in each state, up to 10,001 each. Null: this inbox finds them only while it erases them. */
async function countStates(inbox: InboxAccess["inbox"], subject: string): Promise<Counts | null> {
  if (!findsEsims(inbox)) return null;
  const counts = states.map(async (state) => [state, await inbox.count({ subject, state }, mostCounted + 1)]);
  return Object.fromEntries(await Promise.all(counts)) as Counts;
}

/** As in `Would erase …` and `Erase …?` */
function planOf(counts: Counts | null): string {
  if (counts === null)
    return "erase the personal data of all events of this eSIM, which this inbox counts only as it erases them";
  return `erase the personal data of ${eventsIn(counts)} of this eSIM${counts.leased > 0 ? "; what their handlers return is discarded" : ""}`;
}

/** `3 events (1 ready, 2 done)` */
function eventsIn(counts: Counts, text: (value: number) => string = countSoFar): string {
  const total = states.reduce((sum, state) => sum + counts[state], 0);
  const parts = states.filter((state) => counts[state] > 0).map((state) => `${text(counts[state])} ${state}`);
  return `${text(total)} ${total === 1 ? "event" : "events"}${parts.length > 0 ? ` (${parts.join(", ")})` : ""}`;
}

/** What was erased, and where personal data may be that was not reached. */
export function eraseView({ events, notReached }: ErasedSubject): string[] {
  return [
    `Erased: the personal data of ${eventsIn(events, count)}.`,
    "Not reached. Personal data of this eSIM may also be here:",
    ...notReached.map((place) => `  ${place}`),
  ];
}
