import { WebhookError } from "@esim-webhooks/core";

/** The codes of the errors that an import throws, besides those of core; they are stable. */
export type ImportErrorCode =
  /** The dump cannot be read to its end: the message says where it is damaged. What came before that was read. Ask for the file again. */
  | "damaged_dump"
  /** The file has none of the formats that can be read. The message says what it looks like. */
  | "unknown_dump"
  | "dump_too_large"
  | "unsigned_dump"
  | "source_unknown"
  | "checkpoint_mismatch"
  | "checkpoint_in_use"
  | "foreign_file";

/** The error `damaged_dump`: the dump cannot be read to its end. Throw it after everything before the damage was read. */
export function damagedDump(problem: string, cause?: unknown): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "damaged_dump",
    problem,
    getAgain,
    cause === undefined ? undefined : { cause },
  );
}

/** The remedy for damage after which nothing was read. */
export const getAgain: string =
  "Everything before it was read. Get the dump again and import it again: done events are duplicates.";
/** The remedy for damage after which more was read. */
export const getRestAgain: string =
  "Everything else was read. Get the dump again and import it again: done events are duplicates.";

/** The error `unknown_dump`: the dump has a format that the import does not read. */
export function unknownDump(problem: string, remedy: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>("unknown_dump", problem, remedy);
}

export function truncated(what: string): WebhookError<ImportErrorCode> {
  return damagedDump(`The ${what} is truncated.`);
}
