import type { ReconcileReport } from "@esim-webhooks/endpoint";
import { type ExitCode, exitCodes } from "../program/exit-code.ts";

/** The exit code after a pass: 3 if something was missing, did not get through, or is lost. */
export function exitCodeOf({ interrupted, dryRun, ledger, recovered, ids, lost }: ReconcileReport): ExitCode {
  if (interrupted) return exitCodes.interrupted;
  const missing = recovered.missed + recovered.acknowledgedAndLost;
  const refused = dryRun ? 0 : refusedIn({ ledger, ids });
  return missing + refused > 0 || lost !== null ? exitCodes.problem : exitCodes.ok;
}

/** Whether somebody has to look into the pass of a rotation. What the rotation itself cost, and is in now, is none of it. */
export function needsLook({ ledger, recovered, ids, lost }: ReconcileReport): boolean {
  return refusedIn({ ledger, ids }) + recovered.acknowledgedAndLost > 0 || lost !== null;
}

function refusedIn({ ledger, ids }: Pick<ReconcileReport, "ledger" | "ids">): number {
  return ledger.conflict + ledger.rejected + ids.invalid.length + ids.unstorable.length;
}
