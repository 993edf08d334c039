import { observeReconciliations, type ReconcileMessage } from "@esim-webhooks/endpoint";
import type { Output } from "../program/output.ts";
import { count, counted, instant } from "../terminal/quantities.ts";
import { broughtIn } from "./reconcile-view.ts";

/** Prints a line for each pass that found something. Returns a function that stops it. */
export function printPasses(output: Output, { json = false }: { readonly json?: boolean }): () => void {
  return observeReconciliations((message) => {
    if (!hasFound(message)) return;
    if (json) output.json({ time: new Date().toISOString(), ...message });
    else output.data(lineOf(message));
  });
}

function hasFound({ outcome, ledger, lost }: ReconcileMessage): boolean {
  return outcome !== "running" && (ledger.stored + ledger.rejected > 0 || lost !== null);
}

function lineOf({ ledger, recovered, failing, lost }: ReconcileMessage): string {
  const parts = [
    ...(ledger.stored > 0 ? [`${counted(ledger.stored, "event")} brought in (${broughtIn(recovered)})`] : []),
    ...(ledger.rejected > 0 ? [`${count(ledger.rejected)} whose handlers failed`] : []),
    ...(failing > 0 ? [`${count(failing)} tried again later`] : []),
    ...(lost === null
      ? []
      : [
          `events from ${instant(new Date(lost.from))} to ${instant(new Date(lost.to))} are no longer listed`,
        ]),
  ];
  const alarm = recovered.acknowledgedAndLost > 0 || lost !== null ? "ALARM  " : "";
  return `${instant(new Date())}  ${alarm}${parts.join(", ")}`;
}
