import type { Logger } from "@esim-webhooks/core";
import { instant, span } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import {
  type EndpointGap,
  observeReconciliations,
  type ReconcileLedger,
  type ReconcileMessage,
  type ReconcileReport,
} from "@esim-webhooks/endpoint";
import type { Output } from "../program/context.ts";
import { type ExitCode, exitCodes } from "../program/exit-code.ts";
import { arrivalLines } from "../set-up/support-replay.ts";
import { ledgerTable } from "../terminal/ledger-table.ts";
import { spanOf } from "../terminal/period.ts";
import { count, counted } from "../terminal/quantities.ts";
import { type Layout, type Tone, unpainted } from "../terminal/text.ts";

export interface ReconcileView extends Layout {
  /** How long the pass took, in ms. */
  readonly tookMs: number;
}

type Entry = Exclude<keyof ReconcileLedger, "listed">;

const entries: Readonly<Record<Entry, readonly [name: string, tone: Tone]>> = {
  stored: ["stored", "good"],
  duplicate: ["duplicate", "faint"],
  coming: ["coming", "accent"],
  outOfRange: ["out of range", "faint"],
  filtered: ["filtered", "faint"],
  conflict: ["conflict", "bad"],
  invalid: ["invalid", "bad"],
  rejected: ["rejected", "bad"],
  unsettled: ["unsettled", "warn"],
};

/** The ledger, then what the operator has to look into. */
export function reconcileView(report: ReconcileReport, view: ReconcileView): string[] {
  const { ledger, pages, mark, dryRun } = report;
  const { paint = unpainted, tookMs } = view;
  const arrived = arrivalLines(report.supportReplay);
  if (ledger.listed === 0)
    return ["The service lists no deliveries of this endpoint.", ...findings(report, view), ...arrived];
  const lines = Object.entries(entries).map(([entry, [name, tone]]) => ({
    name,
    tone,
    value: ledger[entry as Entry],
    meaning: meaning(entry as Entry, report),
  }));
  const pace = `on ${counted(pages, "page")}, in ${span(tookMs)}`;
  const settled = `settled up to ${instant(new Date(mark))}, but for what is coming`;
  return [
    ...ledgerTable(lines, { name: "listed", value: ledger.listed, meaning: pace }, view),
    ...(dryRun ? [] : ["", paint("faint", settled)]),
    ...findings(report, view),
    ...arrived,
  ];
}

/** The events that the pass recovered, by what the service says of them: `3 not delivered, 1 acknowledged and lost`. */
function recoveredAs({ missed, acknowledgedAndLost }: ReconcileReport["recovered"]): string {
  return [
    ...(missed > 0 ? [`${count(missed)} not delivered`] : []),
    ...(acknowledgedAndLost > 0 ? [`${count(acknowledgedAndLost)} acknowledged and lost`] : []),
  ].join(", ");
}

function meaning(entry: Entry, { dryRun, ledger, recovered }: ReconcileReport): string {
  switch (entry) {
    case "stored":
      return dryRun
        ? `would be recovered unless they are there${byDelivery(ledger.stored, recovered.missed)}`
        : `recovered: ${recoveredAs(recovered)}`;
    case "duplicate":
      return "already stored or done";
    case "coming":
      return "the service sends them again; --include-coming recovers them now";
    case "outOfRange":
      return "older than --since";
    case "filtered":
      return "without a handler";
    case "conflict":
      return "another body of a known id";
    case "invalid":
      return "not a valid event";
    case "rejected":
      return "handlers failed: tried again by later passes";
    case "unsettled":
      return "not reached: run it again to continue";
  }
}

function byDelivery(stored: number, missed: number): string {
  const parts = [
    ...(missed > 0 ? [`${count(missed)} not delivered`] : []),
    ...(stored > missed ? [`${count(stored - missed)} delivered`] : []),
  ];
  return parts.length === 0 ? "" : `: ${parts.join(", ")}`;
}

/** The findings for the operator: lost, invalid and unstorable events, those whose handlers failed, those that are no longer listed, and gaps. */
function findings(
  { recovered, failing, ids, lost, gaps }: ReconcileReport,
  { paint = unpainted }: Layout,
): string[] {
  const bad = (text: string) => paint("bad", text);
  const { acknowledgedAndLost } = recovered;
  return [
    ...(acknowledgedAndLost > 0
      ? [
          "",
          bad(
            `ALARM: ${counted(acknowledgedAndLost, "event was", "events were")} acknowledged and lost: something answered 2xx, and the store did not have ${acknowledgedAndLost === 1 ? "it" : "them"}.`,
          ),
          ...listOf(ids.acknowledgedAndLost, acknowledgedAndLost),
          "They are recovered. Look into what can lose them again: a database that was dropped, or restored from a backup; another",
          "program or a proxy that answers at the endpoint's URL; a receiver with another store, database or source than this",
          "command; handlers that run inline with a store in memory.",
        ]
      : []),
    ...(ids.invalid.length > 0
      ? [
          "",
          bad("Records that are no events the target takes (reported once):"),
          ...listOf(ids.invalid, ids.invalid.length),
        ]
      : []),
    ...(ids.unstorable.length > 0
      ? [
          "",
          bad("Events whose id no store can hold, so they are not handled (reported once):"),
          ...listOf(ids.unstorable, ids.unstorable.length),
          "Report it to the provider, and handle their payloads yourself: esim-webhooks api deliveries lists them.",
        ]
      : []),
    ...(ids.failed.length > 0
      ? [
          "",
          bad("Events whose handlers failed:"),
          ...listOf(ids.failed, Math.max(failing, ids.failed.length)),
          "Fix the handlers, and run it again. For events that are more than a day old, run it with --since.",
        ]
      : []),
    ...(lost === null
      ? []
      : [
          "",
          bad(`Events ${spanOf(lost)} are no longer listed.`),
          "The service keeps events for 7 days, so support cannot replay them. If a dump was made in time, import it:",
          "esim-webhooks import <dump> --trust-unsigned. Otherwise, read the state of their eSIMs through the API.",
        ]),
    ...(gaps === null ? ["", paint("faint", notSeen)] : gapLines(gaps, bad)),
  ];
}

