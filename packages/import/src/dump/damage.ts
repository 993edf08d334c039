import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "../base/errors.ts";

/** The error `damaged_dump`: the dump cannot be read to its end. Throw it after everything before the damage was read. */
export function damagedDump(problem: string, cause?: unknown): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "damaged_dump",
    problem,
    "Everything before it was read. Get the dump again and import it again: done events are duplicates.",
    cause === undefined ? undefined : { cause },
  );
}

/** The error `unknown_dump`: the dump has a format that the import does not read. */
export function unknownDump(problem: string, remedy: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>("unknown_dump", problem, remedy);
}

export function truncated(what: string): WebhookError<ImportErrorCode> {
  return damagedDump(`The ${what} is truncated.`);
}
