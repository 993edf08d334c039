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
  /** In ms since the Unix epoch, like the other times. */
  readonly receivedAtMs: number | null;
  /** In ms, with microseconds as the fraction. */
  readonly occurredAtMs: number | null;
  /** Ready: when it is due. Null in another state. */
  readonly dueAtMs: number | null;
  /** Done or unhandled: when its retention ends. Null in another state. */
  readonly keptUntilMs: number | null;
  /** How many attempts have begun. */
  readonly attempts: number;
  /** How many of them count towards `maxAttempts`. */
  readonly tries: number;
  /** Whether its last lease ended without a settlement. */
  readonly suspect: boolean;
  /** When its handler first put it off by `retryLater`. Null: it has not. */
  readonly waitingSinceMs: number | null;
  /** How many deliveries of the same id had another body. */
  readonly conflicts: number;
  /** Why its last attempt failed, as `readErrorText` splits it. Null: none did. */
  readonly error: string | null;
  /** The import that stored it or ran it again. Null: it came as a delivery. */
  readonly replay: Replay | null;
  /** The imports that made the event ready before the one in `replay`. */
  readonly runs: readonly string[];
  /** The eSIM reference that it is about. Null: it has none. */
  readonly subject: string | null;
  /** The fingerprint of the key that verified it. Null: unknown. */
  readonly key: string | null;
  /** The `traceparent` of what stored it. Null: there was none. */
  readonly trace: string | null;
  /** When a worker first took it. Null: none has. */
  readonly takenAtMs: number | null;
  /** When it became done, unhandled or dead. Null for a ready event. */
  readonly settledAtMs: number | null;
  /** When its personal data was erased. Null: it was not. */
  readonly erasedAtMs: number | null;
  /** As JSON text: see `readHistory`. */
  readonly history: string | null;
}

/** The newest event that `latestOnly` has handled for a subject. */
export interface LatestRecord {
  /** The option `state` of `latestOnly`. */
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
  /** Counts what there is to copy. */
  look(): Promise<CopySourceState>;
  /** Resolves to the pauses that have not ended. */
  paused(): Promise<readonly Pause[]>;
  /** Resolves to the notes for operators. */
  notes(): Promise<CopiedNotes>;
  /** Yields each record once, in batches of some hundred. */
  events(): AsyncIterable<readonly EventRecord[]>;
  /** Yields the newest event of each subject, in batches. */
  latest(): AsyncIterable<readonly LatestRecord[]>;
  /** Yields the small states, in batches. */
  states(): AsyncIterable<readonly StateRecord[]>;
}

/** An event that the target keeps in a state of its own. It is not done there. */
export interface DifferentEvent extends EventKey {
  /** In the source. */
  readonly state: EventRecord["state"];
  /** In the target. */
  readonly targetState: InboxState;
}

/** The result for records. All others were in the target already: in the same state, or done. */
export interface CopiedEvents {
  /** How many records were new in the target. */
  readonly inserted: number;
  /** How many events of the target were updated. */
  readonly updated: number;
  /** The records whose event is in another state in the target. The target keeps its state. */
  readonly different: readonly DifferentEvent[];
}

/** An inbox to copy into. A copy can be repeated after the source was used again, so that no delivery takes effect twice. */
export interface CopyTarget extends Lifecycle {
  ready(): Promise<void>;
  migrate(): Promise<void>;
  /**
   * Writes the pauses, and holds the target's events of their types. If a type has two pauses, the later one stays. Call it before `copyEvents`,
   * so that no worker of the target takes a paused event in between.
   */
  copyPauses(pauses: readonly Pause[]): Promise<void>;
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
  /** Adds the notes to those of the target, each once. If both have a minute, the larger counts stay. */
  copyNotes(notes: CopiedNotes): Promise<void>;
}
