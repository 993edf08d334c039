import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";
import type { DispatchOutcome, EventOutcome } from "./event-outcome.ts";

/** A worker's call of the inbox's `take`. Published on `tracing:esim-webhooks:take:*`. */
export interface TakeMessage extends StageMessage {
  /** The most events that the worker asked for. */
  readonly limit: number;
  /** Whether it asked for suspects: events whose last lease ended without a result. */
  readonly suspects: boolean;
  /** How many events were taken. Absent when the inbox did not answer. */
  readonly taken?: number;
  /** The taken events, each with the `traceparent` of the span that stored it, if there was one. */
  readonly events?: readonly (EventKey & { readonly type: string | null; readonly trace: string | null })[];
  /** Whether the inbox answered. */
  readonly outcome: "taken" | "store_unavailable";
}

export const takeStage: Stage<TakeMessage, "taken" | "events"> = createStage("take", "store_unavailable");

/** A worker's call of the inbox's `settle`, for a batch of results. Published on `tracing:esim-webhooks:settlements:*`. */
export interface SettlementsMessage extends StageMessage {
  /** The number of results, each of which is to end a lease. */
  readonly settlements: number;
  /** Whether the inbox answered. It may still have refused single results, whose leases were lost. */
  readonly outcome: "settled" | "store_unavailable";
}

export const settlementsStage: Stage<SettlementsMessage> = createStage("settlements", "store_unavailable");

/**
 * An event that a processor was asked to handle: by a receiver, an import, or your own queue. Published on `tracing:esim-webhooks:process:*`.
 * After a receiver's deadline, `process` ends later than `receive`, with the outcome of the late handler.
 */
export interface ProcessMessage extends StageMessage {
  /** The name of the endpoint that received the event. */
  readonly source: string;
  /** Absent for an invalid event that a receiver, a BullMQ worker or your own call of `accept` has parsed. */
  readonly id?: string;
  /** Absent when the event has none. */
  readonly type?: string;
  /** The number of this try, from 1. */
  readonly attempt: number;
  /** True when the event comes from an import, not from the sender. */
  readonly replayed: boolean;
  /** The event's outcome. `internal_error`: the processor rejected. */
  readonly outcome: EventOutcome["code"] | "internal_error";
  /** The id is being handled with another body. */
  readonly conflict?: true;
}

export const processStage: Stage<ProcessMessage, "conflict"> = createStage("process", "internal_error");

/** A run of a handler, by a processor or a worker. Published on `tracing:esim-webhooks:handle:*`. */
export interface HandleMessage extends EventKey, StageMessage {
  /** The event type. */
  readonly type: string;
  /** Who had the event, as in `SettleMessage`: a worker, which took it from an inbox, or a processor, also that of BullMQ. */
  readonly by: "worker" | "processor";
  /** The number of this try, from 1, like `context.attempt`. */
  readonly attempt: number;
  /** True when the event comes from an import, not from the sender. */
  readonly replayed: boolean;
  /** When the event was received, as in `context.receivedAt`. */
  readonly receivedAt: Date;
  /** For how long the event was due before it was taken, in ms. Absent if it is handled as it arrives, and on BullMQ for a retry. */
  readonly waitMs?: number;
  /** The `traceparent` of the span that stored the event in an inbox or a `bullmqInbox`, if there was one. */
  readonly trace?: string;
  /** `processed`, `discarded`, `retry_later` or `failed`. */
  readonly outcome: DispatchOutcome["code"];
}

export const handleStage: Stage<HandleMessage> = createStage("handle", "failed");
