import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type { EventKey, EventOutcome, Processor } from "@esim-webhooks/core";
import { createDeadline } from "@esim-webhooks/core/engine";
import { eventOf } from "@esim-webhooks/core/internal";
import { describePaths } from "../record/checks.ts";
import { rerunStore } from "./rerun-store.ts";
import type { AcceptedEvent, Sink, SinkSettings, Verdict } from "./sink.ts";

export type IntoProcessor = Pick<
  SinkSettings,
  "source" | "force" | "concurrency" | "clock" | "logger" | "signal" | "deadlineMs"
>;

// a timer may fire before the claim has ended by the store's clock
const marginMs = 100;

/** A sink that runs handlers, as a receiver does. */
export function intoProcessor(
  processor: Processor<unknown>,
  options: IntoProcessor,
): (run: string) => Sink<AcceptedEvent> {
  return (run) => {
    const noteInInbox = createInboxNotes(options, run);
    const again = new Set<string>(); // ids of done events that are running again
    const onRerun = ({ id }: EventKey) => void again.add(id);
    const into = options.force
      ? processor.withStore((store) => rerunStore(store, { run, onRerun }))
      : processor;
    const processEvent = oneAtATime(createProcessEvent(into, options, run));

    async function handle(event: AcceptedEvent): Promise<Verdict> {
      const outcome = await processEvent(event);
      const isForced = again.delete(event.id) && hasSucceeded(outcome);
      const fields = { id: event.id, type: event.type, source: options.source, run };
      if (isForced) options.logger.info(fields, "A done event is run again.");
      if (outcome.code === "busy" && outcome.inInbox) noteInInbox(event, outcome.inInbox);
      if (outcome.code === "failed")
        options.logger.error({ ...fields, err: outcome.error }, "The handler failed, or the schema threw.");
      return verdictOf(outcome, isForced);
    }

    return {
      batchSize: 1,
      atOnce: options.concurrency,
      mayRefuse: true,
      prepare: (item) => ({ item, bytes: 0 }),
      take: (events) => Promise.all(events.map(handle)),
    };
  };
}

type ProcessEvent = (event: AcceptedEvent) => Promise<EventOutcome>;

function createProcessEvent(
  processor: Processor<unknown>,
  options: IntoProcessor,
  run: string,
): ProcessEvent {
  const { source, clock, logger, signal, deadlineMs } = options;

  async function processOnce(event: AcceptedEvent): Promise<EventOutcome> {
    if (deadlineMs === undefined) return processUntil(event);
    const deadline = createDeadline(deadlineMs);
    const outcome = await deadline.before(processUntil(event, deadline.signal));
    if (outcome !== undefined) return outcome;
    const { id, type } = event;
    logger.error(
      { id, type, source, run, deadlineMs },
      "The handler did not end within deadlineMs. Let it stop when context.signal aborts, or move slow work to a queue.",
    );
    return { code: "deadline_reached" };
  }

  async function processUntil(event: AcceptedEvent, stopping?: AbortSignal): Promise<EventOutcome> {
    const receivedAt = event.request?.receivedAt ?? new Date(clock.now());
    return processor.process(eventOf(event.id, event.payload), {
      source,
      receivedAt,
      replayed: true,
      ...(stopping && { signal: stopping }),
      ...(event.body !== null && { fingerprint: crc32(event.body) }),
    });
  }

  // the claim of a killed process, such as the previous run, lasts until its lease ends
  return async (event) => {
    const outcome = await processOnce(event);
    if (outcome.code !== "busy" || outcome.inInbox) return outcome;
    const { id, type } = event;
    const { retryAfterMs } = outcome;
    logger.info(
      { id, type, source, run, retryAfterMs },
      "Another process has claimed this id: this record waits for the claim to end.",
    );
    await sleep(retryAfterMs + marginMs, undefined, { signal });
    return processOnce(event);
  };
}

type InInbox = NonNullable<Extract<EventOutcome, { code: "busy" }>["inInbox"]>;

/** Returns a function that logs, once for each kind, that events of the import are in an inbox on the store's tables. */
function createInboxNotes(
  { source, logger }: IntoProcessor,
  run: string,
): (event: AcceptedEvent, where: InInbox) => void {
  const noted = new Set<InInbox>();
  return ({ id, type }, where) => {
    if (noted.has(where)) return;
    noted.add(where);
    const fields = { id, type, source, run };
    if (where === "waiting") {
      logger.info(
        fields,
        "Some of these events wait in the inbox, such as this one: a worker will handle them. They count as duplicates.",
      );
    } else {
      logger.warn(
        fields,
        `Some of these events are ${where} in the inbox, such as this one. They count as duplicates: retry them, and a worker will handle them.`,
      );
    }
  };
}

/** Processes records with the same id one after the other: the second is then a duplicate, not busy. */
function oneAtATime(processEvent: ProcessEvent): ProcessEvent {
  const running = new Map<string, Promise<unknown>>();
  return async (event) => {
    while (running.has(event.id)) await running.get(event.id);
    const outcome = processEvent(event);
    running.set(
      event.id,
      outcome.catch(() => {}),
    );
    return outcome.finally(() => running.delete(event.id));
  };
}

function hasSucceeded({ code }: EventOutcome): boolean {
  return code === "processed" || code === "discarded";
}

const conflict: Verdict = {
  fate: "conflict",
  code: "conflict",
  reason: "its id was done with another body, which stays",
};

function verdictOf(outcome: EventOutcome, isForced: boolean): Verdict {
  const { code } = outcome;
  switch (code) {
    case "processed":
    case "discarded":
      return { fate: "stored", isForced };
    case "unknown_type":
    case "unhandled_type":
      return { fate: "filtered" }; // nothing ran, and the next import will not run it either
    case "duplicate":
      return { fate: "duplicate" };
    case "conflict":
      return conflict;
    case "invalid":
      return { fate: "invalid", code, reason: describePaths(outcome.issues) };
    case "failed":
      return { fate: "rejected", code, reason: "its handler failed, or its schema threw" };
    case "retry_later":
      return { fate: "rejected", code, reason: "its handler asked for a later retry" };
    case "busy":
      if (outcome.inInbox) return outcome.conflict ? conflict : { fate: "duplicate" };
      return { fate: "rejected", code, reason: "another process is handling its id" };
    case "deadline_reached":
      return { fate: "rejected", code, reason: "it was stopped before its handler ended" };
    case "lease_lost":
      return { fate: "rejected", code, reason: "its claim ended before its handler had finished" };
    case "store_unavailable":
      throw outcome.error;
  }
}
