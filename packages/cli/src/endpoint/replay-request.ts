import { instant } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import {
  type RequestedEvent,
  requestSupportReplay,
  type SupportReplayRequest,
} from "@esim-webhooks/endpoint";
import { withApiToWrite } from "../api/open-client.ts";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { openState } from "../set-up/open-target.ts";
import { spanOf } from "../terminal/period.ts";
import { count } from "../terminal/quantities.ts";
import { theEndpoint } from "./find-endpoint.ts";
import type { ReplayRequestFlags } from "./flags.ts";

/** Prints a request to support to send events again, and stores it. Ends with 3 unless it is empty. */
export async function replayRequest(this: CliContext, flags: ReplayRequestFlags): Promise<void> {
  const { output, process, now } = this;
  await withApiToWrite(this, flags, async (api, setUp) => {
    const { webhookEndpointReference: reference } = await theEndpoint(api, flags.endpoint);
    const { state, close } = await openState(setUp);
    try {
      const { source = setUp.source } = flags;
      const request = await requestSupportReplay(api, reference, { state, source, clock: { now } });
      const { exhausted, acknowledgedAndLost, periods } = request;
      const isEmpty = exhausted.length + acknowledgedAndLost.length + (periods?.length ?? 0) === 0;
      if (!isEmpty) process.exitCode = exitCodes.problem;
      if (flags.json) output.json(request);
      else if (!isEmpty) for (const line of requestText(request)) output.data(line);
      if (isEmpty) output.note("There is nothing to ask support for.");
      else output.note(next);
      if (periods === null) output.note(notLooked);
    } finally {
      await close();
    }
  });
}

const next =
  "Send it to support, within 7 days of the events. Run esim-webhooks reconcile first: it recovers what the service still lists. The next reconcile or import says which of them have arrived.";

const notLooked =
  "No pass of reconcile has noted whether the endpoint was active, so the periods in which it was not are missing: run esim-webhooks reconcile --every 5m.";

const mostShown = 20;

/** The request as a text for people of support. */
export function requestText(request: SupportReplayRequest): string[] {
  const { endpoint, requestedAt, exhausted, acknowledgedAndLost, periods, more } = request;
  return [
    `Request for a replay to the webhook endpoint ${printable(endpoint)}, ${instant(new Date(requestedAt))}`,
    ...section(
      "Please send again all events of these times. The endpoint was inactive, or not subscribed to the types:",
      (periods ?? []).map(
        (period) => `${spanOf(period)}: ${period.eventTypes?.join(", ") ?? "all event types"}`,
      ),
    ),
    ...section(
      "Please send again these deliveries, which have failed for good:",
      eventLines(exhausted, more),
    ),
    ...section(
      "These deliveries were acknowledged, but not by our receiver, or it has lost them. We have them from the listing:",
      eventLines(acknowledgedAndLost, 0),
    ),
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${printable(line)}`)];
}

function eventLines(events: readonly RequestedEvent[], unlisted: number): string[] {
  const shown = events.slice(0, mostShown);
  const more = events.length - shown.length + unlisted;
  return [
    ...shown.map(({ id, type, occurredAt }) => `${id}  ${type ?? "no type"}  ${occurredAt ?? "no time"}`),
    ...(more > 0 ? [`and ${count(more)} more: --json lists up to 2,000`] : []),
  ];
}
