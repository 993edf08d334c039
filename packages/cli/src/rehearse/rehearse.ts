import { printable } from "@esim-webhooks/core/log-lines";
import { clientOptions, hasCredentials } from "../api/client-options.ts";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage } from "../program/program-error.ts";
import { readSetUp } from "../set-up/set-up.ts";
import { count, counted } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import { layoutFor } from "../terminal/text.ts";
import { type WorkingSetUp, withHandlers } from "../work/worker-of.ts";
import type { RehearseFlags } from "./flags.ts";
import { createJudge, type Verdict } from "./judge.ts";
import { type Look, readDump, readInbox, readListing, type Unread } from "./origins.ts";

const listedMs = 7 * 86_400_000;

/** Events of one type that the config would not handle, for one reason. */
interface Finding extends Omit<Verdict, "outcome"> {
  readonly outcome: Exclude<Verdict["outcome"], "handled">;
  events: number;
  readonly exampleId: string;
}

/** Says which events of the past the handlers and the catalog of a config would not handle, and runs no handler. Ends with 3 if there is one, with --compare a new one. */
export async function rehearse(this: CliContext, flags: RehearseFlags, dump?: string): Promise<void> {
  const { output, process } = this;
  const setUp = withHandlers(await readSetUp(this, flags));
  const judges = {
    next: createJudge(setUp),
    current: flags.compare === undefined ? undefined : createJudge(await currentSetUp(this, flags.compare)),
  };
  const seen = new Set<string>();
  const found = new Map<string, Finding>();
  let handled = 0;
  let known = 0;

  const look: Look = async (id, body) => {
    if (seen.has(id)) return;
    seen.add(id);
    const { outcome, type, why } = await judges.next(id, body);
    if (outcome === "handled") handled += 1;
    else if ((await judges.current?.(id, body))?.outcome === outcome) known += 1;
    else {
      const key = JSON.stringify([outcome, type, why]);
      const finding = found.get(key) ?? { outcome, type, why, events: 0, exampleId: id };
      finding.events += 1;
      found.set(key, finding);
    }
  };

  const { unread, reason } = await read(this, flags, dump, setUp, look);
  const findings = [...found.values()].sort((a, b) => b.events - a.events);
  if (findings.length > 0) process.exitCode = exitCodes.problem;
  if (flags.json) return output.json({ events: seen.size, handled, known, unread, findings });
  if (findings.length > 0) for (const line of view(findings, this)) output.data(line);
  output.note(
    `${counted(seen.size, "event")}: ${count(handled)} would be handled${known > 0 ? `, ${count(known)} are not handled now either` : ""}. No handler was run.`,
  );
  if (unread > 0) output.note(`${counted(unread, "record")} could not be looked at: each ${reason}.`);
}

/** The config in use, which needs handlers, too. */
async function currentSetUp(context: CliContext, config: string): Promise<WorkingSetUp> {
  return withHandlers(await readSetUp(context, { config }));
}

async function read(
  context: CliContext,
  flags: RehearseFlags,
  dump: string | undefined,
  setUp: WorkingSetUp,
  look: Look,
): Promise<Unread> {
  const { from, since = new Date(context.now() - listedMs) } = flags;
  if (dump !== undefined) {
    if (from === undefined) return readDump(context, dump, setUp, since, look);
    throw invalidUsage("A dump and --from both say where the events are read.", "Remove one of them.");
  }
  const hasApi = hasCredentials(clientOptions(setUp, context.process));
  return from === "listing" || (from === undefined && hasApi)
    ? readListing(context, flags, setUp, since, look)
    : readInbox(context, flags, since, look);
}

function view(findings: readonly Finding[], { process }: CliContext): readonly string[] {
  const columns = [
    { title: "EVENTS", align: "right" as const },
    { title: "TYPE" },
    { title: "WOULD BE" },
    { title: "EXAMPLE" },
    { title: "WHY", cuts: true as const },
  ];
  const rows = findings.map(({ events, type, outcome, exampleId, why }) => [
    count(events),
    printable(type ?? "–"),
    outcome,
    printable(exampleId),
    printable(why),
  ]);
  return table(columns, rows, layoutFor(process.stdout, process.env));
}
