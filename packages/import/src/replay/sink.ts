import type { RecordedEvent } from "../record/recorded-event.ts";
import type { Fate } from "./ledger.ts";
import type { ReplaySettings } from "./options.ts";

/** The fate of an event, with the reason if it is refused. */
export interface Verdict {
  readonly fate: Fate;
  /** The code and the reason in the rejects file. Without a code, the record is not written there. */
  readonly code?: string;
  readonly reason?: string;
  /** Whether it was done before and ran again. */
  readonly isForced?: boolean;
}

/** An event whose signature was verified, or that the operator trusts without one. */
export interface AcceptedEvent extends RecordedEvent {
  /** The signed bytes; null when the body must be rebuilt from the payload. */
  readonly body: Uint8Array | null;
}

/** Takes events in batches. */
export interface Sink<Item> {
  /** The most events in a batch. */
  readonly batchSize: number;
  /** How many batches it takes at the same time. */
  readonly atOnce: number;
  /** Whether `take` may return a verdict with a code. */
  readonly mayRefuse: boolean;
  /** Makes an item from an event, or refuses it. Throws for a mistake in the set-up. */
  prepare(event: AcceptedEvent): { readonly item: Item; readonly bytes: number } | Verdict;
  /** Resolves to one verdict per item, in order. Rejects when the replay cannot continue. */
  take(items: readonly Item[]): Promise<readonly Verdict[]>;
}

/**
 * Opens a sink for the run of this name. Mistakes in the options are reported earlier, when this function is created, except
 * `source_unknown`: only the target itself knows whose events it holds.
 */
export type SinkOpener<Item> = (run: string) => Promise<Sink<Item>>;

export const stored: Verdict = { fate: "stored" };

/** The settings that a sink is opened with. */
export interface SinkSettings extends ReplaySettings {
  /** How long a handler may take, in ms. Undefined: as long as it needs. */
  readonly deadlineMs?: number | undefined;
}
