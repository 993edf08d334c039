import type { StoreCapabilities } from "./dedupe-store.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** The roles of the contract: `InboxWriter`, `InboxQueue`, `InboxAdmin` and `Rerunnable`. */
export type InboxRoleName = "writer" | "queue" | "admin" | "rerun";

/** The guarantees of an inbox. `inboxSuite` reads them too. */
export interface InboxCapabilities extends StoreCapabilities {
  /** The roles that it implements. */
  readonly roles: readonly InboxRoleName[];
  /** Whether it has lanes: events of a lane are handled one at a time, in order. */
  readonly ordered: boolean;
  /** The only filters that its admin role accepts. Such an inbox counts no conflicts either. Absent: it accepts all filters. */
  readonly filters?: readonly ("state" | "ids")[];
  /** `all`: it pauses all types or none, since its engine can stop only a whole queue. Absent: it also pauses single types. */
  readonly pauses?: "all";
  /** False: it cannot end events that no worker has, so `giveUp` rejects. Absent: it can. */
  readonly givesUp?: false;
  /** `with events`: it keeps each body for as long as its event. Absent: it removes bodies, as `keepBodies` and `bodyRetentionMs` say. */
  readonly bodies?: "with events";
}

/** The members that every role of an inbox has. */
export interface InboxRole extends Lifecycle {
  /** Its guarantees, and its roles. */
  readonly capabilities: InboxCapabilities;
  ready(): Promise<void>;
}
