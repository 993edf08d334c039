import { hash, randomUUID } from "node:crypto";
import type { EventKey, InboxEntry, PutResult } from "@esim-webhooks/core";

/**
 * The deduplication id of an event. BullMQ takes any text for it, so event ids with colons, of digits only, or of 2,000 bytes
 * need no mapping. The length keeps "a:b" + "c" apart from "a" + "b:c".
 */
export function deduplicationIdOf({ source, id }: EventKey): string {
  return `${source.length}:${source}:${id}`;
}

/**
 * A new id for the job of an entry. The queue answers `add` with the id of the job that it has for the event, also after that
 * job was removed: the hash in it distinguishes a duplicate from a conflict.
 */
export function newJobId(entry: Pick<InboxEntry, "body" | "replay">): string {
  return `${randomUUID()}.${bytesOf(entry)}.${hashOf(entry.body)}`;
}

/** What the queue did with an entry: `ours` is the id that was given to `add`, `kept` the one that it answered with. */
export function resultOf(ours: string, kept: string): PutResult | "foreign" {
  if (kept === ours) return "stored";
  const [, ourBytes, ourHash] = ours.split(".");
  const [, bytes, bodyHash] = /^[\da-f-]{36}\.(signed|rebuilt)\.([\da-f]{32})$/.exec(kept) ?? [];
  if (bodyHash === undefined) return "foreign";
  return bytes === ourBytes && bodyHash !== ourHash ? "conflict" : "duplicate";
}

/** A body that an import rebuilt from JSON may differ from the signed one without a conflict. */
function bytesOf({ replay }: Pick<InboxEntry, "replay">): "signed" | "rebuilt" {
  return replay?.rebuilt ? "rebuilt" : "signed";
}

function hashOf(body: Uint8Array): string {
  return hash("sha256", body, "hex").slice(0, 32);
}
