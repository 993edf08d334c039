/** What became of one record. */
export type Fate = "stored" | "duplicate" | "conflict" | "invalid" | "filtered" | "rejected";

/** How many records were read, and what became of them: `read` is the sum of all the others. */
export interface Ledger {
  readonly read: number;
  /** New to the target: stored in the inbox, or worked by a handler, if there is one. */
  readonly stored: number;
  /** The same event was stored or done before. */
  readonly duplicate: number;
  /** The id is stored with another body: the stored one stands. */
  readonly conflict: number;
  /** No record; with handlers, also no event as its schema says. */
  readonly invalid: number;
  /** Left out by the filters. */
  readonly filtered: number;
  /** A captured request that does not verify, or an event that its handler did not do. */
  readonly rejected: number;
}

/** The events that were read and not filtered, from the oldest one to the newest. Date-times, in UTC. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/** A ledger as a whole and by type. Plain JSON. */
export interface Tally {
  readonly ledger: Ledger;
  /** How many of those stored were done before, and run again by `force`. */
  readonly forced: number;
  /** By event type. `"(none)"`: of no type; `"(other)"`: of the types beyond the first 1,000. */
  readonly types: Readonly<Record<string, Ledger>>;
  readonly span: Span | null;
}

export interface OpenLedger {
  /** @param occurredMs when the event occurred; NaN where that cannot be told */
  add(fate: Fate, type: string | null, occurredMs: number, isForced: boolean): void;
  tally(): Tally;
  total(): Ledger;
}

/** In the place of a type: for what has none. */
export const noType = "(none)";
/** In the place of a type: for those beyond the first 1,000, and for what is no name. */
export const otherTypes = "(other)";

const maxTypes = 1000;
// it comes from the dump, and goes to a terminal and to a key of JSON
const typeName = /^(?!__proto__$)[\w.-]{1,128}$/;

type Counts = { -readonly [Name in keyof Ledger]: number };

/** Counts on from `start`. */
export function openLedger(start?: Tally): OpenLedger {
  const total: Counts = { ...(start?.ledger ?? empty) };
  const types = new Map(Object.entries(start?.types ?? {}).map(([type, counts]) => [type, { ...counts }]));
  let forced = start?.forced ?? 0;
  let fromMs = start?.span ? Date.parse(start.span.from) : Number.POSITIVE_INFINITY;
  let toMs = start?.span ? Date.parse(start.span.to) : Number.NEGATIVE_INFINITY;

  function countsOf(type: string): Counts {
    const present = types.get(type);
    if (present !== undefined) return present;
    if (type !== noType && type !== otherTypes && (types.size >= maxTypes || !typeName.test(type))) {
      return countsOf(otherTypes);
    }
    const counts = { ...empty };
    types.set(type, counts);
    return counts;
  }

  return {
    add(fate, type, occurredMs, isForced) {
      const counts = countsOf(type ?? noType);
      total.read += 1;
      total[fate] += 1;
      counts.read += 1;
      counts[fate] += 1;
      if (isForced) forced += 1;
      if (fate === "filtered") return;
      if (occurredMs < fromMs) fromMs = occurredMs;
      if (occurredMs > toMs) toMs = occurredMs;
    },
    tally: () => ({
      ledger: { ...total },
      forced,
      types: Object.fromEntries([...types].map(([type, counts]) => [type, { ...counts }])),
      span:
        fromMs <= toMs ? { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() } : null,
    }),
    total: () => ({ ...total }),
  };
}

const empty: Ledger = {
  read: 0,
  stored: 0,
  duplicate: 0,
  conflict: 0,
  invalid: 0,
  filtered: 0,
  rejected: 0,
};
