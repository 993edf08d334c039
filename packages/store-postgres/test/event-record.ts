import { crc32 } from "node:zlib";
import type { EventRecord } from "@esim-webhooks/core/internal";
import { entry, key } from "../../../test/inbox-entry.ts";

const hourMs = 3_600_000;
const body = Buffer.from(entry("msg_1").body);

/** A record of another inbox: of a ready event without a lane, unless `changes` says otherwise. */
export function eventRecord(id: string, changes: Partial<EventRecord> = {}): EventRecord {
  const hourAgo = Date.now() - hourMs;
  return {
    ...{ ...key(id), state: "ready", type: "esim.enabled", lane: null, body, fingerprint: crc32(body) },
    ...{ receivedAtMs: hourAgo, occurredAtMs: hourAgo, dueAtMs: Date.now() - 1000, keptUntilMs: null },
    ...{
      attempts: 0,
      tries: 0,
      suspect: false,
      waitingSinceMs: null,
      conflicts: 0,
      error: null,
      replay: null,
      runs: [],
      history: null,
    },
    ...{ subject: null, key: null, trace: null, takenAtMs: null, settledAtMs: null, erasedAtMs: null },
    ...changes,
  };
}
