import type { DumpedEvent } from "../record/dumped-event.ts";
import type { Fate } from "./ledger.ts";

/** What became of an event, and why where it has to be told. */
export interface Verdict {
  readonly fate: Fate;
  /** Of the rejects file. */
  readonly code?: string;
  readonly reason?: string;
  /** It was done before, and ran again. */
  readonly isForced?: boolean;
}

/** An event that is as good as proven. */
export interface ProvenEvent extends DumpedEvent {
  /** The bytes that were signed; null where they have to be made from the payload. */
  readonly body: Uint8Array | null;
}

/** Where events go, some at a time. */
export interface Destination<Item> {
  /** How many events are handed over together, … */
  readonly stretch: number;
  /** … and how often at the same time. */
  readonly atOnce: number;
  /** Whether it may say of an event that it is invalid or rejected. */
  readonly mayReject: boolean;
  /** What there is to do before, at once. Throws for a mistake in the set-up. */
  prepare(event: ProvenEvent): { readonly item: Item; readonly bytes: number } | Verdict;
  /** One to one, in order. Rejects when it cannot go on. */
  handOver(items: readonly Item[]): Promise<readonly Verdict[]>;
}

export const stored: Verdict = { fate: "stored" };
