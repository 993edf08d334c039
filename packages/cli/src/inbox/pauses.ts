import { hostname, userInfo } from "node:os";
import { type Pause, WebhookError } from "@esim-webhooks/core";
import { ago, instant, suggest } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { matchingTypes } from "../flags/types-flag.ts";
import type { CliContext, CliProcess } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { table } from "../terminal/table.ts";
import { type Layout, layoutFor, sentenceStart } from "../terminal/text.ts";
import type { InboxFlags, PauseFlags, ResumeFlags } from "./flags.ts";
import { pausedTypes, pauseText, resumeCommand, resumedText, timeTo } from "./pause-text.ts";
import { type InboxAccess, withInbox } from "./with-inbox.ts";

export async function pause(this: CliContext, flags: PauseFlags): Promise<void> {
  const { output } = this;
  const { reason, by = operator(this) } = flags;
  const until = untilOf(flags, this.now());
  await withInbox(this, flags, async (access) => {
    const { inbox, types: known } = access;
    const types = typesOf(flags, access, known);
    const catalog = { types: known };
    await inbox.pause({ reason, by, catalog, ...(types && { types }), ...(until && { until }) });
    const pauses = (await inbox.paused()).filter(({ type }) =>
      type === null ? types === undefined : types?.includes(type),
    );
    if (flags.json) return output.json(pauses);
    for (const each of pauses) output.data(`Paused: ${pauseText(each, this.now())}`);
    output.note(
      `Workers stop taking these events at their next poll. Receivers store events as before. To resume: ${resumeCommand(pauses, flags)}`,
    );
  });
}

export async function resume(this: CliContext, flags: ResumeFlags): Promise<void> {
  const { output } = this;
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const before = await inbox.paused();
    const known = [...new Set([...access.types, ...before.flatMap(({ type }) => type ?? [])])];
    const types = typesOf(flags, access, known);
    const ended = await inbox.resume(types && { types });
    if (flags.json) return output.json(ended);
    for (const each of ended) output.data(`Resumed: ${resumedText(each)}`);
    if (ended.length === 0) output.note("Nothing to do: there is no such pause.");
    const left = await inbox.paused();
    if (left.length === 0) return;
    output.note(`Still paused: ${left.map(({ type }) => pausedTypes(type)).join(", ")}.`);
    if (left.some(({ type }) => type === null))
      output.note(
        `The pause of all types also holds the types that were resumed. To end it: ${resumeCommand(left, flags)}`,
      );
  });
}

export async function paused(this: CliContext, flags: InboxFlags): Promise<void> {
  const { output } = this;
  await withInbox(this, flags, async ({ inbox }) => {
    const pauses = await inbox.paused();
    if (flags.json) return output.json(pauses);
    if (pauses.length === 0) return output.note("Nothing is paused.");
    for (const line of pausesView(pauses, this.now(), layoutFor(this.process.stdout, this.process.env)))
      output.data(line);
    output.note(`To resume: ${resumeCommand(pauses, flags)}`);
  });
}

/** A row per pause. */
export function pausesView(pauses: readonly Pause[], now: number, layout: Layout = {}): string[] {
  const columns = [
    { title: "PAUSED", cuts: true as const },
    { title: "SINCE" },
    { title: "UNTIL" },
    { title: "BY", cuts: true as const },
    { title: "REASON", cuts: true as const },
  ];
  const rows = pauses.map(({ type, since, until, by, reason }) => [
    pausedTypes(type),
    ago(since, now),
    until === null ? "resumed" : `${instant(until)}, in ${timeTo(until, now)}`,
    by === null ? "–" : printable(by),
    printable(reason),
  ]);
  return table(columns, rows, layout);
}

function untilOf({ for: durationMs, until }: PauseFlags, now: number): Date | undefined {
  if (durationMs === undefined) return until;
  if (until === undefined) return new Date(now + durationMs);
  throw invalidUsage("--for and --until both say when the pause ends.", "Remove one of them.");
}

/** The types that the flag names, with families replaced by their types. Throws `invalid_usage` and `unknown_event_type`. */
function typesOf(
  { types }: Pick<PauseFlags, "types">,
  { inbox, where }: InboxAccess,
  known: readonly string[],
): readonly string[] | undefined {
  if (types === undefined) return undefined;
  if (inbox.capabilities.pauses === "all") {
    throw invalidUsage(
      `${sentenceStart(where)} pauses all types or none, so it does not take --types.`,
      "Leave --types out, or use an inbox on SQLite or Postgres.",
    );
  }
  const named = types.flatMap((type) => {
    const found = matchingTypes(type, known);
    if (found.length > 0) return found;
    throw new WebhookError(
      "unknown_event_type",
      `--types ${printable(type)} matches no event type of the catalog.`,
      suggest(type, known) || "Correct it.",
    );
  });
  return [...new Set(named)];
}

const longestName = 200;

/** Who runs the command: `user@host`. */
export function operator({ process }: Pick<CliContext, "process">): string {
  return `${userName(process)}@${hostname()}`.slice(0, longestName);
}

function userName({ env: { USER, USERNAME }, getuid }: CliProcess): string {
  try {
    return userInfo().username;
  } catch {
    return USER ?? USERNAME ?? `uid-${getuid?.() ?? "unknown"}`; // a container may have no entry for its user
  }
}
