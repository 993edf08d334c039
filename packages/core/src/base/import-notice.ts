import type { Channel } from "node:diagnostics_channel";
import { createNotice } from "./trace.ts";

/**
 * How far an import is: published on `esim-webhooks:import` about ten times a second while it reads, and once more when
 * it has ended. An import that rejects publishes no end.
 */
export interface ImportMessage {
  readonly outcome: "running" | "ended";
  /** Since the import began, in ms. */
  readonly durationMs: number;
  /** Of the input as given: of a compressed dump, compressed bytes. */
  readonly bytesRead: number;
  /** Records whose fate is settled, those of an interrupted run before this one included. */
  readonly records: number;
  /** Fate → how many records, such as `stored` and `duplicate`. */
  readonly ledger: Readonly<Record<string, number>>;
}

export const importNotice: Channel<unknown, ImportMessage> = createNotice("import");
