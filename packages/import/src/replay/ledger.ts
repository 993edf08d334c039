/** The result of one record. */
export type Fate = "stored" | "duplicate" | "conflict" | "invalid" | "filtered" | "rejected";

/** How many records were read, by fate: `read` is the sum of all others. */
export interface Ledger {
  /** How many records were read. */
  readonly read: number;
  /** Stored in the inbox, or handled: new to the target, or run again by `force`. */
  readonly stored: number;
  /** Already stored or done. */
  readonly duplicate: number;
  /** Already stored or done with another body, which stays. */
  readonly conflict: number;
  /** Not a valid record; with handlers, also an event that does not match its schema. */
  readonly invalid: number;
  /** Left out by the filters; with handlers, also an event without a handler. */
  readonly filtered: number;
  /** A captured request that does not verify, an id that a spreadsheet has rounded, or an event whose handler did not succeed or is running elsewhere. */
  readonly rejected: number;
}

/** A period of time. Date-times in UTC. */
export interface Period {
  /** Its beginning. */
  readonly from: string;
  /** Its end, inclusive. */
  readonly to: string;
}

/** The ledger of all records, and by type. Plain JSON. */
export interface ReplayCounts {
  /** The fates of all records. */
  readonly ledger: Ledger;
  /** How many of the stored events were done before, and run again by `force`. */
  readonly forced: number;
  /** Event type → ledger. `"(none)"`: records without a type; `"(other)"`: types beyond the first 1,000. */
  readonly types: Readonly<Record<string, Ledger>>;
  /** From the oldest to the newest event that was not filtered; null if there is none. */
  readonly span: Period | null;
}

export interface Counter {
  /** @param occurredMs when the event occurred; NaN when that is not known */
  add(fate: Fate, type: string | null, occurredMs: number, isForced: boolean): void;
  report(): ReplayCounts;
  total(): Ledger;
}

/** The key for records without a type. */
const noType = "(none)";
/** The key for types beyond the first 1,000, and for types that are not names. */
const otherTypes = "(other)";

const maxTypes = 1000;
// a type comes from the dump, and is printed on terminals and used as a key of JSON
const typeName = /^(?!__proto__$)[\w.-]{1,128}$/;

type Counts = { -readonly [Name in keyof Ledger]: number };

/** Creates a counter of records that continues from `start`. */
export function createCounter(start?: ReplayCounts): Counter {
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
    report: () => ({
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
