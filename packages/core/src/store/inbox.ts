import type { EventKey, WebhookEvent } from "../event/event.ts";
import type { StoreCapabilities, Transacted } from "./dedupe-store.ts";

/** What is kept of an event that an import brought. Plain JSON. */
export interface Replay {
  /** The import: the same one when it was interrupted and went on. */
  readonly run: string;
  /**
   * Whether the body was made from a dump's JSON, so that its bytes are not those that were signed. Between such a body
   * and a signed one, other bytes are no conflict.
   */
  readonly rebuilt: boolean;
  /** What the dump says of the delivery besides the event: `status`, `sentAt`, `attemptNumber`, … (spec 2.5). */
  readonly delivery?: Readonly<Record<string, string | number | null>>;
}

/** An authentic delivery on its way into an inbox. */
export interface InboxEntry extends EventKey {
  /** Null when the body is no envelope. */
  readonly type: string | null;
  /** What the body says; null when it is no envelope, or not what its schema says. */
  readonly event: WebhookEvent | null;
  /** The raw bytes as signed; everything else can be read from them again. */
  readonly body: Uint8Array;
  readonly receivedAt: Date;
  /** Where an import brought it. */
  readonly replay?: Replay;
}

/**
 * The part of an inbox that a receiver needs, and the seam to any other engine: a few lines around the
 * producer of SQS, Kafka or NATS make a target.
 */
export interface InboxWriter {
  /**
   * Stores entries durably and answers one to one, in order: `stored`, `duplicate` (the same id and body were
   * stored before, or the id was done elsewhere) or `conflict` (the same id with another body: the stored one stands).
   * Other bytes are another body only if both are as signed, or both `rebuilt`; else they are a duplicate. An engine that cannot tell answers `stored`. Resolves only once nothing can be lost any more; rejects when it
   * cannot store.
   */
  put(entries: readonly InboxEntry[]): Promise<readonly PutResult[]>;
}

export type PutResult = "stored" | "duplicate" | "conflict";

/** Where an event is on its way: see docs/state-machine.md. */
export type InboxState = "ready" | "leased" | "done" | "dead";

export interface InboxCapabilities extends StoreCapabilities {
  /** Events of a lane are worked one at a time, in order. */
  readonly ordered: boolean;
}

/** Which events to take. */
export interface TakeOptions {
  /** At most so many. */
  readonly limit: number;
  readonly leaseMs: number;
  /** Take these types alone. */
  readonly only?: readonly string[];
  /** Leave these types. */
  readonly except?: readonly string[];
}

/** One lease on one event; `token` is its fence. */
export interface InboxLease extends EventKey {
  readonly token: string;
}

/** An event that a worker has taken. */
export interface TakenEvent extends InboxLease {
  readonly body: Uint8Array;
  readonly receivedAt: Date;
  /** Which try this is, from 1: counted here, so that a worker which dies of it has counted too. */
  readonly attempt: number;
  /** Whether an import brought it: its entry had a `replay`. Handlers get it as `context.replayed`. */
  readonly replayed: boolean;
}

/** How a lease ends. */
export type Settlement = InboxLease &
  (
    | { readonly state: "done" }
    /** To be tried again in `afterMs`, for the reason in `error`. */
    | { readonly state: "ready"; readonly afterMs: number; readonly error: string }
    /** Given back as if it had not been taken, as at a clean stop. */
    | { readonly state: "untouched" }
    /** Tried no more, until an operator says so. */
    | { readonly state: "dead"; readonly error: string }
  );

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
}

/** An event as an operator sees it. */
export interface InboxRow extends EventKey {
  readonly state: InboxState;
  readonly type: string | null;
  readonly lane: string | null;
  readonly receivedAt: Date | null;
  readonly attempts: number;
  /** Ready: when it is due. Leased: when the lease ends. Done: when it may be forgotten. Dead: null. */
  readonly endsAt: Date | null;
  /** Why it was not done the last time. */
  readonly error: string | null;
  /** How many deliveries of the same id had another body. */
  readonly conflicts: number;
  /** Null once it is done, unless bodies are kept. */
  readonly body: Uint8Array | null;
  /** Of the import that brought it, or that made it run again. Null: it was delivered. */
  readonly replay: Replay | null;
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

/**
 * A durable store of events waiting for a worker. One row is the dedupe record and the queue entry.
 *
 * An event is ready → leased → done, or ready again at a later time, or dead; an operator makes a dead one ready, and
 * an import that is told to a done one.
 * A lease ends by itself, and its fence makes a late owner harmless. Each operation is atomic, time is the store's own,
 * and every operation rejects with a `WebhookError` of code `store_unavailable` when the store cannot answer.
 * `Tx` is the transaction that handlers get as `context.tx`, where the inbox is transactional.
 */
export interface Inbox<Tx = unknown> extends InboxWriter {
  readonly capabilities: InboxCapabilities;

  /** Resolves once the inbox is reachable and set up as it must be; rejects with the code of the mistake. */
  ready(): Promise<void>;

  /** Ready and due → leased, the longest due first; leases that have ended are ready again. */
  take(options: TakeOptions): Promise<readonly TakenEvent[]>;

  /** Moves the ends of leases to `leaseMs` from now; one to one, false: that lease was lost. */
  extend(leases: readonly InboxLease[], leaseMs: number): Promise<readonly boolean[]>;

  /** Leased → what each settlement says; one to one, false: that lease was lost, and nothing changed. */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;

  /** As `DedupeStore.transact`: the writes of `work` commit together with leased → done. */
  transact?(lease: InboxLease, work: (tx: Tx) => Promise<boolean>): Promise<Transacted>;

  /** Calls back when there may be something to take. A hint: it may be missing. Returns what ends it. */
  onHint?(listener: () => void): () => void;

  stats(): Promise<InboxStats>;
  /** Newest received first. `limit` defaults to 50. */
  list(
    filter?: InboxFilter,
    page?: { readonly limit?: number; readonly cursor?: string },
  ): Promise<InboxPage>;
  get(key: EventKey): Promise<InboxRow | undefined>;
  /** Dead → ready, with its attempts counted anew: `limit` at most, default 1,000. Resolves to how many. */
  redrive(filter?: Omit<InboxFilter, "state">, limit?: number): Promise<number>;
  /**
   * Done → ready with the body, lane and `replay` of the entry: due at once, its attempts counted anew, also where the id
   * was done inline. One to one: true for an event that was done and that no `put` or `rerun` of the same `replay.run` had
   * made ready before. False for any other, absent, ready, leased or dead, and nothing has changed. So an import runs an
   * event again once, however often it is asked. Rejects with `invalid_input` for an entry without `replay`.
   */
  rerun(entries: readonly InboxEntry[]): Promise<readonly boolean[]>;
  /** Deletes done events whose retention is over, `limit` at most, default 1,000. Resolves to how many. */
  purge(limit?: number): Promise<number>;
  /** Deletes dead events: `limit` at most, default 1,000. Resolves to how many. */
  purgeDead(filter: Omit<InboxFilter, "state">, limit?: number): Promise<number>;

  /** Frees what the inbox opened itself. Safe to call twice. */
  close(): Promise<void>;
}
