import type { Channel } from "node:diagnostics_channel";
import { createNotice } from "./trace.ts";

/** The progress of an import. On `esim-webhooks:import`, at most ten times a second while it runs, and once at its end. */
export interface ImportMessage {
  /**
   * - `damaged`: the rest of the dump could not be read
   * - `interrupted`: its signal aborted
   * - `failed`: it rejects with `error`
   */
  readonly outcome: "running" | "complete" | "damaged" | "interrupted" | "failed";
  /** Since the import began, in ms. */
  readonly durationMs: number;
  /** How many bytes of the dump were read; compressed bytes if it is compressed. */
  readonly bytesRead: number;
  /** How many records have a fate. Includes those of the interrupted run that this one continues. */
  readonly records: number;
  /** Fate, such as `stored` or `duplicate` → how many records. */
  readonly ledger: Readonly<Record<string, number>>;
  readonly error?: unknown;
}

export const importNotice: Channel<unknown, ImportMessage> = createNotice("import");
