import { setTimeout as pause } from "node:timers/promises";
import {
  type EventKey,
  type EventOutcome,
  type Logger,
  type Processor,
  WebhookError,
} from "@esim-webhooks/core";
import { eventOf } from "../record/dumped-event.ts";
import { describeIssues } from "../record/read-event.ts";
import { rerunStore } from "./rerun-store.ts";
import type { Destination, ProvenEvent, Verdict } from "./sink.ts";

export interface IntoProcessor {
  readonly run: () => string;
  readonly source: string;
  readonly force: boolean;
  readonly concurrency: number;
  readonly now: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
}

// a timer may go off before the store's clock has come as far
const marginMs = 100;

/** Works events where they are, as a receiver with handlers does. */
export function intoProcessor(given: Processor<unknown>, options: IntoProcessor): Destination<ProvenEvent> {
  const { run, source, force, concurrency, now, logger, signal } = options;
  const working = new Map<string, Promise<unknown>>();
  const again = new Set<string>(); // ids that were done before, and are running
  const onRerun = ({ id }: EventKey) => void again.add(id);
  const processor = force ? given.withStore((store) => rerunStore(store, { run, onRerun })) : given;

  async function work(event: ProvenEvent): Promise<EventOutcome> {
    const receivedAt = event.request?.receivedAt ?? new Date(now());
    const provenance = { source, receivedAt, replayed: true };
    try {
      return await processor.process(eventOf(event), provenance);
    } catch (error) {
      if (WebhookError.is(error)) throw error; // async_schema: no event would fare better
      return { code: "failed", error };
    }
  }

  /** An owner that ended with its process keeps its claim until the lease ends: that of the run before, for one. */
  async function workOnceFree(event: ProvenEvent): Promise<EventOutcome> {
    const outcome = await work(event);
    if (outcome.code !== "busy") return outcome;
    const { id, type } = event;
    const { retryAfterMs } = outcome;
    logger.info(
      { id, type, source, run: run(), retryAfterMs },
      "An id is claimed: the import waits for that.",
    );
    await pause(retryAfterMs + marginMs, undefined, { signal });
    return work(event);
  }

  /** The same id twice in a dump: the second time it is its own duplicate, and not busy. */
  async function workInTurn(event: ProvenEvent): Promise<EventOutcome> {
    while (working.has(event.id)) await working.get(event.id);
    const worked = workOnceFree(event);
    working.set(
      event.id,
      worked.catch(() => {}),
    );
    return worked.finally(() => working.delete(event.id));
  }

  function tell({ id, type }: ProvenEvent, outcome: EventOutcome, isForced: boolean): void {
    const fields = { id, type, source, run: run() };
    if (isForced) logger.info(fields, "An event that was done is run again.");
    if (outcome.code === "failed") logger.error({ ...fields, err: outcome.error }, "The handler failed.");
  }

  return {
    stretch: 1,
    atOnce: concurrency,
    mayReject: true,
    prepare: (item) => ({ item, bytes: 0 }),
    handOver: (events) =>
      Promise.all(
        events.map(async (event) => {
          const outcome = await workInTurn(event);
          const isForced = again.delete(event.id) && wasWorked(outcome);
          tell(event, outcome, isForced);
          return verdictOn(outcome, isForced);
        }),
      ),
  };
}

function wasWorked({ code }: EventOutcome): boolean {
  return code === "processed" || code === "discarded";
}

function verdictOn(outcome: EventOutcome, isForced: boolean): Verdict {
  const { code } = outcome;
  switch (code) {
    case "processed":
    case "discarded":
      return { fate: "stored", isForced };
    case "unknown_type":
    case "unhandled_type":
      return { fate: "filtered" }; // nothing ran, and nothing will at the next import
    case "duplicate":
      return { fate: "duplicate" };
    case "invalid":
      return { fate: "invalid", code, reason: describeIssues(outcome.issues) };
    case "failed":
      return { fate: "rejected", code, reason: "its handler failed" };
    case "retry_later":
      return { fate: "rejected", code, reason: "its handler asked for later" };
    case "busy":
      return { fate: "rejected", code, reason: "its id is being worked elsewhere" };
    case "deadline_reached":
      return { fate: "rejected", code, reason: "it was told to stop before it was worked" };
    case "lease_lost":
      return { fate: "rejected", code, reason: "its claim went to another owner while its handler ran" };
    case "store_unavailable":
      throw outcome.error;
  }
}
