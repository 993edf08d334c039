import type { Pause } from "@esim-webhooks/core";
import { ago, instant, span } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { shortened } from "@esim-webhooks/core/masking";
import { flagsOf } from "../program/shell.ts";
import type { InboxFlags } from "./flags.ts";

/** A pause as a sentence: what is paused, since when, until when, by whom and why. */
export function pauseText({ type, since, until, by, reason }: Pause, now: number): string {
  const facts = [
    `${pausedTypes(type)} since ${instant(since)} (${ago(since, now)})`,
    until === null ? "until it is resumed" : `until ${instant(until)} (in ${timeTo(until, now)})`,
    ...(by === null ? [] : [`by ${printable(by)}`]),
  ];
  return `${facts.join(", ")}: ${printable(reason)}`;
}

/** A pause that has ended: `esim.faulted (paused since 2026-11-20 12:00:00Z, by ops: CRM is down)` */
export function resumedText({ type, since, by, reason }: Pause): string {
  const operator = by === null ? "" : `, by ${printable(by)}`;
  return `${pausedTypes(type)} (paused since ${instant(since)}${operator}: ${printable(reason)})`;
}

/** The time that is left, rounded up to a whole second: `2h 00m` */
export function timeTo(until: Date, now: number): string {
  return span(until.getTime() - now + 999);
}

export function pausedTypes(type: string | null): string {
  return type === null ? "all types" : printable(shortened(type));
}

/** The command that ends these pauses in the inbox of the flags: all, if one of them is for all types. */
export function resumeCommand(
  pauses: readonly Pick<Pause, "type">[],
  { from, config, dataDir }: Pick<InboxFlags, "from" | "config" | "dataDir"> = {},
): string {
  const types = pauses.flatMap(({ type }) => type ?? []);
  const named = types.length === pauses.length ? types.join(",") : undefined;
  return `esim-webhooks inbox resume${flagsOf({ types: named, from, config, dataDir })}`;
}
