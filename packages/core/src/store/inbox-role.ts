import type { StoreCapabilities } from "./dedupe-store.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** The roles of the contract: `InboxWriter`, `InboxQueue`, `InboxAdmin` and `Rerunnable`. */
export type InboxRoleName = "writer" | "queue" | "admin" | "rerun";

/** What an inbox can be relied on for. Stated once, as data; `inboxSuite` reads it too. */
export interface InboxCapabilities extends StoreCapabilities {
  /** The roles that it has. */
  readonly roles: readonly InboxRoleName[];
  /** Events of a lane are worked one at a time, in order. */
  readonly ordered: boolean;
}

/** What every role of an inbox has. */
export interface InboxRole extends Lifecycle {
  readonly capabilities: InboxCapabilities;
  ready(): Promise<void>;
}
