import type { EventKey } from "../event/event.ts";
import type { InboxState } from "./inbox-admin.ts";
import type { Replay } from "./inbox-entry.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** Everything that an inbox keeps of an event or of a handled id, so that another inbox can go on with it. Times are absolute. */
export interface EventRecord extends EventKey {
  /** Never leased: a lease cannot move, and an event whose lease has ended is ready. */
  readonly state: Exclude<InboxState, "leased">;
  readonly type: string | null;
  readonly lane: string | null;
  /** Null for an id that was handled inline, and for most done events. */
  readonly body: Uint8Array | null;
  /** The CRC-32 of the body, also of one that is no longer kept. Null where the bytes were never known. */
  readonly fingerprint: number | null;
  /** In ms since the Unix epoch, as the other times. */
  readonly receivedAtMs: number | null;
  /** With microseconds after the point. */
  readonly occurredAtMs: number | null;
  /** Ready: when it is due. Done and unhandled: when it may be forgotten. Dead: null. */
  readonly endsAtMs: number | null;
  readonly attempts: number;
  readonly conflicts: number;
  readonly error: string | null;
  readonly replay: Replay | null;
  /** The imports that had made the event ready before the one in `replay`. */
  readonly runs: readonly string[];
}

/** How far `latestOnly` has come for a subject. */
export interface LatestRecord {
  readonly family: string;
  readonly subject: string;
  readonly occurredAtMs: number;
}

/** A small state, as a `StateStore` keeps it. Its version stays behind. */
export interface StateRecord {
  readonly name: string;
  /** JSON. */
  readonly value: string;
}

/** What a source holds at one moment. */
export interface CopySourceState {
  /** How many records `events` reads. */
  readonly events: number;
  /** How many events are leased, and ids claimed, by somebody who may still settle them. `events` leaves them out. */
  readonly leased: number;
  /** Another number when anybody has written meanwhile: what was read is then of several moments. */
  readonly version: number;
}

/** An inbox as it is copied from. Nothing is changed in it. */
export interface CopySource extends Lifecycle {
  ready(): Promise<void>;
  look(): Promise<CopySourceState>;
  /** Each record once, some hundreds at a time. */
  events(): AsyncIterable<readonly EventRecord[]>;
  latest(): AsyncIterable<readonly LatestRecord[]>;
  states(): AsyncIterable<readonly StateRecord[]>;
}

/** An inbox as it is copied into. */
export interface CopyTarget extends Lifecycle {
  ready(): Promise<void>;
  migrate(): Promise<void>;
  /** Adds the records whose keys are not there, all or none of them. Resolves to how many; the others are left as they are. */
  insertEvents(records: readonly EventRecord[]): Promise<number>;
  /** Where a subject is there, the later time stays. */
  insertLatest(records: readonly LatestRecord[]): Promise<void>;
  /** Where a name is there, its value stays. */
  insertStates(records: readonly StateRecord[]): Promise<void>;
}
