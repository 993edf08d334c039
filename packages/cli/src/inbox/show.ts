import type { InboxRow, Replay, StoredEvent } from "@esim-webhooks/core";
import {
  ago,
  instant,
  maskEvent,
  maskLane,
  pageOf,
  type ReadBody,
  readBody,
  span,
  storeTimeMs,
  whyItWaits,
} from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { maskText, shortened } from "@esim-webhooks/core/masking";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage } from "../program/program-error.ts";
import { bytes, count, counted } from "../terminal/quantities.ts";
import { layoutFor, type Paint, unpainted } from "../terminal/text.ts";
import { listPages, wholeId } from "./filter.ts";
import type { ShowFlags } from "./flags.ts";
import { maskedJson, maskReplay, shownJson } from "./row-json.ts";
import { stateTones } from "./stats.ts";
import { type InboxAccess, withInbox } from "./with-inbox.ts";

export async function show(this: CliContext, flags: ShowFlags, id: string): Promise<void> {
  const { json = false, reveal = false } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (access) => {
    const row = await find(access, await wholeId(access.inbox, id, flags.source), flags.source);
    if (row === undefined) {
      output.note(`There is no event ${printable(id)} in ${access.where}.`);
      process.exitCode = exitCodes.problem;
      return;
    }
    const now = await storeTimeMs(access.inbox, this.now());
    const [pauses, workers] = await Promise.all([access.inbox.paused(), access.inbox.workers()]);
    const waits = whyItWaits(row, { now, pauses, workers });
    if (json) return output.json({ ...(reveal ? shownJson(row) : maskedJson(row)), waits });
    const { paint } = layoutFor(process.stdout, process.env);
    const view = { now, reveal, waits, ...(paint && { paint }) };
    for (const line of showView(row, view)) output.data(line);
    if (!reveal) output.note("\nPersonal data is masked (•••); --reveal shows it.");
  });
}

/** Finds an event of the source of --source; without that flag, of the config's source, else of the only other source that has it. */
async function find(
  { inbox, source }: InboxAccess,
  id: string,
  flag: string | undefined,
): Promise<StoredEvent | undefined> {
  const event = await inbox.get({ source: flag ?? source, id });
  if (event !== undefined || flag !== undefined) return event;
  const rows: InboxRow[] = [];
  for await (const page of listPages(inbox, { ids: [id] }, 10)) rows.push(...page.rows);
  const [only] = rows;
  if (only === undefined) return undefined;
  if (rows.length === 1) return inbox.get(only);
  throw invalidUsage(
    `There are ${rows.length} events with this id, from the sources ${rows.map((each) => printable(each.source)).join(", ")}.`,
    "Choose one with --source.",
  );
}

export interface ShowView {
  readonly now: number;
  readonly reveal: boolean;
  /** The sentence of `whyItWaits`, or null. */
  readonly waits?: string | null;
  readonly paint?: Paint;
}

/** Everything that is known about an event, one fact per line, then its body. */
export function showView(
  row: StoredEvent,
  { now, reveal, waits = null, paint = unpainted }: ShowView,
): string[] {
  const text = (error: string) => printable(reveal ? error : maskText(error));
  const when = (date: Date) => `${instant(date)}  ${paint("faint", ago(date, now))}`;
  const lane = reveal ? row.lane : maskLane(row);
  const { state, type, receivedAt, dueAt, leasedUntil, keptUntil, tries, error, stack, conflicts } = row;
  const replay = reveal ? row.replay : maskReplay(row);
  const facts: [name: string, value: string][] = [
    ["id", paint("strong", printable(row.id))],
    ["source", printable(row.source)],
    [
      "type",
      type === null ? paint("faint", withoutType(receivedAt)) : printable(reveal ? type : shortened(type)),
    ],
    ["state", paint(stateTones[state], state)],
    ...optional("lane", lane && printable(lane)),
    ...optional("received", receivedAt && when(receivedAt)),
    ...optional("verified", row.key && `with ${printable(row.key)}`),
    ...optional("taken", row.takenAt && when(row.takenAt)),
    ...optional("settled", row.settledAt && when(row.settledAt)),
    ...optional("erased", row.erasedAt && `on ${instant(row.erasedAt)}: its personal data is gone`),
    ["tries", count(tries)],
    ...optional("due", dueAt && when(dueAt)),
    ...optional("lease ends", leasedUntil && when(leasedUntil)),
    ...optional("kept until", keptUntil && when(keptUntil)),
    ...optional("waits", waits && paint("warn", printable(waits))),
    ...optional("error", error && paint("bad", text(error))),
    ...optional(
      "conflicts",
      conflicts > 0 &&
        paint("warn", `${counted(conflicts, "delivery", "deliveries")} with this id had another body`),
    ),
    ...(replay ? replayFacts(replay) : []),
  ];
  const room = Math.max(...facts.map(([name]) => name.length));
  return [
    ...facts.map(([name, value]) => `${paint("faint", name.padEnd(room))}  ${value}`),
    "",
    ...historyLines(row, text, when, paint),
    ...(stack === null ? [] : [paint("faint", "stack"), ...stack.split("\n").map(text), ""]),
    ...bodyLines(row, { reveal, paint }),
  ];
}

