import type { InboxState, InboxStats } from "@esim-webhooks/core";
import type { CliContext } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import { count, counted, instant, span } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import { type Layout, layoutFor, type Paint, shortened, type Tone, unpainted } from "../terminal/text.ts";
import type { InboxFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

export async function stats(this: CliContext, flags: InboxFlags): Promise<void> {
  await withInbox(this, flags, async ({ inbox }) => {
    const counts = await inbox.stats();
    if (flags.json) return this.output.json(counts);
    for (const line of statsView(counts, layoutFor(this.process.stdout))) this.output.data(line);
  });
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
  return [...table(columns, [...rows, sums], layout), "", ...remarks(stats, layout.paint ?? unpainted)];
}

type Counts = Readonly<Record<InboxState, number>>;

/** The type with the most events first. */
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

/** Events that were handled inline are done, and only their ids are kept; bodies that are no events never get there. */
function withoutType({ done, ...others }: Counts): string {
  const invalid = Object.values(others).some((events) => events > 0);
  if (done === 0) return "(invalid)";
  return invalid ? "(inline or invalid)" : "(handled inline)";
}

function countCells(counts: Counts) {
  return states.map((state) =>
    counts[state] === 0
      ? { text: "·", tone: "faint" as const }
      : { text: count(counts[state]), tone: stateTones[state] },
  );
}

function remarks({ states, oldestReadyMs, conflicts, lastReceivedAt }: InboxStats, paint: Paint): string[] {
  const dead = `${counted(states.dead, "event is", "events are")} dead: esim-webhooks inbox errors`;
  const unhandled = `${counted(states.unhandled, "event has", "events have")} no handler. Once there is one: esim-webhooks inbox retry --status unhandled`;
  const conflicting = `${counted(conflicts, "delivery", "deliveries")} had the id of a stored event, but another body`;
  return [
    oldestReadyMs === null ? "No event is due." : `The oldest due event has waited ${span(oldestReadyMs)}.`,
    ...(lastReceivedAt === null ? [] : [`The last delivery was received at ${instant(lastReceivedAt)}.`]),
    ...(states.unhandled > 0 ? [paint("warn", unhandled)] : []),
    ...(states.dead > 0 ? [paint("bad", dead)] : []),
    ...(conflicts > 0 ? [paint("warn", conflicting)] : []),
  ];
}
