import type { CopySource, CopyTarget, DifferentEvent } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import type { SetUpFlags } from "../flags/flag-kinds.ts";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage, programError } from "../program/program-error.ts";
import { nameOf, postgresUrlOf, urlInFlag } from "../set-up/place.ts";
import { count, counted } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import { type Layout, layoutFor } from "../terminal/text.ts";
import { embeddedFile } from "./backup.ts";
import type { CopyFlags } from "./flags.ts";

const timeoutMs = 30_000; // no sender waits for the answer: a busy server may take longer than for a delivery

/** Copies an embedded inbox into Postgres, and says what to do next. Ends with 3 if something was left different. */
export async function copy(this: CliContext, flags: SetUpFlags & CopyFlags): Promise<void> {
  const { output, process } = this;
  const url = targetUrl(flags.to, process.env);
  const { path, where } = await embeddedFile(this, flags, "Name the SQLite file to copy with --from.");
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
    else for (const line of copyView(ledger, layoutFor(process.stdout, process.env))) output.data(line);
    if (difference !== undefined) return output.note(difference);
    if (flags.json) return;
    output.note(
      `Next: let serve and work use ${nameOf({ url })}, with DATABASE_URL or a postgresInbox in the config. It knows every handled id.`,
    );
    output.note(
      `Nothing was changed in ${where}. Do not use it any more: events that wait are in both. Tables of your own were not copied. Pauses were: inbox paused lists them, and inbox resume ends them.`,
    );
  } finally {
    await Promise.allSettled([source.close(), target.close()]);
  }
}

/** The problem and its remedy, if something was left different. */
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

/** Runs the copy. Throws `inbox_in_use` before it if events are leased, and after it if another process has written meanwhile. */
async function whileUnused(
  source: CopySource,
  where: string,
  work: () => Promise<CopyLedger>,
): Promise<CopyLedger> {
  const before = await source.look();
  if (before.leased > 0) {
    throw programError(
      "inbox_in_use",
      `${counted(before.leased, "event")} in ${where} ${before.leased === 1 ? "is" : "are"} being processed.`,
      "Stop serve and work, which then finish them. After a crash, wait until their leases have ended.",
    );
  }
  const ledger = await work();
  const after = await source.look();
  if (after.version === before.version && ledger.read === before.events) return ledger;
  throw programError(
    "inbox_in_use",
    `Another process wrote to ${where} while it was copied, so events in Postgres may be out of date.`,
    "Stop serve and work, and run the same command again, which brings them up to date.",
  );
}

/** The result for the events: read = copied + updated + alreadyThere + the length of `different`. */
export interface CopyLedger {
  readonly read: number;
  readonly copied: number;
  readonly updated: number;
  /** Left as they are: in the same state in Postgres, or done there. */
  readonly alreadyThere: number;
  /** Left as they are: in another state in Postgres. */
  readonly different: readonly DifferentEvent[];
  /** The names of the small states that have another value in Postgres, and were left. */
  readonly differentStates: readonly string[];
}

/** Copies everything that the source keeps. It can be called again, after a failure or after the source was used again. */
export async function copyRecords(source: CopySource, target: CopyTarget): Promise<CopyLedger> {
  await target.copyPauses(await source.paused()); // before its events: workers of the target may be running
  let [read, copied, updated] = [0, 0, 0];
  const different: DifferentEvent[] = [];
  const differentStates: string[] = [];
  for await (const records of source.events()) {
    const result = await target.copyEvents(records);
    read += records.length;
    copied += result.inserted;
    updated += result.updated;
    different.push(...result.different);
  }
  for await (const records of source.latest()) await target.copyLatest(records);
  for await (const records of source.states()) differentStates.push(...(await target.copyStates(records)));
  await target.copyNotes(await source.notes());
  const alreadyThere = read - copied - updated - different.length;
  return { read, copied, updated, alreadyThere, different, differentStates };
}

const mostNamed = 50;

/** The ledger of a copy as a table: what became of the events, then the sum. Then the events and small states that differ. */
export function copyView(ledger: CopyLedger, layout: Layout): string[] {
  const { read, copied, updated, alreadyThere, different } = ledger;
  const columns = [{ title: "LEDGER" }, { title: "EVENTS", align: "right" as const }, { title: "" }];
  const row = (name: string, events: number, meaning: string) => [
    name,
    count(events),
    { text: events > 0 ? meaning : "", tone: "faint" as const },
  ];
  const rows = [
    row("copied", copied, ""),
    row("updated", updated, "to what the embedded inbox says now"),
    row("already there", alreadyThere, "left as they are"),
    row("different", different.length, "left as they are"),
    row("read", read, ""),
  ];
  return [...table(columns, rows, layout), ...differences(ledger, layout)];
}

function differences({ different, differentStates }: CopyLedger, layout: Layout): string[] {
  const rows = [
    ...different.map(({ source, id, state, targetState }) => [id, source, state, targetState]),
    ...differentStates.map((name) => [name, "(small state)", "another value", "another value"]),
  ];
  if (rows.length === 0) return [];
  const columns = ["DIFFERENT", "SOURCE", "EMBEDDED", "POSTGRES"].map((title) => ({ title }));
  const named = rows.slice(0, mostNamed).map((cells) => cells.map(printable));
  const more = rows.length - named.length;
  return [
    "",
    ...table(columns, named, layout),
    ...(more > 0 ? [`… and ${count(more)} more: --json names all`] : []),
  ];
}

/** The Postgres to copy to: `--to`, else `DATABASE_URL`. Throws `invalid_usage` for none, for another URL, and for a password in `--to`. */
export function targetUrl(to: string | undefined, { DATABASE_URL }: NodeJS.ProcessEnv): string {
  const url = to ?? DATABASE_URL;
  if (!url) {
    throw invalidUsage(
      "There is no Postgres to copy to.",
      "Set DATABASE_URL, or add --to postgres://user@host/database.",
    );
  }
  return to === undefined ? postgresUrlOf({ url }) : urlInFlag("--to", to);
}
