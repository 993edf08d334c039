import type { WebhookDelivery } from "@esim-webhooks/client";
import type { StateStore } from "@esim-webhooks/core";
import { type ReconcileMessage, type ReconcileReport, reconcile } from "@esim-webhooks/endpoint";
import fc from "fast-check";
import { expect, it } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";
import { onePass } from "./one-pass.ts";

const minute = 60_000;
const hour = 60 * minute;
const startMs = Date.parse("2026-11-20T00:00:00Z");

/** How an event fares, in ms after the service made its delivery: it is listed, attempted, and then comes to its end. */
const fare = fc.record({
  madeMs: fc.nat({ max: 24 * hour }).map((ms) => startMs + ms),
  // an event of long ago that waits for its first attempt. Most of what is coming holds the mark, and so hides mistakes: this does not
  isBackfilled: fc.nat({ max: 4 }).map((number) => number === 0),
  // how far its timestamp is from that: it reached the service late, or its device has a wrong clock
  timestampOffMs: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -23 * hour, max: 20 * hour }) },
  ),
  listedAfterMs: fc.nat({ max: 20 * minute }),
  endsAfterPart: fc.nat({ max: 1000 }).map((part) => part / 1000),
  end: fc.constantFrom("stored", "stored", "forgotten", "exhausted", "refused"),
  odd: fc.option(
    fc.constantFrom("no id", "no status", "no payload", "no time", "unknown status", "other type"),
    { freq: 8 },
  ),
});
type Fare = (typeof fare extends fc.Arbitrary<infer T> ? T : never) & {
  readonly id: string;
  readonly endsAfterMs: number;
};

const world = fc.record({
  fares: fc.array(fare, { minLength: 20, maxLength: 80 }),
  orderedBy: fc.constantFrom("created", "sent", "occurred"),
  // what is coming holds the mark: where that takes long, the overlap is in effect hours, and hides mistakes
  longestMs: fc.constantFrom(5 * minute, 2 * hour, 16 * hour),
  cursor: fc.constantFrom("live", "snapshot"),
  longestPage: fc.integer({ min: 1, max: 5 }),
  betweenPagesMs: fc.nat({ max: minute }),
  betweenPassesMs: fc.array(
    fc.oneof(fc.integer({ min: minute, max: hour }), fc.integer({ min: minute, max: 20 * hour })),
    { minLength: 1, maxLength: 12 },
  ),
});

const listedMs = ({ madeMs, listedAfterMs }: Fare) => madeMs + listedAfterMs;
const endOf = (event: Fare) => listedMs(event) + event.endsAfterMs;
const occurredMs = ({ madeMs, timestampOffMs, isBackfilled, odd }: Fare) => {
  if (isBackfilled) return madeMs - 30 * hour;
  const isKnown = odd !== "no time" && odd !== "no payload"; // the service cannot order by a time that it does not have
  return isKnown ? madeMs + timestampOffMs : madeMs;
};
/** Its first attempt; the second one is its last. */
const firstSentMs = (event: Fare) =>
  event.isBackfilled ? endOf(event) : Math.min(endOf(event), listedMs(event) + 5 * minute);

/** The delivery as the service shows it at this time; undefined while it hides it. */
function shown(event: Fare, atMs: number): WebhookDelivery | undefined {
  const { id, end, odd } = event;
  if (atMs < listedMs(event)) return undefined;
  const isOver = atMs >= endOf(event);
  const isArrived = end === "stored" || end === "forgotten";
  const status = isArrived ? "delivered" : end === "exhausted" ? "exhausted" : "failed";
  const sentMs = isOver ? endOf(event) : firstSentMs(event);
  const delivery = made({
    id,
    occurredMs: occurredMs(event),
    sentMs,
    status: odd === "unknown status" ? "parked" : isOver ? status : "failed",
    ...(!isOver && { nextRetryMs: atMs + hour }),
  });
  const listed =
    atMs >= firstSentMs(event)
      ? delivery
      : { ...delivery, status: "pending", sentAt: null, nextRetryAt: null };
  switch (odd) {
    case "no id":
      return { ...listed, eventId: null };
    case "no status":
      return { ...listed, status: null };
    case "no payload":
      return { ...listed, payload: null };
    case "no time":
      return { ...listed, payload: { ...listed.payload, timestamp: "yesterday" } };
    case "other type":
      return { ...listed, eventType: "esim.disabled" };
    default:
      return listed;
  }
}

