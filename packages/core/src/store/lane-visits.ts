import type { TakeOptions } from "./inbox-queue.ts";

/** The result of a take that has visited lanes. */
export interface LaneVisit {
  /** The lane at which the visit has ended. Empty: it has reached the last lane. */
  readonly upto: string;
  /** Whether the take has found an event in any lane. */
  readonly found: boolean;
}

/**
 * Decides where takes visit lanes next, and when: separately for each choice of types, so that a take of some types does not make a take of
 * others skip lanes.
 */
export interface LaneVisits {
  /** The lane after which the next visit begins; empty for the first one. Null: this take leaves out all lanes, since a visit has just found nothing. */
  after(options: TakeOptions): string | null;
  /** Notes a take that has looked for events in lanes. `visit` is undefined if it read only the rows that were due first. */
  note(options: TakeOptions, visit: LaneVisit | undefined): void;
}

/** Its times are those of `performance.now()`, in ms. */
interface Place {
  readonly after: string;
  readonly foundAt: number;
  readonly nextAt: number;
}

const mostPlaces = 100;
const mostRestMs = 250;

/**
 * For authors of inboxes whose takes visit some of the lanes at a time. While events wait behind others in thousands of lanes, a visit costs ten
 * times as much as a take. So after a visit that found none, takes leave out lanes: for a quarter of the time since a take last found an event in
 * one, at most for 250 ms. If that visit has not reached the last lane, `wake` is called then, so that idle workers continue.
 */
export function createLaneVisits(wake: () => void): LaneVisits {
  const places = new Map<string, Place>();
  const createdAt = performance.now();
  const nameOf = ({ only, except, suspects }: TakeOptions) => JSON.stringify([only, except, suspects]);
  return {
    after(options) {
      const [name, now] = [nameOf(options), performance.now()];
      const place = places.get(name);
      if (place === undefined) return "";
      if (now < place.nextAt) return null;
      const wasInVain = place.nextAt > place.foundAt;
      if (wasInVain) places.set(name, { ...place, nextAt: now + mostRestMs }); // concurrent takes leave out lanes
      return place.after;
    },
    note(options, visit) {
      const [name, now] = [nameOf(options), performance.now()];
      const { after = "", foundAt = createdAt } = places.get(name) ?? {};
      if (places.size === mostPlaces && !places.has(name)) places.clear();
      if (visit?.found !== false) {
        places.set(name, { after: visit?.upto ?? after, foundAt: now, nextAt: now });
        return;
      }
      const restMs = Math.min((now - foundAt) / 4, mostRestMs);
      places.set(name, { after: visit.upto, foundAt, nextAt: now + restMs });
      if (visit.upto !== "") setTimeout(wake, restMs + 1).unref(); // a timer may be up to 1 ms early
    },
  };
}
