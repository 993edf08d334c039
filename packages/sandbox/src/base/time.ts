import * as z from "zod";

/** A time: RFC 3339 text with its offset, such as "2026-12-31T12:00:00Z", or ms since the Unix epoch. */
export type Time = string | number;

const endOfYear9999 = Date.UTC(10_000, 0) - 1;
const expected = 'expected a time such as "2026-12-31T12:00:00Z", or ms since the Unix epoch';

/** Lets pass what RFC 3339 can say. */
export const timeSchema: z.ZodType<Time> = z.union(
  [
    z.iso.datetime({ offset: true, error: expected }),
    z.number().min(0, expected).max(endOfYear9999, expected),
  ],
  expected,
);

/** In ms since the Unix epoch: a time that `timeSchema` has let pass. */
export function timeMs(time: Time): number {
  return typeof time === "string" ? Date.parse(time) : time;
}
