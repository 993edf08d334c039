import { type ErasedSubject, eraseSubject } from "@esim-webhooks/core";
import { countSubject } from "@esim-webhooks/core/internal";
import { warningLogger } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { count, countSoFar, mostCounted } from "../terminal/quantities.ts";
import type { EraseFlags } from "./flags.ts";
import { checkConfirmable, isConfirmed } from "./perform.ts";
import { type InboxAccess, withInbox } from "./with-inbox.ts";

/** Erases the personal data of an eSIM. Prints its reference nowhere: output may be kept. */
export async function erase(this: CliContext, flags: EraseFlags): Promise<void> {
  const { esim, dryRun = false, yes = false, json = false } = flags;
  const { output } = this;
  if (esim === "") {
    throw invalidUsage("--esim is empty.", "Write the esimReference of the eSIM.");
  }
  checkConfirmable(this, "erase", flags);
  const use = async ({ inbox }: InboxAccess) => {
    const found = await countSubject(inbox, esim, mostCounted + 1);
    if (dryRun && json) return output.json({ action: "erase", dryRun, events: found });
    const { plan, remark } = planOf(found);
    if (dryRun) return output.data(`Would ${plan}.${remark}`);
    const needsAnswer = !yes && (found === null || totalOf(found) > 0);
    if (needsAnswer && !(await isConfirmed(this, plan, remark))) return output.note("Nothing was changed.");
    // even without an event: the notes of `latestOnly` may still have the reference
    const erased = await eraseSubject(inbox, esim);
    if (json) return output.json({ action: "erase", dryRun, ...erased });
    for (const line of eraseView(erased)) output.data(line);
  };
  await withInbox(this, flags, use, warningLogger(output)); // SQLite warns if its log still holds what was erased
}

const states = ["ready", "leased", "done", "unhandled", "dead"] as const;

/** The plan as in `Would erase …` and `Erase …?`, and a sentence to add to it. */
function planOf(counts: ErasedSubject["events"] | null): { readonly plan: string; readonly remark: string } {
  if (counts === null)
    return {
      plan: "erase the personal data of all events of this eSIM",
      remark: " This inbox counts them only while it erases them.",
    };
  return {
    plan: `erase the personal data of ${eventsIn(counts, countSoFar, " of this eSIM")}`,
    remark: counts.leased > 0 ? " The result of a running handler will be discarded." : "",
  };
}

function totalOf(counts: ErasedSubject["events"]): number {
  return states.reduce((sum, state) => sum + counts[state], 0);
}

/** `3 events (1 ready, 2 done)`; `which` follows the noun: `3 events of this eSIM (1 ready, 2 done)` */
function eventsIn(counts: ErasedSubject["events"], text: (value: number) => string, which = ""): string {
  const total = totalOf(counts);
  const parts = states.filter((state) => counts[state] > 0).map((state) => `${text(counts[state])} ${state}`);
  return `${text(total)} ${total === 1 ? "event" : "events"}${which}${parts.length > 0 ? ` (${parts.join(", ")})` : ""}`;
}

/** The erased events, and the places with personal data that were not reached. */
export function eraseView({ events, notReached }: ErasedSubject): string[] {
  return [
    `Erased: the personal data of ${eventsIn(events, count)}.`,
    "Not reached. Personal data of this eSIM may also be here:",
    ...notReached.map((place) => `  ${place}`),
  ];
}
