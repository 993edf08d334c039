import type { EventKey } from "../event/event.ts";
import type { Replay } from "./inbox-entry.ts";
import type { InboxRole } from "./inbox-role.ts";

/** Where an event is on its way: see docs/state-machine.md. */
export type InboxState = "ready" | "leased" | "done" | "unhandled" | "dead";

/** Which events an operator means. Left out: all. */
export interface InboxFilter {
  readonly state?: InboxState;
  readonly types?: readonly string[];
  readonly source?: string;
  readonly ids?: readonly string[];
  /** Received at this time or later. */
  readonly since?: Date;
  /** Received before this time. */
  readonly until?: Date;
  /** Whose `endsAt` is at this time or earlier: with the state `done`, those that may be forgotten. */
  readonly endedBy?: Date;
}

/** Which events to have worked again: dead ones, unless it says unhandled ones. */
export interface RedriveFilter extends Omit<InboxFilter, "state" | "endedBy"> {
  readonly state?: "dead" | "unhandled";
}

/** An event as an operator sees it in a list. */
export interface InboxRow extends EventKey {
  readonly state: InboxState;
  readonly type: string | null;
  readonly lane: string | null;
  readonly receivedAt: Date | null;
  readonly attempts: number;
  /** Ready: when it is due. Leased: when the lease ends. Done and unhandled: when it may be forgotten. Dead: null. */
  readonly endsAt: Date | null;
  /** Why it was not done the last time. */
  readonly error: string | null;
  /** How many deliveries of the same id had another body. */
  readonly conflicts: number;
  /** Of the import that brought it, or that made it run again. Null: it was delivered. */
  readonly replay: Replay | null;
}

/** One event, with its body. */
export interface StoredEvent extends InboxRow {
  /** Null once it is done, unless bodies are kept. */
  readonly body: Uint8Array | null;
}

export interface InboxPage {
  readonly rows: readonly InboxRow[];
  /** Pass it as `cursor` for the next page. Null: there is none. */
  readonly nextCursor: string | null;
}

export interface InboxStats {
  readonly states: Readonly<Record<InboxState, number>>;
  /** By state and type. The type is null for bodies that are no envelope, and for ids that were worked inline. */
  readonly types: readonly {
    readonly state: InboxState;
    readonly type: string | null;
    readonly count: number;
  }[];
  /** How long the event that is due and waits the longest has waited, in ms; null when none is due. */
  readonly oldestReadyMs: number | null;
  /** Deliveries of a stored id with another body. */
  readonly conflicts: number;
}

/** The role of an inbox that operators call: to see what is in it, and to put right what went wrong. */
export interface InboxAdmin extends InboxRole {
  stats(): Promise<InboxStats>;

  /** How many events a filter means. */
  count(filter?: InboxFilter): Promise<number>;

  /** Newest received first. `limit` defaults to 50. Rejects with `invalid_input` for a cursor that no page has given. */
  list(
    filter?: InboxFilter,
    page?: { readonly limit?: number; readonly cursor?: string },
  ): Promise<InboxPage>;

  get(key: EventKey): Promise<StoredEvent | undefined>;

  /**
   * Dead or unhandled → ready, with its attempts counted anew: `limit` at most, default 1,000, the longest received first.
   * Resolves to how many.
   */
  redrive(filter?: RedriveFilter, limit?: number): Promise<number>;

  /** Deletes dead events: `limit` at most, default 1,000, the longest received first. Resolves to how many. */
  purgeDead(filter: Omit<InboxFilter, "state" | "endedBy">, limit?: number): Promise<number>;
}
