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
export interface Sink<Item> {
  /** How many events it takes together, … */
  readonly batchSize: number;
  /** … and how many batches at the same time. */
  readonly atOnce: number;
  /** Whether it may say of an event it has taken that it is invalid or rejected. */
  readonly mayReject: boolean;
  /** What is done with an event before it is handed over, without waiting. Throws for a mistake in the set-up. */
  prepare(event: ProvenEvent): { readonly item: Item; readonly bytes: number } | Verdict;
  /** One verdict for each item, in order. Rejects when it cannot go on. */
  take(items: readonly Item[]): Promise<readonly Verdict[]>;
}

/** Opens a sink for the run of this name. What is wrong with the set-up is known before there is one of these. */
export type OpenSink<Item> = (run: string) => Sink<Item>;

export const stored: Verdict = { fate: "stored" };
