import { hash } from "node:crypto";
import { WebhookError } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { EndpointErrorCode } from "../base/errors.ts";
import type { Tries } from "./tries.ts";

/** What reconciling remembers of an endpoint, in a `StateStore`. Times are the service's, as date-times. */
export interface PassState {
  /** For people who look into the store. */
  readonly endpoint: string;
  readonly source: string;
  /** Deliveries that show no time since then are never brought in. */
  readonly since: string;
  /** The watermark: what showed a time before this and is not coming is settled. The next pass reads down to it. */
  readonly mark: string;
  /** About until when the events of the endpoint are settled: for messages. Unlike the mark, it moves on when no events come. */
  readonly settledTo: string;
  /** When the last full pass began, one that read down to `since`. By our own clock. The first pass counts as one. */
  readonly fullPassAt: string;
  /** The tries of events whose handlers failed, by their short hashes. */
  readonly failures: Readonly<Record<string, Tries>>;
  /** The short hashes of invalid records that were reported. */
  readonly reported: readonly string[];
  /** How many passes were completed: a fleet sees by it that one was. */
  readonly completed: number;
  /** The pass that is under way; null between passes. */
  readonly runner: string | null;
}

const dayMs = 24 * 60 * 60_000;

/** How long the service lists deliveries, in ms. */
export const listedMs: number = 7 * dayMs;

const time = z.string().check(z.refine((text) => !Number.isNaN(dateTimeMs(text)), "expected a date-time"));

const stateSchema: z.ZodMiniType<PassState> = z.object({
  endpoint: z.string(),
  source: z.string(),
  since: time,
  mark: time,
  settledTo: time,
  fullPassAt: time,
  failures: z.record(z.string(), z.tuple([z.int(), z.int()])),
  reported: z.array(z.string()),
  completed: z.int(),
  runner: z.nullable(z.string()),
});

/** The name of the state. Hashed, because both parts may be anything. */
export function stateName(endpoint: string, source: string): string {
  return `reconcile-${shortHash(JSON.stringify([endpoint, source]), 32)}`;
}

/** Throws `invalid_state` if the value is not of a pass. */
export function readPassState(name: string, value: unknown): PassState {
  const read = stateSchema.safeParse(value);
  if (read.success) return read.data;
  throw new WebhookError<EndpointErrorCode>(
    "invalid_state",
    `The state ${JSON.stringify(name)} is not one that reconcile has written.`,
    "Pass a StateStore that nothing else writes to under this name, or remove this state and pass since.",
  );
}

/** A state of the first pass, which goes back to `since`. */
export function firstState(endpoint: string, source: string, since: Date, nowMs: number): PassState {
  const from = since.toISOString();
  return {
    endpoint,
    source,
    since: from,
    mark: from,
    settledTo: from,
    fullPassAt: isoOf(nowMs),
    failures: {},
    reported: [],
    completed: 0,
    runner: null,
  };
}

/**
 * The state for a pass that goes back at least to `since`, wherever an earlier pass has been. It tries at once whatever failed
 * or was given up.
 */
export function reachingBack(state: PassState, since: Date | undefined): PassState {
  if (since === undefined) return state;
  const earlier = (text: string) => isoOf(Math.min(dateTimeMs(text), since.getTime()));
  return {
    ...state,
    since: earlier(state.since),
    mark: earlier(state.mark),
    settledTo: earlier(state.settledTo),
    failures: {},
  };
}

/** Whether a full pass is due: one a day. */
export function isFullPassDue({ fullPassAt }: Pick<PassState, "fullPassAt">, nowMs: number): boolean {
  return Math.abs(nowMs - dateTimeMs(fullPassAt)) >= dayMs; // the clock may have been set back
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Identifies a webhook-id in little space. */
export function shortHash(text: string, length = 12): string {
  return hash("sha256", text, "base64url").slice(0, length);
}
