import type { WebhookDelivery } from "@esim-webhooks/client";
import { type StateStore, stateInEnvironment } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { listedMs, occurredAtMs, sentAtMs, servicePlanOf } from "../base/deliveries.ts";
import { shortHash } from "./pass-state.ts";

/** The arrivals of the events that `requestSupportReplay` listed, for 7 days after the request. Plain JSON. */
export interface SupportReplayArrivals {
  /** When the request was made. */
  readonly requestedAt: string;
  /** The `exhausted` events of the request. */
  readonly ids: {
    /** How many of them the request names. */
    readonly requested: number;
    /** How many of them the target has by now. */
    readonly arrived: number;
  };
  /** The periods of the request, with the number of their events that have arrived since; 400 means at least 400. */
  readonly periods: readonly RequestedPeriod[];
  /** The ids of the first 20 events that this pass or import has found. */
  readonly foundIds: readonly string[];
}

/** A period of a request, and how many of its events have arrived. */
export interface RequestedPeriod {
  /** Its beginning. */
  readonly from: string;
  /** Its end. */
  readonly to: string;
  /** The event types that are missing. Null: all of them. */
  readonly eventTypes: readonly string[] | null;
  /** How many events of the period have arrived since the request. */
  readonly arrived: number;
}

/** An event that a pass or an import has given to the target, and what became of it, as their ledgers count it. */
export interface GivenEvent {
  /** The webhook-id. */
  readonly id: string;
  /** The event type, if it is known. */
  readonly type: string | null;
  /** When it occurred, in ms since the Unix epoch; NaN if that is not known. */
  readonly occurredMs: number;
  /** Such as `stored`. */
  readonly fate: string;
}

/** Looks for the events of a request among those of a pass or an import. */
export interface SupportReplayWatch {
  /** Looks at a page of the listing, which shows what a receiver got from the replay. */
  listed(deliveries: readonly WebhookDelivery[]): void;
  /** Looks at events that the target has been given. */
  settled(events: readonly GivenEvent[]): void;
  /** Returns what has arrived until now. Null: there was no request in the last 7 days. */
  arrivals(): SupportReplayArrivals | null;
  /** Remembers what has arrived. */
  keep(): Promise<void>;
}

/** More ids or events do not fit into a state, whose value has at most 64 KiB. */
export const mostRequested = 2000;
const mostArrived = 400;

/** How many ids `foundIds` has at most. */
const mostFound = 20;

const hashes = z.array(z.string());
const schema = z.object({
  requestedAt: z.string(),
  requested: z.number(),
  /** The `exhausted` events that have not arrived yet: hashes of their ids. */
  missing: hashes,
  periods: z.array(
    z.object({
      from: z.string(),
      to: z.string(),
      eventTypes: z.nullable(z.array(z.string())),
      arrived: hashes,
    }),
  ),
});

export interface NewRequest {
  readonly requestedAt: string;
  readonly ids: readonly string[];
  readonly periods: readonly Omit<RequestedPeriod, "arrived">[];
}

const nameOf = (source: string) => `replay-request-${shortHash(source, 32)}`;
const hashOf = (id: string) => shortHash(id, 8);

/** Remembers a request in place of the last one of this source. */
export async function keepRequest(
  state: Pick<StateStore, "read" | "write">,
  source: string,
  { requestedAt, ids, periods }: NewRequest,
): Promise<void> {
  const missing = ids.map(hashOf);
  const value = {
    requestedAt,
    requested: ids.length,
    missing,
    periods: periods.map((period) => ({ ...period, arrived: [] })),
  };
  for (let isKept = false; !isKept; ) {
    const before = await state.read(nameOf(source));
    isKept = await state.write(nameOf(source), value, before?.version); // false: another process wrote meanwhile
  }
}

/**
 * Watches for the events of the last request of a source. Without one, and 7 days after it, there is nothing to find.
 * Rejects as the store's `read` does.
 * @param stateStore the store that has the request
 * @param source the source of the request
 * @param nowMs the time, in ms since the Unix epoch
 */
export async function watchSupportReplay(
  stateStore: Pick<StateStore, "read" | "write">,
  source: string,
  nowMs: number = Date.now(),
): Promise<SupportReplayWatch> {
  const state = stateInEnvironment(stateStore);
  const stored = await state.read(nameOf(source));
  const { data: request } = schema.safeParse(stored?.value);
  const requestedMs = dateTimeMs(request?.requestedAt);
  if (request === undefined || !(requestedMs > nowMs - listedMs)) return nothingRequested;
  const missing = new Set(request.missing);
  const periods = request.periods.map((period) => ({
    ...period,
    fromMs: dateTimeMs(period.from),
    toMs: dateTimeMs(period.to),
    arrived: new Set(period.arrived),
  }));
  const foundIds: string[] = [];
  let isChanged = false;

  function found(id: string): void {
    isChanged = true;
    if (foundIds.length < mostFound && foundIds.at(-1) !== id) foundIds.push(id);
  }

  function lookInPeriods(id: string, type: string | null, occurredMs: number): void {
    for (const { fromMs, toMs, eventTypes, arrived } of periods) {
      if (!(occurredMs >= fromMs && occurredMs <= toMs) || arrived.size >= mostArrived) continue;
      if (eventTypes !== null && !eventTypes.includes(type ?? "")) continue;
      if (arrived.size < arrived.add(hashOf(id)).size) found(id);
    }
  }

  return {
    listed(deliveries) {
      for (const delivery of deliveries) {
        const { eventId, eventType } = delivery;
        const wasSent = servicePlanOf(delivery) === "delivered" && sentAtMs(delivery) > requestedMs;
        if (eventId !== null && wasSent) lookInPeriods(eventId, eventType, occurredAtMs(delivery));
      }
    },
    settled(events) {
      for (const { id, type, occurredMs, fate } of events) {
        if (fate === "stored") lookInPeriods(id, type, occurredMs);
        const isThere = fate === "stored" || fate === "duplicate" || fate === "conflict";
        if (isThere && missing.delete(hashOf(id))) found(id);
      }
    },
    arrivals: () => ({
      requestedAt: request.requestedAt,
      ids: { requested: request.requested, arrived: request.requested - missing.size },
      periods: periods.map(({ from, to, eventTypes, arrived }) => ({
        ...{ from, to, eventTypes },
        arrived: arrived.size,
      })),
      foundIds,
    }),
    async keep() {
      if (!isChanged) return;
      const arrived = periods.map(({ from, to, eventTypes, arrived }) => ({
        ...{ from, to, eventTypes },
        arrived: [...arrived],
      }));
      // false: another process has just written; the next pass may find these events again in its listing
      await state.write(
        nameOf(source),
        { ...request, missing: [...missing], periods: arrived },
        stored?.version,
      );
    },
  };
}

const nothingRequested: SupportReplayWatch = {
  listed() {},
  settled() {},
  arrivals: () => null,
  keep: async () => {},
};
