import { hash } from "node:crypto";
import { type StateStore, stateInEnvironment, WebhookError } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { EndpointErrorCode } from "../base/errors.ts";
import type { Reach } from "./depth.ts";
import { type EndpointGap, reportedGaps, type Sightings, withoutExpired } from "./endpoint-gaps.ts";

/**
 * The memory of reconciling an endpoint, in a `StateStore`. Times are in ms here, and date-times in the store. They are by the service's
 * clock, except for those of `passes`, `reported` and the sightings of the endpoint.
 */
export interface PassState extends Reach, Sightings {
  readonly source: string;
  /** Deliveries whose times are all older than this are never recovered. */
  readonly since: number;
  /**
   * The watermark. Everything that showed a time before the mark is settled, except events older than 24 hours whose handlers fail. A younger
   * event that is coming or failing holds the mark at its time of occurrence.
   */
  readonly mark: number;
  /** The time of the newest attempt that was listed. Later than the mark if something holds the mark back. */
  readonly head: number;
  /** The time up to which the events of a type were ignored, because no handler takes the type. The keys are short hashes of types. */
  readonly ignored: Readonly<Record<string, number>>;
  /** The short hashes of events whose handlers failed: a pass that is not full may leave these events out. */
  readonly failing: readonly string[];
  /** The time up to which an event or a gap is not reported again. The keys are made in alarms.ts. */
  readonly reported: Readonly<Record<string, number>>;
  /** The name of the last pass that completed; null before the first one. */
  readonly lastRun: string | null;
  /** The pass that is under way; null between passes. */
  readonly runner: Runner | null;
}

/** A pass that is under way, and how long its claim lasts without a heartbeat: by the clock of the process that waits. */
export interface Runner {
  readonly run: string;
  readonly leaseMs: number;
}

const time = z.codec(
  z.string().check(z.refine((text) => !Number.isNaN(dateTimeMs(text)), "expected a date-time")),
  z.number(),
  { decode: dateTimeMs, encode: isoOf },
);
const runner = z.object({ run: z.string(), leaseMs: z.number() });

const stateSchema = z.object({
  source: z.string(),
  since: time,
  mark: time,
  head: time,
  passes: z.object({ recent: time, watermark: time, full: time, quietUntil: time }),
  ignored: z.record(z.string(), time),
  failing: z.array(z.string()),
  reported: z.record(z.string(), time),
  seenAt: z.nullable(time),
  lacking: z.record(z.string(), time),
  gaps: z.array(z.object({ from: time, to: time, eventTypes: z.nullable(z.array(z.string())) })),
  lastRun: z.nullable(z.string()),
  runner: z.nullable(runner),
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

/** The state as the store keeps it. */
export function storedState(state: PassState): unknown {
  return z.encode(stateSchema, state as z.output<typeof stateSchema>);
}

/** Where a pass begins. */
export interface PassStart {
  readonly endpoint: string;
  readonly source: string;
  /** Accepts another source than that of the earlier passes. */
  readonly newSource: boolean;
  /** Where the first pass begins. */
  readonly firstPassFrom: Date | undefined;
  /** How far back the pass goes at least, wherever earlier passes have been. */
  readonly goBackTo: Date | undefined;
}

/** The state that a pass begins with. Throws `no_watermark` for a first pass without `firstPassFrom`, and `source_unknown`. */
export function startState(stored: PassState | undefined, start: PassStart, nowMs: number): PassState {
  const { endpoint, source, newSource, firstPassFrom, goBackTo } = start;
  if (stored?.source === source) return goBackTo === undefined ? stored : setBack(stored, goBackTo.getTime());
  if (stored !== undefined && !newSource) {
    throw new WebhookError<EndpointErrorCode>(
      "source_unknown",
      `The endpoint ${JSON.stringify(endpoint)} was reconciled with the source "${stored.source}": under "${source}", its events would run a second time.`,
      `Set { source: "${stored.source}" }, or { newSource: true } and { since } if its receiver has another source now.`,
      { option: "source", source, endpoint },
    );
  }
  if (firstPassFrom === undefined) {
    throw new WebhookError<EndpointErrorCode>(
      "no_watermark",
      `The endpoint ${JSON.stringify(endpoint)} was never reconciled with this state store, so it is not known where to begin.`,
      "Pass { since }, the time at which your receiver began to store events. Everything older is left out, and would run again otherwise.",
      { option: "since", endpoint },
    );
  }
  const sinceMs = firstPassFrom.getTime();
  return {
    source,
    since: sinceMs,
    mark: sinceMs,
    head: sinceMs,
    passes: { recent: sinceMs, watermark: nowMs, full: nowMs, quietUntil: nowMs }, // the first pass reads everything
    ignored: {},
    failing: [],
    reported: {},
    seenAt: stored?.seenAt ?? null, // the same endpoint, with any source
    lacking: stored?.lacking ?? {},
    gaps: stored?.gaps ?? [],
    lastRun: null,
    runner: null,
  };
}

/** The state for a pass that goes back to a time: the pass tries what failed and what was ignored. */
function setBack(state: PassState, toMs: number): PassState {
  const mark = Math.min(state.mark, toMs);
  return {
    ...state,
    since: Math.min(state.since, toMs),
    mark,
    head: mark,
    passes: { ...state.passes, recent: Math.min(settledToMs(state), toMs) },
    ignored: {},
    failing: [],
  };
}

/** The approximate time up to which the events of the endpoint are settled. Unlike the mark, it moves on when no events arrive. */
export function settledToMs({ mark, head, passes }: PassState): number {
  return mark < head ? mark : Math.max(mark, passes.recent);
}

/** How far `reconcile` has come with an endpoint. Times are the service's. */
export interface Watermark {
  /** The watermark, as docs/reconcile.md defines it. */
  readonly mark: Date;
  /** The approximate time up to which the events are settled. It moves on when no events arrive. */
  readonly settledTo: Date;
  /** The gaps, as in `ReconcileReport`. Null: no pass has looked at the endpoint yet. */
  readonly gaps: readonly EndpointGap[] | null;
}

/**
 * Reads the watermark, for checks. Resolves to undefined before the first pass. Rejects with `invalid_state`, and as the
 * store's `read` does.
 */
export async function readWatermark(
  state: Pick<StateStore, "read">,
  endpointReference: string,
): Promise<Watermark | undefined> {
  const name = stateName(endpointReference);
  const stored = await stateInEnvironment(state).read(name);
  if (stored === undefined) return undefined;
  const read = readPassState(name, stored.value);
  const current = { lacking: read.lacking, gaps: withoutExpired(read.gaps, Date.now()) };
  const gaps = reportedGaps(current, read.seenAt !== null);
  return { mark: new Date(read.mark), settledTo: new Date(settledToMs(read)), gaps };
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns a short hash that stands for a text in stored states: a webhook-id, an event type, a source or a reference. */
export function shortHash(text: string, length = 10): string {
  return hash("sha256", text, "base64url").slice(0, length);
}
