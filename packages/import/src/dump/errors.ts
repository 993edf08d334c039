import { WebhookError } from "@esim-webhooks/core";

/** The codes of the errors that an import throws, besides those of core; they are stable. */
export type ImportErrorCode =
  /** The dump cannot be read to its end: the message says where it is damaged. What came before that was read. Ask for the file again. */
  | "damaged_dump"
  /** The file has none of the formats that can be read. The message says what it looks like. */
  | "unknown_dump"
  /** The dump unpacks to more than `maxUnpackedBytes`, or to more than `maxRatio` times its size; everything before was read. If you trust its sender, raise the limit; otherwise treat it as an attack. */
  | "dump_too_large"
  | "unsigned_dump"
  /** The target has only events of other sources: if they came from this endpoint, they would run a second time. Pass their `source`, or `newSource` if the new one is right. */
  | "source_unknown"
  /** The checkpoint file belongs to another dump, other options or another version. Continue with those, or remove the file to start over: done events are duplicates. */
  | "checkpoint_mismatch"
  /** Another import uses the checkpoint file, or has removed it. Let that import end, or give each a checkpoint file and a rejects file of its own. */
  | "checkpoint_in_use"
  /** The file is a link, or belongs to another user, so it is neither read nor written. Name a file in a folder where only you can write. */
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