/** A line for each failed attempt (when, why, after how long, in which worker) and each action of an operator; below it, the error. */
function historyLines(
  { history }: StoredEvent,
  text: (error: string) => string,
  when: (date: Date) => string,
  paint: Paint,
): string[] {
  if (history.length === 0) return [];
  const lines = history.flatMap(({ endedAt, reason, durationMs, error, worker, by, attempts }) => {
    const what = reason.replaceAll("_", " ") + (by === null ? "" : ` by ${printable(by)}`);
    const facts = [
      endedAt && when(endedAt),
      attempts === null ? what : `${what}, ${counted(attempts, "attempt")} before`,
      durationMs !== null && `after ${span(durationMs)}`,
      worker !== null && `in ${printable(worker)}`,
    ];
    return [facts.filter(Boolean).join("  "), ...(error ? [`  ${text(error)}`] : [])];
  });
  const exits = history.some(({ reason }) => reason === "lease_ended");
  const advice = `A lease that ends shows a process that has ended: ${pageOf("docs/runbook.md")}, "A process exits while it handles an event".`;
  return [paint("faint", "history"), ...lines, ...(exits ? [paint("faint", advice)] : []), ""];
}

/** Why an event has no type: the store of inline handlers keeps only ids. */
function withoutType(receivedAt: Date | null): string {
  return receivedAt === null
    ? "unknown: it was handled inline, and only its id is kept"
    : "none: the body is not a valid event";
}

function replayFacts({ run, rebuilt, delivery = {} }: Replay): [name: string, value: string][] {
  return [
    ["replayed", `by import ${printable(run)}`],
    ...optional("  body", rebuilt && "rebuilt from the dump's JSON, so not signed"),
    ...Object.entries(delivery).map(([name, value]): [string, string] => [
      `  ${printable(name)}`,
      printable(String(value ?? "none")),
    ]),
  ];
}

function optional(name: string, value: string | false | null | undefined): [string, string][] {
  return value ? [[name, value]] : [];
}

function bodyLines(
  row: StoredEvent,
  { reveal, paint = unpainted }: Pick<ShowView, "reveal" | "paint">,
): string[] {
  const { body } = row;
  if (body === null) return [paint("faint", withoutBody(row))];
  const title = paint("faint", `body, ${bytes(body.byteLength)}`);
  const read = readBody(body);
  if ("json" in read && read.text !== null) {
    const json = JSON.stringify(reveal ? read.json : maskEvent(read.json), null, 2);
    return [title, ...json.split("\n").map(printable)];
  }
  return [title, ...(reveal ? otherBodyLines(read, body) : ["The body is not JSON: --reveal shows it."])];
}

function withoutBody({ state, erasedAt }: StoredEvent): string {
  if (erasedAt !== null) return "The body was erased.";
  if (state === "done") return "The body was deleted when the event was done.";
  if (state === "unhandled" || state === "dead")
    return "The body was removed when its time had ended (bodyRetentionMs), so the event cannot be retried.";
  return "There is no body.";
}

function otherBodyLines({ text }: ReadBody, body: Uint8Array): string[] {
  return text === null ? [Buffer.from(body).toString("base64")] : text.split("\n").map(printable);
}
