import type { BlockedBy, GaugeCount, InboxGauges, InboxState, InboxStats, Pause } from "@esim-webhooks/core";
import { instant, span } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { shortened } from "@esim-webhooks/core/masking";
import type { CliContext } from "../program/context.ts";
import { count, counted, countedSoFar, countSoFar } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import { type Layout, layoutFor, type Paint, type Tone, unpainted } from "../terminal/text.ts";
import type { StatsFlags } from "./flags.ts";
import { pauseText, resumeCommand } from "./pause-text.ts";
import { withInbox } from "./with-inbox.ts";

export async function stats(this: CliContext, flags: StatsFlags): Promise<void> {
  const { exact = false, json = false } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async ({ inbox }) => {
    const layout = layoutFor(process.stdout, process.env);
    const pauses = await inbox.paused();
    const paused = pauses.map((pause) => pausedLine(pause, flags, this.now(), layout));
    if (exact) {
      const counts = await inbox.stats();
      if (json) return output.json(counts);
      for (const line of [...statsView(counts, layout), ...paused]) output.data(line);
      return;
    }
    const gauges = await inbox.gauges();
    if (json) return output.json({ ...gauges, pauses });
    for (const line of [...gaugesView(gauges, layout), ...paused]) output.data(line);
    output.note("For exact counts, done events and types, add --exact. It reads the whole inbox.");
  });
}

function pausedLine(pause: Pause, flags: StatsFlags, now: number, { paint = unpainted }: Layout): string {
  return paint("warn", `Paused: ${pauseText(pause, now)}. To resume: ${resumeCommand([pause], flags)}`);
}

const gaugeTones: Readonly<Record<GaugeCount, Tone>> = {
  ready: "accent",
  waiting: "warn",
  blocked: "warn",
  paused: "warn",
  leased: "warn",
  unhandled: "warn",
  dead: "bad",
};

/** The counts in a table of one row, then what an operator should look at. */
export function gaugesView(gauges: InboxGauges, layout: Layout = {}): string[] {
  const { counts, capped, blockedBy, oldestReadyMs, lastReceivedAt } = gauges;
  const names = Object.keys(gaugeTones) as GaugeCount[];
  const columns = names.map((name) => ({ title: name.toUpperCase(), align: "right" as const }));
  const row = names.map((name) =>
    cell(counts[name], gaugeTones[name], (value) => countSoFar(value, capped.includes(name))),
  );
  return [
    ...table(columns, [row], layout),
    "",
    ...remarks({ counts, capped, blockedBy, oldestReadyMs, lastReceivedAt }, layout.paint ?? unpainted),
  ];
}

/** The causes of the blocked events, such as `10 behind a failing one, 2 behind a paused one`. */
function blockedText(blockedBy: BlockedBy | undefined): string {
  const behind = Object.entries(blockedBy ?? {}).filter(([, events]) => events > 0);
  return behind.map(([by, events]) => `${count(events)} behind a ${by} one`).join(", ");
}

export const stateTones: Readonly<Record<InboxState, Tone>> = {
  ready: "accent",
  leased: "warn",
  done: "good",
  unhandled: "warn",
  dead: "bad",
};

const states = ["ready", "leased", "done", "unhandled", "dead"] as const;

/** A table with a row per type and a column per state, then what an operator should look at. */
export function statsView(stats: InboxStats, layout: Layout = {}): string[] {
  const total = states.reduce((sum, state) => sum + stats.states[state], 0);
  if (total === 0) return ["The inbox is empty."];
  const rows = rowsByType(stats).map(([type, counts]) => [
    type === null ? { text: withoutType(counts), tone: "faint" as const } : printable(shortened(type)),
    ...countCells(counts),
  ]);
  const columns = [
    { title: "TYPE", cuts: true as const },
    ...states.map((state) => ({ title: state.toUpperCase(), align: "right" as const })),
  ];
  const sums = [{ text: "all", tone: "strong" as const }, ...countCells(stats.states)];
  const found = remarks({ ...stats, counts: stats.states, capped: [] }, layout.paint ?? unpainted);
  return [...table(columns, [...rows, sums], layout), "", ...found];
}

type Counts = Readonly<Record<InboxState, number>>;

/** The counts for each type, the type with the most events first. */
function rowsByType({ types }: InboxStats): [type: string | null, counts: Counts][] {
  const rows = new Map<string | null, Record<InboxState, number>>();
  for (const { state, type, count } of types) {
    const counts = rows.get(type) ?? { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
    counts[state] += count;
    rows.set(type, counts);
  }
  const sum = (counts: Counts) => states.reduce((total, state) => total + counts[state], 0);
  return [...rows].sort(([, a], [, b]) => sum(b) - sum(a));
}

/** The name of a row without a type. Its done ids were handled inline, and only the id is kept. Others have a body that is no event, and never become done. */
function withoutType({ done, ...others }: Counts): string {
  const invalid = Object.values(others).some((events) => events > 0);
  if (done === 0) return "(invalid)";
  return invalid ? "(inline or invalid)" : "(handled inline)";
}

function countCells(counts: Counts) {
  return states.map((state) => cell(counts[state], stateTones[state], count));
}

/** Zero is a dot, so that other numbers stand out. */
function cell(value: number, tone: Tone, text: (value: number) => string) {
  return value === 0 ? { text: "·", tone: "faint" as const } : { text: text(value), tone };
}

interface Remarkable extends Pick<InboxStats, "oldestReadyMs" | "lastReceivedAt"> {
  readonly counts: Pick<InboxGauges["counts"], "unhandled" | "dead"> & Partial<InboxGauges["counts"]>;
  readonly blockedBy?: BlockedBy | undefined;
  readonly capped: readonly GaugeCount[];
  readonly conflicts?: number;
}

function remarks(found: Remarkable, paint: Paint): string[] {
  const { counts, capped, blockedBy, oldestReadyMs, lastReceivedAt, conflicts = 0 } = found;
  const { waiting = 0, blocked = 0, unhandled, dead } = counts;
  const waitingLine = `${countedSoFar(waiting, "event waits", "events wait", capped.includes("waiting"))} for another attempt: esim-webhooks inbox errors`;
  const blockedLine = `${countedSoFar(blocked, "event waits", "events wait", capped.includes("blocked"))} for others of ${blocked === 1 ? "its lane" : "their lanes"}: ${blockedText(blockedBy)}`;
  const deadLine = `${countedSoFar(dead, "event is", "events are", capped.includes("dead"))} dead: esim-webhooks inbox errors`;
  const unhandledLine = `${countedSoFar(unhandled, "event has", "events have", capped.includes("unhandled"))} no handler. Once there is one: esim-webhooks inbox retry --status unhandled`;
  const conflicting = `${counted(conflicts, "delivery", "deliveries")} had the id of a stored event, but another body`;
  return [
    oldestReadyMs === null ? "No event is due." : `The oldest due event has waited ${span(oldestReadyMs)}.`,
    ...(lastReceivedAt === null ? [] : [`The last delivery was received at ${instant(lastReceivedAt)}.`]),
    ...(waiting > 0 ? [paint("warn", waitingLine)] : []),
    ...(blocked > 0 ? [paint("warn", blockedLine)] : []),
    ...(unhandled > 0 ? [paint("warn", unhandledLine)] : []),
    ...(dead > 0 ? [paint("bad", deadLine)] : []),
    ...(conflicts > 0 ? [paint("warn", conflicting)] : []),
  ];
}
