import type { Logger } from "../base/logger.ts";
import { hasRole } from "./inbox.ts";
import type { RunNote } from "./run-note.ts";

/**
 * Writes the note of a run that has ended into its target, if that is an inbox with a role for operators. Logs a failure instead of
 * rejecting: the run has ended either way.
 */
export async function noteRun(
  target: unknown,
  { ledger, ...note }: Omit<RunNote, "ledger"> & { readonly ledger: object },
  logger: Logger,
): Promise<void> {
  if (typeof target !== "object" || target === null || !hasRole(target, "admin")) return;
  try {
    await target.noteRun({ ...note, ledger: countsOf(ledger) });
  } catch (err) {
    logger.warn({ err, run: note.run }, "The inbox did not keep the note of a run that has ended.");
  }
}

/** The numbers of a ledger. */
function countsOf(ledger: object): RunNote["ledger"] {
  const counts = Object.entries(ledger).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return Object.fromEntries(counts);
}
