import { hash, randomUUID } from "node:crypto";
import type { EventKey, InboxEntry, PutResult } from "@esim-webhooks/core";

/**
 * The deduplication id of an event. BullMQ takes any text for it, so event ids with colons, of digits only, or of 1,024 bytes
 * need no mapping. The length distinguishes "a:b" + "c" from "a" + "b:c".
 */
export function deduplicationIdOf({ source, id }: EventKey): string {
  return `${source.length}:${source}:${id}`;
}

/**
 * A new id for the job of an entry: a UUID, the kind of its bytes and their hash. The queue answers `add` with the id of the job
 * that it has for the event, also after that job was removed: the hash in it distinguishes a duplicate from a conflict. It is
 * short, since Redis stores it several times for a job.
 */
export function newJobId(entry: Pick<InboxEntry, "body" | "replay">): string {
  return `${randomUUID()}${kindOf(entry)}${hashOf(entry.body)}`;
}

const uuidLength = 36;

/** The queue's answer to an entry: `ours` is the id that was given to `add`, `kept` the one that it answered with. */
export function resultOf(ours: string, kept: string): PutResult | "foreign" {
  if (kept === ours) return "stored";
  if (!/^[\da-f-]{36}[sr][\w-]{16}$/.test(kept)) return "foreign";
  const isSameKind = kept[uuidLength] === ours[uuidLength];
  return isSameKind && kept.slice(uuidLength) !== ours.slice(uuidLength) ? "conflict" : "already_stored";
}

/** Signed or rebuilt: a body that an import rebuilt from JSON may differ from the signed one without a conflict. */
function kindOf({ replay }: Pick<InboxEntry, "replay">): "s" | "r" {
  return replay?.rebuilt ? "r" : "s";
}

/** A hash of 96 bits. */
function hashOf(body: Uint8Array): string {
  return hash("sha256", body, "base64url").slice(0, 16);
}
