import type { WebhookEndpoint } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import { listedMs } from "../base/deliveries.ts";

/**
 * A period in which the service may not have sent events, because the endpoint was inactive or not subscribed to their type (spec
 * 2.4). No listing shows such events: only support can replay them, for 7 days. Plain JSON.
 */
export interface EndpointGap {
  /**
   * The time of the last pass that found the endpoint active and subscribed. Without one: its creation or `since`, the later of the two.
   * The gap began after this time.
   */
  readonly from: string;
  /** The time of the first pass that found it active and subscribed again. Null: it is still inactive. */
  readonly to: string | null;
  /** The event types that it may have missed. Null: all of them. */
  readonly eventTypes: readonly string[] | null;
}

/** A gap that has ended, in ms by our own clock. */
export interface ClosedGap {
  readonly from: number;
  readonly to: number;
  readonly eventTypes: readonly string[] | null;
}

/** The notes of passes about the endpoint itself. Times in ms, by our own clock. */
export interface Sightings {
  /** When a pass last saw the endpoint; null before that. */
  readonly seenAt: number | null;
  /** The event types that the endpoint lacked then, and `*` if it was inactive, each with the time when the endpoint last had it. */
  readonly lacking: Readonly<Record<string, number>>;
  /** The gaps that ended in the last 7 days and are not acknowledged, oldest first. */
  readonly gaps: readonly ClosedGap[];
}

/** The endpoint as a pass sees it. */
export interface Look {
  readonly endpoint: Pick<WebhookEndpoint, "active" | "eventTypes" | "createdAt">;
  /** The event types that it must have. Undefined: not known, so only those that it lacked before are looked at. */
  readonly eventTypes: readonly string[] | undefined;
  /** The beginning of reconciling. */
  readonly since: number;
  /** The times before and after the call that showed the endpoint. */
  readonly calledAt: number;
  readonly answeredAt: number;
}

const everything = "*";

/** A state has few gaps and types, because its value has at most 64 KiB. If there are more gaps, the oldest two become one that includes both. */
const mostGaps = 5;
const mostTypes = 20;

/** The sightings after a look. Anything that the endpoint has again ends a gap. */
export function afterLook({ seenAt, lacking, gaps }: Sightings, look: Look): Sightings {
  const { endpoint, since, calledAt, answeredAt } = look;
  const before = new Map(Object.entries(lacking));
  const has = (name: string) => (name === everything ? endpoint.active : endpoint.eventTypes.includes(name));
  const wanted = look.eventTypes ?? [...before.keys()];
  const exact = wanted.filter((type) => !type.endsWith(everything));
  const lacks = [everything, ...exact].filter((name) => !has(name)).slice(0, mostTypes);
  const firstFrom = seenAt ?? Math.max(since, dateTimeMs(endpoint.createdAt) || since);
  const ended = Map.groupBy(
    [...before].filter(([name]) => has(name)),
    ([name, from]) => `${from} ${name === everything}`,
  );
  const closed = [...ended.values()].map((entries): ClosedGap => {
    const names = entries.map(([name]) => name);
    const [[, from]] = entries as [[string, number]];
    return { from, to: answeredAt, eventTypes: names.includes(everything) ? null : names };
  });
  return {
    seenAt: calledAt,
    lacking: Object.fromEntries(lacks.map((name) => [name, before.get(name) ?? firstFrom])),
    gaps: atMost([...gaps, ...closed]),
  };
}

/** The gaps, without those whose events support can no longer replay. */
export function withoutExpired(gaps: readonly ClosedGap[], nowMs: number): readonly ClosedGap[] {
  return gaps.filter(({ to }) => to > nowMs - listedMs);
}

/**
 * The gaps as a report has them, without event types that are still lacking. Null: none is known, since no earlier pass has seen the endpoint.
 * @param wasSeen whether an earlier pass has seen the endpoint
 */
export function reportedGaps(
  { lacking, gaps }: Pick<Sightings, "lacking" | "gaps">,
  wasSeen: boolean,
): readonly EndpointGap[] | null {
  const iso = (ms: number) => new Date(ms).toISOString();
  const inactiveFrom = lacking[everything];
  const known = [
    ...gaps.map(({ from, to, eventTypes }) => ({ from: iso(from), to: iso(to), eventTypes })),
    ...(inactiveFrom === undefined ? [] : [{ from: iso(inactiveFrom), to: null, eventTypes: null }]),
  ];
  return wasSeen || known.length > 0 ? known : null;
}

function atMost(gaps: readonly ClosedGap[]): readonly ClosedGap[] {
  const [first, second, ...others] = gaps;
  if (gaps.length <= mostGaps || first === undefined || second === undefined) return gaps;
  const types = first.eventTypes &&
    second.eventTypes && [...new Set([...first.eventTypes, ...second.eventTypes])];
  const both = {
    from: Math.min(first.from, second.from),
    to: Math.max(first.to, second.to),
    eventTypes: types && types.length <= mostTypes ? types : null,
  };
  return atMost([both, ...others]);
}
