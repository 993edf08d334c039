import type { EventKey } from "../event/event.ts";
import type { HistoryStep } from "./history.ts";
import type { Replay } from "./inbox-entry.ts";

/** The state of an event: see docs/state-machine.md. */
export type InboxState = "ready" | "leased" | "done" | "unhandled" | "dead";

/** An event in a list, without its body. */
export interface InboxRow extends EventKey {
  /** The state that the event is in. */
  readonly state: InboxState;
  /** The event type. Null: the body is not an envelope, or, from `get`, the id was handled inline. */
  readonly type: string | null;
  /** The events of one lane are handled one at a time, in order. Null: it has none. */
  readonly lane: string | null;
  /** The subject of the event: by default its `esimReference`. Null: it has none. */
  readonly subject: string | null;
  /** When it was received first. Null, from `get`: the id was handled inline. */
  readonly receivedAt: Date | null;
  /** How many attempts have begun. */
  readonly attempts: number;
  /** How many of these attempts count towards `maxAttempts`: those since it was stored, redriven or run again that were not put off. */
  readonly tries: number;
  /** Ready: when it is due. Leased: since when it was due. Null in another state. On BullMQ: always null. */
  readonly dueAt: Date | null;
  /** Leased: when the lease ends. Null in another state. On BullMQ: always null. */
  readonly leasedUntil: Date | null;
  /** Done or unhandled: when its retention ends, and it may be forgotten. Null in another state. */
  readonly keptUntil: Date | null;
  /** When it became done, unhandled or dead. Null for ready and leased events. */
  readonly settledAt: Date | null;
  /** Why it is not done, without a stack, or `erased`. Null: there is no error. */
  readonly error: string | null;
  /** How many deliveries of the same id had another body. */
  readonly conflicts: number;
  /** The import that last stored it or ran it again. Null: it came as a delivery, or was handled inline. */
  readonly replay: Replay | null;
}

/** An event that others of its lane wait for. `dead` only with the option `laneHeldByDead`. */
export interface LaneHolder extends EventKey {
  /** Its state. The lane waits until a worker handles it (`ready`), its handler ends (`leased`), or an operator acts (`dead`). */
  readonly state: "ready" | "leased" | "dead";
}

/** An event with its body, and what is known about its attempts. */
export interface StoredEvent extends InboxRow {
  /**
   * The fingerprint of the key that verified it, such as `key:1a2b3c4d`. Null: unknown, or an import stored it. When Postgres removes the body
   * of a done event, it also removes `key` and `trace`; SQLite keeps both.
   */
  readonly key: string | null;
  /** The `traceparent` of the span that stored it. Null: there was none. */
  readonly trace: string | null;
  /**
   * The event that holds its lane while this one is ready: it must be settled first. Null: none does, or this event is itself the next of its
   * lane.
   */
  readonly heldBy: LaneHolder | null;
  /** When a worker first took it, since it was stored or run again. On BullMQ: when one last took it. Null: none has. */
  readonly takenAt: Date | null;
  /** When its personal data was erased. Null: it was not. */
  readonly erasedAt: Date | null;
  /** Its last ten steps, oldest first. A step is a failed attempt, or what an operator did. */
  readonly history: readonly HistoryStep[];
  /** The stack frames of the value that its last attempt threw, a line each. Null: nothing was thrown, or the stack is not known. */
  readonly stack: string | null;
  /** The raw body. Null: the event is done and bodies are not kept, it was erased, or `bodyRetentionMs` has ended. */
  readonly body: Uint8Array | null;
}
