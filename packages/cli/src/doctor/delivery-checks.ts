import type { ApiClient, WebhookDelivery, WebhookEndpoint } from "@esim-webhooks/client";
import { ago, instant } from "@esim-webhooks/core/internal";
import { newestMs, readDeliveries, sentAtMs, servicePlanOf, type Watermark } from "@esim-webhooks/endpoint";
import { maskedText } from "../api/shown-record.ts";
import { gapText } from "../endpoint/reconcile-view.ts";
import { count, counted } from "../terminal/quantities.ts";
import { type Check, failed, passed, warned } from "./check.ts";

const recently = 100;
const mostFailing = 3;
const mostSkewMs = 60_000;

/**
 * Looks at the newest deliveries. Fails when most of those that were sent were not accepted, and warns when the last attempts of three
 * failed. Once the latest attempt succeeds, deliveries that the service gave up and `reconcile` has settled are left out.
 */
export function checkHealth(
  { deliveries }: NewestDeliveries,
  { url }: WebhookEndpoint,
  watermark: Watermark | undefined,
): Check {
  if (deliveries.length === 0) return passed("delivery", "none in the last 7 days");
  const recent = deliveries.slice(0, recently);
  const counts = { delivered: 0, coming: 0, missed: 0 };
  for (const delivery of recent) counts[servicePlanOf(delivery)] += 1;
  const parts = [
    `newest ${counted(recent.length, "delivery", "deliveries")}: ${count(counts.delivered)} delivered`,
    ...(counts.coming > 0 ? [`${count(counts.coming)} still to come`] : []),
    ...(counts.missed > 0 ? [`${count(counts.missed)} missed`] : []),
    lastAnswer(recent),
  ].join("; ");
  const isUp = isSuccess(bySentAt(recent)[0]?.httpStatus ?? null);
  const sent = recent.filter((delivery) => wasSent(delivery) && !(isUp && isSettled(delivery, watermark)));
  const unaccepted = sent.filter((delivery) => servicePlanOf(delivery) !== "delivered").length;
  const remedy = `See what the receiver at ${maskedText(url)} logs.`;
  if (unaccepted * 2 > sent.length) return failed("delivery", `${parts}. ${remedy}`);
  const newest = bySentAt(recent).slice(0, mostFailing);
  if (newest.length < mostFailing || newest.some(({ httpStatus }) => isSuccess(httpStatus)))
    return passed("delivery", parts);
  return warned("delivery", `${parts}; the last ${mostFailing} attempts failed. ${remedy}`);
}

/** Looks for deliveries that the service has given up and does not send again. Fails when `reconcile` has not settled one. */
export function checkMissed(
  { deliveries, isAll }: NewestDeliveries,
  watermark: Watermark | undefined,
): Check {
  const missed = deliveries.filter((delivery) => servicePlanOf(delivery) === "missed");
  const left = missed.filter((delivery) => !isSettled(delivery, watermark));
  const read = isAll ? "the last 7 days" : `the newest ${count(deliveries.length)} deliveries`;
  const rest = [
    ...(isAll ? [] : [`those before ${oldest(deliveries)} were not read`]),
    ...(missed.length > left.length ? [`reconcile has settled ${count(missed.length - left.length)}`] : []),
  ]
    .map((text) => `; ${text}`)
    .join("");
  if (left.length === 0) return passed("missed", `none of ${read}${rest}`);
  const ahead = left.filter((delivery) => newestMs(delivery) > Date.now() + mostSkewMs).length;
  const note =
    ahead === 0
      ? ""
      : ` The attempts of ${count(ahead)} are dated ahead of this machine's clock, as on a sandbox whose clock was advanced: doctor shows them as missed until that time, also after reconcile.`;
  return failed(
    "missed",
    `The service gave up ${counted(left.length, "delivery", "deliveries")} of ${read}${rest}. esim-webhooks reconcile brings the events in.${note}`,
  );
}