/** The sentence about gaps if no earlier pass has looked for them. */
const notSeen =
  "No earlier pass has noted whether the endpoint was active. If it was not, no list has the events of that time: ask support.";

/** The times in which the service may have sent the endpoint nothing, and what to do. None: no lines. */
function gapLines(gaps: readonly EndpointGap[], bad: (text: string) => string): string[] {
  if (gaps.length === 0) return [];
  return [
    "",
    bad("ALARM: the service may not have sent events of these times, and no list has them:"),
    ...gaps.map((gap) => `  ${gapText(gap)}`),
    "Ask support for a replay of these times, within 7 days: esim-webhooks replay-request prints the text. Then run",
    "esim-webhooks reconcile --acknowledge-gaps.",
  ];
}

/** `at most from 2026-11-20 12:00:00Z to 2026-11-20 14:00:00Z, while the endpoint was inactive`. */
export function gapText({ from, to, eventTypes }: EndpointGap): string {
  const why =
    eventTypes === null
      ? `while the endpoint ${to === null ? "is" : "was"} inactive`
      : `while it was not subscribed to ${eventTypes.map(printable).join(", ")}`;
  return `at most ${spanOf({ from, to })}, ${why}`;
}

/** The ids in the report, and how many more events there are. */
function listOf(ids: readonly string[], total: number): string[] {
  const more = total - ids.length;
  return [...ids.map((id) => `  ${printable(id)}`), ...(more > 0 ? [`  and ${count(more)} more`] : [])];
}

/** The exit code after a pass that was not interrupted: 3 if an event was missing, did not get through, is lost, or may be in a gap. */
export function exitCodeOf(report: ReconcileReport): ExitCode {
  const { interrupted, dryRun, ledger, recovered, ids, lost, gaps } = report;
  if (interrupted) return exitCodes.interrupted;
  const missing = recovered.missed + recovered.acknowledgedAndLost;
  const refused = dryRun ? 0 : refusedIn({ ledger, ids });
  const unsent = gaps?.length ?? 0;
  return missing + refused + unsent > 0 || lost !== null ? exitCodes.problem : exitCodes.ok;
}

/** Whether the operator has to look into the pass of a rotation. Undelivered events that were recovered are no reason: the rotation may have caused them. */
export function needsLook({ ledger, recovered, ids, lost, gaps }: ReconcileReport): boolean {
  const unsent = gaps?.length ?? 0;
  return refusedIn({ ledger, ids }) + recovered.acknowledgedAndLost + unsent > 0 || lost !== null;
}

function refusedIn({ ledger, ids }: Pick<ReconcileReport, "ledger" | "ids">): number {
  return ledger.conflict + ledger.rejected + ids.invalid.length + ids.unstorable.length;
}

/** Prints a line for each pass that found something, and the arrivals of a replay request. Returns a function that stops the printing. */
export function printPasses(output: Output, { json = false }: { readonly json?: boolean }): () => void {
  return observeReconciliations((message) => {
    const { outcome, supportReplay } = message;
    const arrived =
      supportReplay !== null && supportReplay.foundIds.length > 0 ? arrivalLines(supportReplay).slice(1) : [];
    const hasFound = isWorthALine(message);
    if (outcome === "running" || !(hasFound || arrived.length > 0)) return;
    if (json) return output.json({ time: new Date().toISOString(), ...message });
    for (const line of [...(hasFound ? [lineOf(message)] : []), ...arrived]) output.data(line);
  });
}

function isWorthALine({ ledger, lost }: ReconcileMessage): boolean {
  return ledger.stored + ledger.rejected > 0 || lost !== null;
}

function lineOf({ ledger, recovered, failing, lost }: ReconcileMessage): string {
  const parts = [
    ...(ledger.stored > 0
      ? [`${counted(ledger.stored, "event")} recovered (${recoveredAs(recovered)})`]
      : []),
    ...(ledger.rejected > 0 ? [`${count(ledger.rejected)} whose handlers failed`] : []),
    ...(failing > 0 ? [`${count(failing)} tried again later`] : []),
    ...(lost === null ? [] : [`events ${spanOf(lost)} are no longer listed`]),
  ];
  const alarm = recovered.acknowledgedAndLost > 0 || lost !== null ? "ALARM  " : "";
  return `${instant(new Date())}  ${alarm}${parts.join(", ")}`;
}

/** The logger without the reports of passes: the command prints them itself. */
export function withoutReports(logger: Logger): Logger {
  return {
    ...logger,
    info: (fields, message) => {
      if (fields["code"] !== "reconciled") logger.info(fields, message);
    },
  };
}
