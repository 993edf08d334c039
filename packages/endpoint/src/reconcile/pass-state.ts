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
  /** The watermark: what showed a time before this and is not coming is settled. Deep passes read down to it. */
  readonly mark: string;
  /** The newest attempt that was listed. Like the mark, but nothing that is coming or failing holds it. Other passes read down to it. */
  readonly head: string;
  /** About until when the events of the endpoint are settled: for messages. Unlike the mark, it moves on when no events come. */
  readonly settledTo: string;
  /** When the last deep pass began. By our own clock. */
  readonly deepPassAt: string;
  /** When the last full pass that completed began, one that read down to `since`. By our own clock. The first pass counts as one. */
  readonly fullPassAt: string;
  /** When a full pass last began, also one that was interrupted. By our own clock. */
  readonly fullPassTriedAt: string;
  /** Until when the events of a type were ignored, because no handler takes it. By the short hashes of the types. */
  readonly ignored: Readonly<Record<string, string>>;
  /** The tries of events whose handlers failed, by their short hashes. */
  readonly failures: Readonly<Record<string, Tries>>;
  /** The short hashes of invalid records that were reported. */
  readonly reported: readonly string[];
  /** How many passes were completed: a fleet sees by it that one was. */
  readonly completed: number;
  /** The pass that is under way; null between passes. */
  readonly runner: string | null;
}

const time = z.string().check(z.refine((text) => !Number.isNaN(dateTimeMs(text)), "expected a date-time"));

const stateSchema: z.ZodMiniType<PassState> = z.object({
  endpoint: z.string(),
  source: z.string(),
  since: time,
  mark: time,
  head: time,
  settledTo: time,
  deepPassAt: time,
  fullPassAt: time,
  fullPassTriedAt: time,
  ignored: z.record(z.string(), time),
  failures: z.record(z.string(), z.tuple([z.int(), z.int()])),
  reported: z.array(z.string()),
  completed: z.int(),
  runner: z.nullable(z.string()),
});

/** The name of the state. Hashed, because the reference may be anything. */
export function stateName(endpoint: string): string {
  return `reconcile-${shortHash(endpoint, 32)}`;
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
    head: from,
    settledTo: from,
    deepPassAt: isoOf(nowMs),
    fullPassAt: isoOf(nowMs),
    fullPassTriedAt: isoOf(nowMs),
    ignored: {},
    failures: {},
    reported: [],
    completed: 0,
    runner: null,
  };
}

/**
 * The state for a pass that somebody asks for. It is a deep one, as its head is the mark, and goes back at least to `since`, wherever an earlier pass has
 * been. With `since`, it tries at once whatever failed or was given up, and takes what was ignored.
 */
export function askedFor(state: PassState, since: Date | undefined): PassState {
  if (since === undefined) return { ...state, head: state.mark };
  const earlier = (text: string) => isoOf(Math.min(dateTimeMs(text), since.getTime()));
  return {
    ...state,
    since: earlier(state.since),
    mark: earlier(state.mark),
    head: earlier(state.mark),
    settledTo: earlier(state.settledTo),
    ignored: {},
    failures: {},
  };
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Identifies a webhook-id, or an event type, in little space. */
export function shortHash(text: string, length = 10): string {
  return hash("sha256", text, "base64url").slice(0, length);
}
