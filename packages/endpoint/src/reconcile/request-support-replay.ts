import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import { type Clock, type StateStore, stateInEnvironment } from "@esim-webhooks/core";
import { parseOptions, withMethods } from "@esim-webhooks/core/engine";
import { checkArguments, dateTimeMs, ownSourceOption, processorShape } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { listedMs, newestMs, occurredAtMs, readDeliveries, servicePlanOf } from "../base/deliveries.ts";
import { environmentOf } from "../base/environment-of.ts";
import { checkClient } from "../base/options.ts";
import { wasReportedLost } from "./alarms.ts";
import { type EndpointGap, reportedGaps, withoutExpired } from "./endpoint-gaps.ts";
import { isoOf, type PassState, readPassState, stateName } from "./pass-state.ts";
import { keepRequest, mostRequested } from "./support-replay-watch.ts";

/** An event that the request names, without its data. Plain JSON. */
export interface RequestedEvent {
  /** The webhook-id. */
  readonly id: string;
  /** The event type; null if the listing does not have it. */
  readonly type: string | null;
  /** When the event occurred; null without a valid timestamp. */
  readonly occurredAt: string | null;
  /** The time of its last attempt; null before the first. */
  readonly sentAt: string | null;
}

/** The events of the last 7 days that support is asked to send again, without personal data. Plain JSON. */
export interface SupportReplayRequest {
  /** The reference of the endpoint. */
  readonly endpoint: string;
  /** The source of its events. */
  readonly source: string;
  /** When the request was collected. */
  readonly requestedAt: string;
  /** Deliveries that the service has given up, and that are not known to be settled: they are newer than the watermark. */
  readonly exhausted: readonly RequestedEvent[];
  /** Deliveries that passes have found acknowledged and lost, and recovered from the listing. */
  readonly acknowledgedAndLost: readonly RequestedEvent[];
  /**
   * The periods that passes have noted, in which the endpoint was inactive or not subscribed, and that are not acknowledged. Their `to` is
   * the time of the request if they have not ended. Null: no pass has looked at the endpoint.
   */
  readonly periods: readonly (EndpointGap & { readonly to: string })[] | null;
  /** How many further deliveries there are: a request names at most 2,000. */
  readonly more: number;
}

/** Options of `requestSupportReplay`. */
export interface SupportReplayRequestOptions {
  /** The state store of `reconcile`, which has the notes of its passes, and remembers the request. */
  readonly state: StateStore;
  /** The name of the endpoint, as for `reconcile`. Default: that of receivers. */
  readonly source?: string | undefined;
  /** Gives up when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** The clock, for tests. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

const shape = {
  state: withMethods<StateStore>("ready", "read", "write"),
  source: ownSourceOption,
  signal: z.optional(z.instanceof(AbortSignal)),
  clock: processorShape.clock,
};

/**
 * Collects the events of an endpoint that only support can send again: from the listing of the last 7 days, and from the notes of
 * passes. Remembers `exhausted` and `periods`, so that later passes and imports say what has arrived (`ReconcileReport.supportReplay`). Run
 * `reconcile` first: it recovers from the listing what needs no support.
 *
 * Rejects with an `ApiError` of the listing, with `invalid_state`, and as the store does.
 */
export async function requestSupportReplay(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  options: SupportReplayRequestOptions,
): Promise<SupportReplayRequest> {
  checkArguments(
    "requestSupportReplay",
    { client: [api], endpoint: [endpointReference], options: [options] },
    "Pass a client, the reference of an endpoint, then options: requestSupportReplay(api, reference, { state }).",
  );
  checkClient("requestSupportReplay", api, "webhooks");
  const { source, signal, clock, ...given } = parseOptions("requestSupportReplay", shape, options);
  const state = stateInEnvironment(given.state, environmentOf(api));
  const nowMs = clock.now();
  const name = stateName(endpointReference);
  const stored = await state.read(name);
  const notes = stored && readPassState(name, stored.value);
  const found = { exhausted: [] as RequestedEvent[], acknowledgedAndLost: [] as RequestedEvent[] };
  const ids = new Set<string>(); // two pages can show the same delivery
  let more = 0;
  for await (const { deliveries } of readDeliveries(api, endpointReference, { signal })) {
    for (const delivery of deliveries) {
      const kind = kindOf(delivery, notes);
      const { eventId: id } = delivery;
      if (kind === undefined || id === null || ids.has(id)) continue;
      if (ids.size === mostRequested) more += 1;
      else {
        ids.add(id);
        found[kind].push(shown(id, delivery));
      }
    }
  }
  const requestedAt = isoOf(nowMs);
  const periods = notes ? periodsOf(notes, nowMs) : null;
  const { exhausted, acknowledgedAndLost } = found;
  await keepRequest(state, source, {
    requestedAt,
    ids: exhausted.map(({ id }) => id),
    periods: periods ?? [],
  });
  return { endpoint: endpointReference, source, requestedAt, exhausted, acknowledgedAndLost, periods, more };
}

/** Why the request names the delivery; undefined if it does not. */
function kindOf(
  delivery: WebhookDelivery,
  notes: PassState | undefined,
): "exhausted" | "acknowledgedAndLost" | undefined {
  switch (servicePlanOf(delivery)) {
    case "missed":
      return notes !== undefined && newestMs(delivery) <= notes.mark ? undefined : "exhausted";
    case "delivered":
      return notes && wasReportedLost(notes.reported, delivery.eventId ?? "")
        ? "acknowledgedAndLost"
        : undefined;
    case "coming":
      return undefined;
  }
}

function shown(id: string, delivery: WebhookDelivery): RequestedEvent {
  const occurredMs = occurredAtMs(delivery);
  return {
    id,
    type: delivery.eventType,
    occurredAt: Number.isNaN(occurredMs) ? null : isoOf(occurredMs),
    sentAt: delivery.sentAt,
  };
}

/** The gaps, as far as the service keeps their events. */
function periodsOf({ lacking, gaps, seenAt }: PassState, nowMs: number): SupportReplayRequest["periods"] {
  const known = reportedGaps({ lacking, gaps: withoutExpired(gaps, nowMs) }, seenAt !== null);
  return (
    known?.map(({ from, to, eventTypes }) => ({
      from: isoOf(Math.max(dateTimeMs(from), nowMs - listedMs)),
      to: to ?? isoOf(nowMs),
      eventTypes,
    })) ?? null
  );
}
