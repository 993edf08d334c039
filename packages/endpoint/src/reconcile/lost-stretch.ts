import type { ApiClient } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { endpointIn, listEndpoints } from "../base/list-endpoints.ts";
import { isoOf } from "./pass-state.ts";
import type { Stretch } from "./reconcile-report.ts";

/**
 * A `since` of 7 days ago is as far back as the listing goes: the command took some time to start, and waited for its turn at the
 * rate limit; and two clocks differ.
 */
const slackMs = 10 * 60_000;

export interface LostParts {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly endpoint: string;
  readonly since: Date | undefined;
  readonly signal: AbortSignal;
  /** Until when the events were settled before the pass. */
  readonly fromMs: number;
  /** How far back the listing goes. */
  readonly toMs: number;
}

/** The time that the listing has forgotten, but for the time before the endpoint was created; null if there is none. */
export async function lostStretch(parts: LostParts): Promise<Stretch | null> {
  const { since, fromMs, toMs } = parts;
  const isAskedFor = fromMs === since?.getTime();
  if (toMs - fromMs <= (isAskedFor ? slackMs : 0)) return null;
  const createdMs = await createdAtMs(parts);
  if (createdMs >= toMs) return null;
  return { from: isoOf(createdMs > fromMs ? createdMs : fromMs), to: isoOf(toMs) };
}

/** NaN if it cannot be had: an alarm for too long a time is better than none. */
async function createdAtMs({ api, endpoint, signal }: LostParts): Promise<number> {
  const all = await listEndpoints(api, signal).catch(() => []);
  return dateTimeMs(endpointIn(all, endpoint)?.createdAt);
}
