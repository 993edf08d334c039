import type { EventKey } from "../event/event.ts";
import type { Replay } from "./inbox-entry.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Minute } from "./minute-counts.ts";
import type { Pause } from "./pause.ts";
import type { RunNote } from "./run-note.ts";
import type { InboxState } from "./stored-event.ts";

/** All that an inbox stores about an event or a handled id, for a copy into another inbox. Times are absolute. */
export interface EventRecord extends EventKey {
  /** Never leased: a lease cannot be copied, and an event whose lease has ended is ready. */
  readonly state: Exclude<InboxState, "leased">;
  /** Null: the body is not an envelope, or the id was handled inline. */
  readonly type: string | null;
  /** Null: it has no lane. */
  readonly lane: string | null;
  /** Null for an id that was handled inline, and for most done events. */
  readonly body: Uint8Array | null;
  /** The CRC-32 of the body, also of a removed one. Null if the bytes were never known. */
  readonly fingerprint: number | null;
  /** When it was first received, in ms since the Unix epoch, like the other times. Null: the id was handled inline. */
  readonly receivedAtMs: number | null;
  /** When the event occurred, with microseconds as the fraction. Null: unknown. */
  readonly occurredAtMs: number | null;
  /** Ready: when it is due. Null in another state. */
  readonly dueAtMs: number | null;
  /** Done or unhandled: when its retention ends. Null in another state. */
  readonly keptUntilMs: number | null;
  /** How many attempts have begun. */
  readonly attempts: number;
  /** How many of these attempts count towards `maxAttempts`. */
  readonly tries: number;
  /** Whether its last lease ended without a settlement. */
  readonly suspect: boolean;
  /** When its handler first put it off by `retryLater`. Null: it has not. */
  readonly waitingSinceMs: number | null;
  /** How many deliveries of the same id had another body. */
  readonly conflicts: number;
  /** Its error, with the frames of a stack: see `readErrorText`. Null: there is none. */
  readonly error: string | null;
  /** The import that last stored it or ran it again. Null: it came as a delivery, or was handled inline. */
  readonly replay: Replay | null;
  /** The imports that made the event ready before the one in `replay`. */
  readonly runs: readonly string[];
  /** Its subject, by default an eSIM reference. Null: it has none. */
  readonly subject: string | null;
  /** The fingerprint of the key that verified it. Null: unknown. */
  readonly key: string | null;
  /** The `traceparent` of the span that stored it. Null: there was none. */
  readonly trace: string | null;
  /** When a worker first took it, since it was stored or run again. Null: none has. */
  readonly takenAtMs: number | null;
  /** When it became done, unhandled or dead. Null for a ready event. */
  readonly settledAtMs: number | null;
  /** When its personal data was erased. Null: it was not. */
  readonly erasedAtMs: number | null;
  /** As JSON text: see `readHistory`. */
  readonly history: string | null;
}

/** The time of the newest event that `latestOnly` has handled for a subject. */
export interface LatestRecord {
  /** The name of the state: the option `state` of `latestOnly`. */
  readonly family: string;
  /** The eSIM reference, or its hash once it was erased. */
  readonly subject: string;
  /** When the newest event occurred, in ms since the Unix epoch. */
  readonly occurredAtMs: number;
}

/** A small state of a `StateStore`, without its version. */
export interface StateRecord {
  /** The name by which `read` finds it. */
  readonly name: string;
  /** The value as JSON. */
  readonly value: string;
}

/** The notes of an inbox for its operators, except those of its workers: the target has other workers. */
export interface CopiedNotes {
  /** The imports and passes of reconcile, the last one first. */
  readonly runs: readonly RunNote[];
  /** The counts of each minute of the last day. */
  readonly minutes: readonly Minute[];
  /** When the last delivery was received. Null: none was. */
  readonly lastReceivedAt: Date | null;
}

/** The size and version of a source at one moment. */
export interface CopySourceState {
  /** How many records `events()` yields. */
  readonly events: number;
  /** The number of leased events and claimed ids, whose owners may still settle them. `events()` omits these. */
  readonly leased: number;
  /** Changes with every write of another connection. If it changed during a copy, the copy mixes several moments. */
  readonly version: number;
}

/** An inbox to copy from. Copying does not change it. */
export interface CopySource extends Lifecycle {
  ready(): Promise<void>;
  /** Counts the records to copy. */
  look(): Promise<CopySourceState>;
  /** Resolves to the pauses that have not ended. */
  paused(): Promise<readonly Pause[]>;
  /** Resolves to the notes for operators. */
  notes(): Promise<CopiedNotes>;
  /** Yields each record once, in batches of some hundred. */
  events(): AsyncIterable<readonly EventRecord[]>;
  /** Yields the time of the newest event of each subject, in batches. */
  latest(): AsyncIterable<readonly LatestRecord[]>;
  /** Yields the small states, in batches. */
  states(): AsyncIterable<readonly StateRecord[]>;
}

/** An event that a copy has left in another state than in the source. It is not done in the target. */
export interface DifferentEvent extends EventKey {
  /** The state in the source. */
  readonly state: EventRecord["state"];
  /** The state in the target. */
  readonly targetState: InboxState;
}

/** The result for records. Records that it does not count were in the target already: in the same state, or done. */
export interface CopiedEvents {
  /** How many records were new in the target. */
  readonly inserted: number;
  /** How many events of the target were updated. */
  readonly updated: number;
  /** The events that stay in another state in the target. */
  readonly different: readonly DifferentEvent[];
}

/** An inbox to copy into. A copy can be repeated after the source was used again, so that no delivery takes effect twice. */
export interface CopyTarget extends Lifecycle {
  ready(): Promise<void>;
  migrate(): Promise<void>;
  /**
   * Writes the pauses, and holds the target's events of their types. If both have paused a type, the pause that began later stays. Call it
   * before `copyEvents`, so that no worker of the target takes a paused event in between.
   */
  copyPauses(pauses: readonly Pause[]): Promise<void>;
  /**
   * Writes the records, all or none. Inserts those with new keys. Updates an existing event if only copies have written it, or if
   * it is done in the source and not in the target. Leaves an event that is leased in the target, or that was run again there.
   */
  copyEvents(records: readonly EventRecord[]): Promise<CopiedEvents>;
  /** Writes the times. If the target has one for a subject, keeps the later one. */
  copyLatest(records: readonly LatestRecord[]): Promise<void>;
  /**
   * Writes the states that the target does not have, or that only copies have written there. Resolves to the names of the other
   * states whose values differ.
   */
  copyStates(records: readonly StateRecord[]): Promise<readonly string[]>;
  /** Adds the notes that the target does not have. If both have a minute, the larger counts stay. */
  copyNotes(notes: CopiedNotes): Promise<void>;
}
