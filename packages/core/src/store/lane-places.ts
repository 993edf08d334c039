import type { TakeOptions } from "./inbox-queue.ts";

/** The lanes at which visits have ended: one for each choice of types, so that a take of some types does not make a take of others skip lanes. */
export interface LanePlaces {
  /** The lane after which the next visit begins; empty for the first one. */
  of(options: TakeOptions): string;
  /** A visit has ended at this lane; empty: at the last one. */
  note(options: TakeOptions, lane: string): void;
}

const mostPlaces = 100;

/** For authors of inboxes whose takes visit some of the lanes at a time. */
export function createLanePlaces(): LanePlaces {
  const places = new Map<string, string>();
  const nameOf = ({ only, except }: TakeOptions) => JSON.stringify([only, except]);
  return {
    of: (options) => places.get(nameOf(options)) ?? "",
    note(options, lane) {
      if (lane === "") places.delete(nameOf(options));
      else if (places.size < mostPlaces || places.has(nameOf(options))) places.set(nameOf(options), lane);
      else places.clear();
    },
  };
}
