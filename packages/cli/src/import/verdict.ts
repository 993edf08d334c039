import type { ImportReport } from "@esim-webhooks/import";
import { type ExitCode, exitCodes } from "../program/exit-code.ts";
import { explainedText } from "../program/explained.ts";
import { count, counted } from "../terminal/quantities.ts";
import type { DumpFile } from "./dump-file.ts";

/** The exit code after an import, and the messages besides the report. */
export function verdictOn(
  { ledger, types, damage, interrupted, resumedAfter }: ImportReport,
  { checkpointFile }: Pick<DumpFile, "checkpointFile">,
): { readonly exitCode: ExitCode; readonly notes: readonly string[] } {
  const bad = ledger.conflict + ledger.invalid + ledger.rejected;
  const isOfAnotherShape = ledger.read > 0 && types["(none)"]?.invalid === ledger.read;
  const notes = [
    ...(resumedAfter > 0
      ? [`Continued after the ${counted(resumedAfter, "record")} of an earlier run.`]
      : []),
    ...(damage ? [`Error (${damage.code}): ${explainedText(damage, { command: "import" })}`] : []),
    ...(interrupted
      ? [`Interrupted after ${counted(ledger.read, "record")}. ${howToContinue(checkpointFile)}`]
      : []),
    ...(!interrupted && bad > 0
      ? [`${count(bad)} of ${counted(ledger.read, "record")} did not get through.`]
      : []),
    ...(isOfAnotherShape
      ? [
          "None of them is an event. If their fields have other names, name those with --map eventId=id,payload=body.",
        ]
      : []),
  ];
  if (interrupted) return { exitCode: exitCodes.interrupted, notes };
  return { exitCode: bad > 0 || damage ? exitCodes.problem : exitCodes.ok, notes };
}

function howToContinue(checkpointFile: string | undefined): string {
  const again = "Run the same command again";
  return checkpointFile === undefined
    ? `${again}: what was imported counts as duplicate.`
    : `${again} to continue.`;
}
