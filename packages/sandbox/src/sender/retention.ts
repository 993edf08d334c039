import type { Service } from "../base/service.ts";
import { retentionMs } from "../webhook/deliveries.ts";

const sliceSize = 200;

/** How many of the newest events, and of the newest deliveries, are kept. Beyond them the 7 days are cut short: memory has an end. */
export const keptRows = 1_000_000;

/** Forgets a few of the events and deliveries that are older than 7 days or beyond the bound. Returns whether there may be more. */
export function forgetSlice({ db, clock }: Service, kept: number = keptRows): boolean {
  const forgotten =
    db.run(
      `delete from events where sequence in
         (select sequence from events where createdAt < ? order by createdAt limit ${sliceSize})`,
      clock.now() - retentionMs,
    ) +
    db.run(
      `delete from events where sequence in (select sequence from events
         where sequence <= (select max(sequence) from events) - ? order by sequence limit ${sliceSize})`,
      kept,
    ) +
    db.run(
      `delete from events where sequence in (select eventSequence from deliveries
         where sequence <= (select max(sequence) from deliveries) - ? order by sequence limit ${sliceSize})`,
      kept,
    );
  return forgotten > 0;
}
