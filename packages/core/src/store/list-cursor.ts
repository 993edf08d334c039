import { WebhookError } from "../base/errors.ts";
import type { EventKey } from "../event/event.ts";

/** The place in an inbox's list after which a page begins. */
export interface ListCursor extends EventKey {
  /** When the event was received, in whatever form the inbox compares. */
  readonly receivedAt: string | null;
}

export function writeCursor({ receivedAt, source, id }: ListCursor): string {
  return Buffer.from(JSON.stringify({ receivedAt, source, id })).toString("base64url");
}

/** Throws `invalid_input` for a text that `writeCursor` did not write. */
export function readCursor(text: string): ListCursor {
  try {
    const { receivedAt, source, id } = JSON.parse(Buffer.from(text, "base64url").toString()) as ListCursor;
    const isTime = receivedAt === null || typeof receivedAt === "string";
    if (isTime && typeof source === "string" && typeof id === "string") return { receivedAt, source, id };
  } catch {
    // refused below
  }
  throw new WebhookError(
    "invalid_input",
    "The cursor is none that a list has given.",
    "Take it from nextCursor of the page before.",
  );
}