it("balances, misses nothing and stores nothing twice, however the service lists", async () => {
  await fc.assert(
    fc.asyncProperty(
      world,
      async ({ fares, longestMs, orderedBy, cursor, longestPage, betweenPagesMs, betweenPassesMs }) => {
        const events: Fare[] = fares.map((one, index) => ({
          ...one,
          id: `event-${index}`,
          endsAfterMs: one.endsAfterPart * (one.isBackfilled ? 16 * hour : longestMs),
        }));
        const inbox = knownInbox();
        const state = memoryState();
        let nowMs = startMs;

        function goTo(ms: number): void {
          nowMs = ms;
          for (const event of events)
            if (event.end === "stored" && endOf(event) <= nowMs) inbox.ids.add(event.id);
        }

        const keys = {
          created: listedMs,
          occurred: occurredMs,
          sent: (event: Fare) => Date.parse(shown(event, nowMs)?.sentAt ?? "9999-01-01T00:00:00Z"),
        };
        const list = () =>
          events
            .toSorted((one, other) => keys[orderedBy](other) - keys[orderedBy](one))
            .flatMap((event) => shown(event, nowMs) ?? []);
        let snapshot: WebhookDelivery[] = [];
        const { api, endpoint } = servedListing((from) => {
          if (from > 0) goTo(nowMs + betweenPagesMs);
          if (from === 0 || cursor === "live") snapshot = list();
          return snapshot;
        }, longestPage);

        /** The state, in which a full pass was made just now. */
        const withoutFullPass: StateStore = {
          ...state,
          async read(name) {
            const stored = await state.read(name);
            const value = stored?.value as { readonly passes: object } | undefined;
            const passes = { ...value?.passes, full: new Date(nowMs).toISOString() };
            return stored && { ...stored, value: { ...value, passes } };
          },
        };

        const clock = { now: () => nowMs };
        const since = new Date(startMs);

        function check<Pass extends ReconcileReport | ReconcileMessage>(pass: Pass): Pass {
          const { listed, ...rest } = pass.ledger;
          expect(Object.values(rest).reduce((sum, count) => sum + count, 0)).toBe(listed);
          expect(pass.ledger.stored).toBe(pass.recovered.missed + pass.recovered.acknowledgedAndLost);
          expect(pass.ledger.unsettled).toBe(0);
          return pass;
        }
        const pass = async (withState: StateStore) =>
          check(await onePass(api, endpoint, inbox, { state: withState, clock, since }));

        for (const ms of betweenPassesMs) {
          goTo(nowMs + ms);
          expect(await pass(withoutFullPass)).toMatchObject({ outcome: "complete" });
        }
        goTo(Math.max(nowMs, ...events.map(endOf)) + hour);
        check(await reconcile(api, endpoint, inbox, { state: withoutFullPass, clock }));
        const isReadable = ({ odd }: Fare) => odd !== "no id" && odd !== "no payload" && odd !== "other type";
        const missing = (some: readonly Fare[]) =>
          some.filter((event) => isReadable(event) && !inbox.ids.has(event.id)).map(({ id }) => id);
        expect(missing(events.filter((event) => occurredMs(event) === event.madeMs))).toEqual([]);

        goTo(nowMs + 25 * hour);
        await pass(state);
        await pass(state); // the full one
        expect(missing(events)).toEqual([]);
        expect(await pass(state)).toMatchObject({ ledger: { stored: 0, coming: 0 } });
      },
    ),
    { numRuns: 60, endOnFailure: true },
  );
});
