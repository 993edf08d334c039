import { instant } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import type { SupportReplayArrivals, SupportReplayWatch } from "@esim-webhooks/endpoint";
import { spanOf } from "../terminal/period.ts";
import { count, counted } from "../terminal/quantities.ts";
import { existingState } from "./open-target.ts";
import type { SetUp } from "./set-up.ts";

/** A watch of an import for the events that the last replay request asked for. */
export interface ImportWatch extends Pick<SupportReplayWatch, "settled"> {
  /** Remembers what has arrived. Resolves to lines that say it; none if no event of the import was requested. */
  end(): Promise<string[]>;
  close(): Promise<void>;
}

/** Watches an import for the events of the last replay request. Undefined if there is none, or it cannot be read. */
export async function watchImport(
  setUp: SetUp,
  source: string = setUp.source,
): Promise<ImportWatch | undefined> {
  const open = await existingState(setUp);
  if (open === undefined) return undefined;
  const { watchSupportReplay } = await import("@esim-webhooks/endpoint");
  const watch = await watchSupportReplay(open.state, source).catch(() => undefined); // an import does not need it
  if (watch === undefined || watch.arrivals() === null) {
    await open.close();
    return undefined;
  }
  return {
    settled: watch.settled,
    async end() {
      await watch.keep();
      const arrived = watch.arrivals();
      return arrived === null || arrived.foundIds.length === 0 ? [] : arrivalLines(arrived);
    },
    close: open.close,
  };
}

/** Returns an empty line, then lines that show the arrivals of a replay request. Without a request, returns no lines. */
export function arrivalLines(replay: SupportReplayArrivals | null): string[] {
  if (replay === null) return [];
  const { requestedAt, ids, periods, foundIds } = replay;
  const named = ids.requested > 0 ? [`  ${count(ids.arrived)} of ${counted(ids.requested, "event")}`] : [];
  return [
    "",
    `Of the replay request of ${instant(new Date(requestedAt))}, there have arrived:`,
    ...named,
    ...periods.map((period) => {
      const of = period.eventTypes === null ? "" : ` of ${period.eventTypes.map(printable).join(", ")}`;
      return `  ${counted(period.arrived, "event")}${of} ${spanOf(period)}`;
    }),
    ...(foundIds.length > 0 ? [`Found now: ${foundIds.map(printable).join(", ")}`] : []),
  ];
}
