import type { Parsed } from "@esim-webhooks/core";
import type { DumpedEvent } from "../record/dumped-event.ts";
import { describePaths } from "../record/read-event.ts";
import { type Sink, stored } from "./sink.ts";

/** The sink of a dry run: it counts every event as stored, except those that are invalid for handlers. */
export function intoNothing(
  readEvent: (event: DumpedEvent) => Parsed<Record<string, unknown>>,
  isInline: boolean,
): Sink<null> {
  const taken = { item: null, bytes: 0 };
  return {
    batchSize: 1000,
    atOnce: 1,
    mayRefuse: false,
    prepare(event) {
      const parsed = readEvent(event);
      if (parsed.kind !== "invalid" || !isInline) return taken;
      return { fate: "invalid", code: "invalid", reason: describePaths(parsed.issues) };
    },
    take: async (items) => items.map(() => stored),
  };
}
