import type { CopySource } from "@esim-webhooks/core/kit";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { ProgramError } from "../program/program-error.ts";
import { nameOf } from "../set-up/place.ts";
import { layoutFor } from "../terminal/layout.ts";
import { counted } from "../terminal/quantities.ts";
import { type CopyLedger, copyRecords } from "./copy-records.ts";
import { copyView } from "./copy-view.ts";
import { embeddedFile } from "./embedded-file.ts";
import type { CopyFlags } from "./flags.ts";
import { targetUrl } from "./target-url.ts";

const timeoutMs = 30_000; // nobody waits for an answer: a busy server may take longer than for a delivery

/** Copies an embedded inbox into Postgres, and says how to go on from there. Ends with 3 if something was left different. */
export async function copy(this: CliContext, flags: CopyFlags): Promise<void> {
  const { output, process } = this;
  const url = targetUrl(flags.to, process.env);
  const { path, where } = embeddedFile(this, flags);
  const [{ sqliteCopySource }, { postgresCopyTarget }] = await Promise.all([
    import("@esim-webhooks/store-sqlite"),
    import("@esim-webhooks/store-postgres"),
  ]);
  const source = sqliteCopySource({ path });
  const target = postgresCopyTarget({ url, timeoutMs });
  try {
    const ledger = await whileUnused(source, where, async () => {
      await target.migrate();
      return copyRecords(source, target);
    });
    const difference = differenceIn(ledger);
    if (difference !== undefined) process.exitCode = exitCodes.problem;
    if (flags.json) output.json(ledger);
    else for (const line of copyView(ledger, layoutFor(process.stdout))) output.data(line);
    if (difference !== undefined) return output.note(difference);
    if (flags.json) return;
    output.note(
      `Next: let serve and work use ${nameOf({ url })}, with DATABASE_URL or a postgresInbox in the config. It knows every handled id.`,
    );
    output.note(
      `Nothing was changed in ${where}. Do not use it any more: events that wait are in both. Tables of your own were not copied.`,
    );
  } finally {
    await Promise.allSettled([source.close(), target.close()]);
  }
}

/** What is wrong, and how to mend it, if something was left different. */
function differenceIn({ different, differentStates }: CopyLedger): string | undefined {
  const parts = [
    ...(different.length > 0 ? [counted(different.length, "event")] : []),
    ...(differentStates.length > 0 ? [counted(differentStates.length, "small state")] : []),
  ];
  if (parts.length === 0) return undefined;
  return [
    `Postgres was used as well, and keeps its own version of ${parts.join(" and ")}.`,
    "Stop serve and work there too, and run the same command again. If a difference remains, Postgres's version counts:",
    "check the events with inbox show, and change them with inbox retry or inbox discard.",
  ].join(" ");
}

/** Throws `inbox_in_use`: before anything is copied where events are leased, and afterwards where somebody wrote meanwhile. */
async function whileUnused(
  source: CopySource,
  where: string,
  work: () => Promise<CopyLedger>,
): Promise<CopyLedger> {
  const before = await source.look();
  if (before.leased > 0) {
    throw new ProgramError(
      "inbox_in_use",
      `${counted(before.leased, "event")} in ${where} ${before.leased === 1 ? "is" : "are"} being processed.`,
      "Stop serve and work, which then finish them. After a crash, wait until their leases have ended.",
    );
  }
  const ledger = await work();
  const after = await source.look();
  if (after.version === before.version && ledger.read === before.events) return ledger;
  throw new ProgramError(
    "inbox_in_use",
    `Another process wrote to ${where} while it was copied, so events in Postgres may be out of date.`,
    "Stop serve and work, and run the same command again, which brings them up to date.",
  );
}
