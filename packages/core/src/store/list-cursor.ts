import { WebhookError } from "../base/errors.ts";
import type { EventKey } from "../event/event.ts";

/** The place in a list after which the next page begins. */
export interface ListCursor extends EventKey {
  /** When the event was received, in the form that the inbox compares. */
  readonly receivedAt: string;
}

/** Writes a cursor as text, for `nextCursor`. */
export function writeCursor({ receivedAt, source, id }: ListCursor): string {
  return Buffer.from(JSON.stringify({ receivedAt, source, id })).toString("base64url");
}

/**
 * Reads a cursor. Throws `invalid_input` for a text that `writeCursor` did not write, and for a cursor of another kind of inbox.
 * @param text the cursor
 * @param isTime says whether a text is a time in the form that this inbox writes
 */
export function readCursor(text: string, isTime: (receivedAt: string) => boolean): ListCursor {
  try {
    const { receivedAt, source, id } = JSON.parse(Buffer.from(text, "base64url").toString()) as ListCursor;
    const isCursor = [receivedAt, source, id].every((part) => typeof part === "string");
    if (isCursor && isTime(receivedAt)) return { receivedAt, source, id };
  } catch {
    // not JSON: refused below
  }
  throw new WebhookError(
    "invalid_input",
    "The cursor is not one that list() returned.",
    "Pass the nextCursor of the previous page.",
  );
}
