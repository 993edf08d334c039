import { WebhookError } from "@esim-webhooks/core";

/** Where a page begins: the index of a job state, and how many of its jobs were listed. */
export interface PagePlace {
  readonly state: number;
  readonly offset: number;
}

export function writePlace({ state, offset }: PagePlace): string {
  return Buffer.from(`${state}:${offset}`).toString("base64url");
}

/** Throws `invalid_input` for a text that `writePlace` did not write. */
export function readPlace(cursor: string | undefined): PagePlace {
  if (cursor === undefined) return { state: 0, offset: 0 };
  const text = Buffer.from(cursor, "base64url").toString();
  const [, state, offset] = /^(\d{1,2}):(\d{1,15})$/.exec(text) ?? [];
  if (state !== undefined && offset !== undefined) return { state: Number(state), offset: Number(offset) };
  throw new WebhookError(
    "invalid_input",
    "The cursor is not one that list() returned.",
    "Pass the nextCursor of a page.",
  );
}
