import type { DedupeStore, Inbox, InboxOptions } from "@esim-webhooks/core";
import type { EngineName } from "../engines.ts";
import type { Copies } from "./copies.ts";
import { laneType } from "./kinds.ts";

/** A table of events on one engine. */
export interface Table {
  readonly inbox: Inbox;
  /** Adds the next column, as a migration of the product does. */
  addColumn(): Promise<void>;
  /** The size of the table and its indexes on the disk. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** An engine whose tables are measured. */
export interface Engine {
  readonly name: EngineName;
  /** Creates a table: the product makes a row of each kind, and the engine copies them. */
  open(name: string, copies: Copies): Promise<Table>;
  /** Removes all its tables. */
  close(): Promise<void>;
}

/** The parts of the product that make rows. */
export interface Maker {
  readonly inbox: Inbox;
  readonly store: DedupeStore;
}

/** A slow call is measured, and does not fail. */
export const patient = { timeoutMs: 600_000 } as const;

export const lanes: Required<Pick<InboxOptions, "lane">> = {
  lane: ({ type, data }) => (type === laneType ? (data as { esimReference: string }).esimReference : null),
};