/** Looks for times in which the service may have sent nothing, so nothing is listed. Fails when `reconcile` has noted one that is not acknowledged. */
export function checkGaps(watermark: Watermark | undefined): Check {
  const gaps = watermark?.gaps ?? null;
  if (gaps === null)
    return passed("gaps", "not known: no pass of reconcile has noted whether the endpoint was active");
  if (gaps.length === 0) return passed("gaps", "none: passes of reconcile saw the endpoint active");
  return failed(
    "gaps",
    `The service may not have sent events ${gaps.map(gapText).join("; ")}. Ask support for a replay, then run esim-webhooks reconcile --acknowledge-gaps.`,
  );
}

/**
 * Checks whether the receiver has the key that the service signs with. Fails when the latest answer that is a 2xx or
 * a 401 is a 401.
 * @param keys the fingerprints of the configured keys
 */
export function checkKey(keys: readonly string[], { deliveries }: NewestDeliveries): Check {
  const configured = keys.join(", ");
  const [newest] = bySentAt(deliveries).filter(
    ({ httpStatus }) => httpStatus === 401 || isSuccess(httpStatus),
  );
  if (newest === undefined)
    return passed("key", `${configured}; no delivery shows yet whether the service signs with it`);
  if (newest.httpStatus !== 401)
    return passed(
      "key",
      `${configured} here; the receiver accepted a delivery ${when(newest)}, and only its log shows with which key`,
    );
  return failed(
    "key",
    `The receiver answered 401 ${when(newest)}: it does not have the key that the service signs with, or that key has ended (here: ${configured}). Give it the endpoint's signingSecret, without a notAfter; if that is lost, esim-webhooks rotate gets a new one.`,
  );
}

/** Whether the service has given the delivery up, and `reconcile` has seen that: no time of the delivery is after the watermark. */
function isSettled(delivery: WebhookDelivery, watermark: Watermark | undefined): boolean {
  const markMs = watermark?.mark.getTime() ?? Number.NEGATIVE_INFINITY;
  return servicePlanOf(delivery) === "missed" && newestMs(delivery) <= markMs;
}

function lastAnswer(deliveries: readonly WebhookDelivery[]): string {
  const [last] = bySentAt(deliveries);
  if (last === undefined) return "none was sent yet";
  const answer = last.httpStatus === null ? "no answer" : `answer ${last.httpStatus}`;
  return `the last attempt, ${when(last)}, got ${answer}`;
}

function oldest(deliveries: readonly WebhookDelivery[]): string {
  return instant(new Date(deliveries.reduce((least, one) => Math.min(least, newestMs(one)), Infinity)));
}

function when(delivery: WebhookDelivery): string {
  return ago(new Date(sentAtMs(delivery)), Date.now());
}

/** The deliveries that were sent, by their latest attempt, newest first: the service may list them by their creation. */
function bySentAt(deliveries: readonly WebhookDelivery[]): readonly WebhookDelivery[] {
  return deliveries.filter(wasSent).sort((one, other) => sentAtMs(other) - sentAtMs(one));
}

function wasSent(delivery: WebhookDelivery): boolean {
  return !Number.isNaN(sentAtMs(delivery));
}

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** The newest deliveries of an endpoint. */
export interface NewestDeliveries {
  /** As listed: newest first. */
  readonly deliveries: readonly WebhookDelivery[];
  /** Whether these are all deliveries of the last 7 days. */
  readonly isAll: boolean;
}

/** The rate limit allows this many calls in 2 s. A busy endpoint has more deliveries in 7 days than anybody would wait for. */
const mostPages = 20;

export async function newestDeliveries(api: ApiClient, reference: string): Promise<NewestDeliveries> {
  const byId = new Map<string | WebhookDelivery, WebhookDelivery>(); // two pages can show the same delivery
  let pages = 0;
  for await (const { deliveries, end } of readDeliveries(api, reference)) {
    for (const delivery of deliveries) byId.set(delivery.eventId ?? delivery, delivery);
    pages += 1;
    if (pages === mostPages && end === undefined) return { deliveries: [...byId.values()], isAll: false };
  }
  return { deliveries: [...byId.values()], isAll: true };
}
