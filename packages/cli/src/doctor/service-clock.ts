import type { ClientOptions } from "@esim-webhooks/client";
import { type Check, failed, passed } from "./check.ts";

type Fetch = NonNullable<ClientOptions["fetch"]>;

/** How far the service's clock is ahead of ours: between these two, in ms. */
interface Offset {
  readonly least: number;
  readonly most: number;
}

/** Reads the `Date` headers of the answers that a client gets: the client does not show them. */
export interface ServiceClock {
  /** Sends requests for the client. */
  readonly fetch: Fetch;
  check(): Check;
}

/** A tenth of the receivers' default tolerance. Clocks that are synchronised are never that far apart. */
const mostSkewMs = 30_000;

export function watchServiceClock(send: Fetch): ServiceClock {
  const offsets: Offset[] = [];
  return {
    async fetch(url, init) {
      const sentAt = Date.now();
      const response = await send(url, init);
      const date = Date.parse(response.headers.get("date") ?? "");
      // the header has whole seconds
      if (!Number.isNaN(date)) offsets.push({ least: date - Date.now(), most: date + 1000 - sentAt });
      return response;
    },
    check: () => checkOffset(offsets),
  };
}

function checkOffset(offsets: readonly Offset[]): Check {
  if (offsets.length === 0) return passed("api-clock", "not checked: the service's answers have no Date");
  const least = Math.max(...offsets.map((offset) => offset.least));
  const most = Math.min(...offsets.map((offset) => offset.most));
  const skewMs = Math.max(least, -most, 0); // as far as the answers prove it
  if (skewMs === 0) return passed("api-clock", "agrees with the service's clock");
  const seconds = (skewMs / 1000).toFixed(1);
  if (skewMs <= mostSkewMs) return passed("api-clock", `${seconds} s from the service's clock`);
  return failed(
    "api-clock",
    `The service's clock is ${seconds} s ${least > 0 ? "ahead of" : "behind"} this machine's. Receivers refuse deliveries whose time is off by more than toleranceSeconds (300 by default). Synchronise this clock with NTP.`,
  );
}
