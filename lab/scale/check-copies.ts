import { isDeepStrictEqual } from "node:util";
import type { Inbox, StoredEvent } from "@esim-webhooks/core";
import { type Copies, firstSlot } from "./copies.ts";
import { kinds } from "./kinds.ts";

/** Checks that the product reads all rows, and a copy of each kind as it reads the row that was copied. */
export async function checkCopies(inbox: Inbox, { rows, expired }: Copies): Promise<void> {
  const { states } = await inbox.stats();
  const found = Object.values(states).reduce((sum, count) => sum + count);
  const made = rows + expired + kinds.length;
  if (found !== made) throw new Error(`The table has ${found} events, but ${made} were made.`);
  for (const [index, { id }] of kinds.entries()) {
    const original = await inbox.get({ source: "default", id });
    const copy = await inbox.get({ source: "default", id: idOf(rows - 1000 + firstSlot(index)) });
    if (original === undefined || copy === undefined || !isDeepStrictEqual(plain(original), plain(copy)))
      throw new Error(`The copy of "${id}" differs: ${JSON.stringify({ original, copy })}`);
  }
}

/** The id of a copy, as the engines make it. */
function idOf(n: number): string {
  return `msg_${((BigInt(n) * 2654435761n) % 4294967296n).toString(16).padStart(8, "0")}_${n}`;
}

/** The event, but of what differs from copy to copy only whether it is null. */
function plain({ heldBy: _, ...event }: StoredEvent): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(event).map(([field, value]) => [
      field,
      value instanceof Date || ["id", "subject", "lane"].includes(field) ? value === null : value,
    ]),
  );
}
