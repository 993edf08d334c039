import type { EventKey } from "../event/event.ts";
import type { InboxState } from "./inbox-admin.ts";
import type { Replay } from "./inbox-entry.ts";
import type { Lifecycle } from "./lifecycle.ts";

/**
 * All that an inbox stores about an event or a handled id, for a copy into another inbox, but for how long it has waited by
 * `retryLater`: the copy counts from 0. Times are absolute.
 */
export interface EventRecord extends EventKey {
  /** Never leased: a lease cannot be copied, and an event whose lease has ended is ready. */
  readonly state: Exclude<InboxState, "leased">;
  readonly type: string | null;
  readonly lane: string | null;
  /** Null for an id that was handled inline, and for most done events. */
  readonly body: Uint8Array | null;
  /** The CRC-32 of the body, also of a removed one. Null if the bytes were never known. */
  readonly fingerprint: number | null;
  /** In ms since the Unix epoch, like the other times. */
  readonly receivedAtMs: number | null;
  /** In ms, with microseconds as the fraction. */
  readonly occurredAtMs: number | null;
  /** Ready: when it is due. Done or unhandled: when its retention ends. Dead: null. */
  readonly endsAtMs: number | null;
  readonly attempts: number;
  readonly conflicts: number;
  readonly error: string | null;
  readonly replay: Replay | null;
  /** The imports that made the event ready before the one in `replay`. */
  readonly runs: readonly string[];
  readonly subject: string | null;
  readonly key: string | null;
  readonly trace: string | null;
  readonly takenAtMs: number | null;
  readonly settledAtMs: number | null;
  readonly erasedAtMs: number | null;
  /** As JSON text: see `readHistory`. */
  readonly history: string | null;
}

/** The newest event that `latestOnly` has worked for a subject. */
export interface LatestRecord {
  readonly family: string;
  readonly subject: string;
  readonly occurredAtMs: number;
}

/** A small state of a `StateStore`, without its version. */
export interface StateRecord {
  readonly name: string;
  /** The value as JSON. */
  readonly value: string;
}

/** The contents of a source at one moment. */
export interface CopySourceState {
  /** How many records `events` reads. */
  readonly events: number;
  /** How many events are leased and ids are claimed. `events` omits them, since their owners may still settle them. */
  readonly leased: number;
  /** Changes with every write. If it changed during a copy, the copy mixes several moments. */
  readonly version: number;
}

/** An inbox to copy from. Copying does not change it. */
export interface CopySource extends Lifecycle {
  ready(): Promise<void>;
  look(): Promise<CopySourceState>;
  /** Yields each record once, in batches of some hundred. */
  events(): AsyncIterable<readonly EventRecord[]>;
  latest(): AsyncIterable<readonly LatestRecord[]>;
  states(): AsyncIterable<readonly StateRecord[]>;
}

/** An event that the target keeps in a state of its own. It is not done there. */
export interface DifferentEvent extends EventKey {
  /** In the source. */
  readonly state: EventRecord["state"];
  readonly targetState: InboxState;
}

/** What became of records. All others were in the target already: in the same state, or done. */
export interface CopiedEvents {
  readonly inserted: number;
  readonly updated: number;
  readonly different: readonly DifferentEvent[];
}

/** An inbox to copy into. A copy can be repeated after the source was used again, so that no event takes effect twice. */
export interface CopyTarget extends Lifecycle {
  ready(): Promise<void>;
  migrate(): Promise<void>;
  /**
   * Writes the records, all or none. Inserts those with new keys. Updates an existing event if only copies have written it, or if
   * it is done in the source and not in the target. Leaves an event that is leased in the target, or that was run again there.
   */
  copyEvents(records: readonly EventRecord[]): Promise<CopiedEvents>;
  /** For an existing subject, keeps the later time. */
  copyLatest(records: readonly LatestRecord[]): Promise<void>;
  /**
   * Writes the states with new names, and those that only copies have written. Resolves to the names of the others whose values
   * differ.
   */
  copyStates(records: readonly StateRecord[]): Promise<readonly string[]>;
}
