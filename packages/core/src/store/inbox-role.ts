import type { StoreCapabilities } from "./dedupe-store.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** The roles of the contract: `InboxWriter`, `InboxQueue`, `InboxAdmin` and `Rerunnable`. */
export type InboxRoleName = "writer" | "queue" | "admin" | "rerun";

/** What an inbox guarantees. `inboxSuite` reads it too. */
export interface InboxCapabilities extends StoreCapabilities {
  /** The roles that it implements. */
  readonly roles: readonly InboxRoleName[];
  /** It has lanes: events of a lane are worked one at a time, in order. */
  readonly ordered: boolean;
}

/** The members that every role of an inbox has. */
export interface InboxRole extends Lifecycle {
  readonly capabilities: InboxCapabilities;
  ready(): Promise<void>;
}
