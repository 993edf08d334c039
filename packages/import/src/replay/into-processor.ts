import { setTimeout as pause } from "node:timers/promises";
import { type EventKey, type EventOutcome, type Processor, WebhookError } from "@esim-webhooks/core";
import { eventOf } from "../record/dumped-event.ts";
import { describeIssues } from "../record/read-event.ts";
import type { ReplaySettings } from "./replay-options.ts";
import { rerunStore } from "./rerun-store.ts";
import type { OpenSink, ProvenEvent, Verdict } from "./sink.ts";

export type IntoProcessor = Pick<
  ReplaySettings,
  "source" | "force" | "concurrency" | "clock" | "logger" | "signal"
>;

// a timer may go off before the store's clock has come as far
const marginMs = 100;

/** Works events where they are, as a receiver with handlers does. */
export function intoProcessor(processor: Processor<unknown>, options: IntoProcessor): OpenSink<ProvenEvent> {
  return (run) => {
    const again = new Set<string>(); // ids that were done before, and are running
    const onRerun = ({ id }: EventKey) => void again.add(id);
    const into = options.force
      ? processor.withStore((store) => rerunStore(store, { run, onRerun }))
      : processor;
    const work = createWork(into, options, run);
    const workInTurn = oneAtATime(work);

    async function verdictOn(event: ProvenEvent): Promise<Verdict> {
      const outcome = await workInTurn(event);
      const isForced = again.delete(event.id) && wasWorked(outcome);
      const fields = { id: event.id, type: event.type, source: options.source, run };
      if (isForced) options.logger.info(fields, "An event that was done is run again.");
      if (outcome.code === "failed")
        options.logger.error({ ...fields, err: outcome.error }, "The handler failed.");
      return verdictOf(outcome, isForced);
    }

    return {
      batchSize: 1,
      atOnce: options.concurrency,
      mayReject: true,
      prepare: (item) => ({ item, bytes: 0 }),
      take: (events) => Promise.all(events.map(verdictOn)),
    };
  };
}

type Work = (event: ProvenEvent) => Promise<EventOutcome>;

function createWork(processor: Processor<unknown>, options: IntoProcessor, run: string): Work {
  const { source, clock, logger, signal } = options;

  async function work(event: ProvenEvent): Promise<EventOutcome> {
    const receivedAt = event.request?.receivedAt ?? new Date(clock.now());
    try {
      return await processor.process(eventOf(event), { source, receivedAt, replayed: true });
    } catch (error) {
      if (WebhookError.is(error)) throw error; // async_schema: no event would fare better
      return { code: "failed", error };
    }
  }

  // an owner that ended with its process keeps its claim until the lease ends: that of the run before, for one
  return async (event) => {
    const outcome = await work(event);
    if (outcome.code !== "busy") return outcome;
    const { id, type } = event;
    const { retryAfterMs } = outcome;
    logger.info({ id, type, source, run, retryAfterMs }, "An id is claimed: the import waits for that.");
    await pause(retryAfterMs + marginMs, undefined, { signal });
    return work(event);
  };
}

/** The same id twice among the records: the second time it is its own duplicate, and not busy. */
function oneAtATime(work: Work): Work {
  const working = new Map<string, Promise<unknown>>();
  return async (event) => {
    while (working.has(event.id)) await working.get(event.id);
    const worked = work(event);
    working.set(
      event.id,
      worked.catch(() => {}),
    );
    return worked.finally(() => working.delete(event.id));
  };
}

function wasWorked({ code }: EventOutcome): boolean {
  return code === "processed" || code === "discarded";
}

function verdictOf(outcome: EventOutcome, isForced: boolean): Verdict {
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
