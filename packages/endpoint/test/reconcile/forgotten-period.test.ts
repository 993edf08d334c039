import { expect, it } from "vitest";
import { findForgottenPeriod, type WholeListing } from "../../src/reconcile/forgotten-period.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const now = 100 * day;
/** Events were settled nine days ago, and the listing goes back seven. */
const listing: WholeListing = {
  ...{ since: undefined, nowMs: now, newestMs: now, oldestMs: now - 7 * day },
  ...{ fromMs: now - 9 * day, createdMs: Number.NaN },
};
const since = (ms: number) => ({ since: new Date(ms), fromMs: ms });

it.each<[string, Partial<WholeListing>, readonly [number, number] | null]>([
  ["from what was settled to 7 days ago", {}, [now - 9 * day, now - 7 * day]],
  [
    "also if nothing is listed",
    { newestMs: Number.NaN, oldestMs: Number.POSITIVE_INFINITY },
    [now - 9 * day, now - 7 * day],
  ],
  ["if the newest attempt is old", { newestMs: now - day }, [now - 9 * day, now - 7 * day]],
  ["up to what is listed", { oldestMs: now - 8 * day }, [now - 9 * day, now - 8 * day]],
  ["not if all was settled", { fromMs: now - 7 * day }, null],
  ["of a millisecond", { fromMs: now - 7 * day - 1 }, [now - 7 * day - 1, now - 7 * day]],
  ["not if since is ten minutes too early", since(now - 7 * day - 10 * minute), null],
  [
    "if since is earlier than that",
    since(now - 7 * day - 10 * minute - 1),
    [now - 7 * day - 10 * minute - 1, now - 7 * day],
  ],
  [
    "if what was settled is ten minutes too early, with any since",
    { since: new Date(0), fromMs: now - 7 * day - minute },
    [now - 7 * day - minute, now - 7 * day],
  ],
  [
    "by the service's clock, if that is up to 30 days ahead",
    { newestMs: now + 30 * day, oldestMs: now + 29 * day },
    [now - 9 * day, now + 23 * day],
  ],
  [
    "by our clock, if the service's is further ahead",
    { newestMs: now + 30 * day + 1, oldestMs: now + 29 * day },
    [now - 9 * day, now - 7 * day],
  ],
  ["from the creation of the endpoint", { createdMs: now - 8 * day }, [now - 8 * day, now - 7 * day]],
  ["not if the endpoint is no older than the listing", { createdMs: now - 7 * day }, null],
  ["if the endpoint is older than that", { createdMs: now - 20 * day }, [now - 9 * day, now - 7 * day]],
])("a period was forgotten %s", (_, known, period) => {
  const [from, to] = period ?? [];
  expect(findForgottenPeriod({ ...listing, ...known })).toEqual(
    period && { from: new Date(from as number).toISOString(), to: new Date(to as number).toISOString() },
  );
});
