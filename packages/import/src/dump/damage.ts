import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "../base/errors.ts";

/** A dump that cannot be read to its end: `damaged_dump`. What it held before the damage has been read by then. */
export function damagedDump(problem: string, cause?: unknown): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "damaged_dump",
    problem,
    "Everything before it was read. Get the dump again and import it once more: what is done already is a duplicate.",
    cause === undefined ? undefined : { cause },
  );
}

/** A dump in a form that cannot be read as it is: `unknown_dump`. */
export function unknownDump(problem: string, remedy: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>("unknown_dump", problem, remedy);
}

export function truncated(what: string): WebhookError<ImportErrorCode> {
  return damagedDump(`The ${what} ends before its end.`);
}
