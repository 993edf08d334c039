import type { Channel } from "node:diagnostics_channel";
import { createNotice } from "@esim-webhooks/core/kit";
import type { Ledger } from "./ledger.ts";

/**
 * The progress of an import or a replay. On `esim-webhooks:import`, at most ten times a second while it runs, and once at
 * its end.
 */
export interface ImportMessage {
  /** The name of the run, as in its report. It tells two imports at the same time apart. */
  readonly run: string;
  /** The name of the endpoint that received the events. */
  readonly source: string;
  /**
   * - `damaged`: the rest of the dump could not be read
   * - `interrupted`: its signal aborted
   * - `failed`: it rejects with `error`
   */
  readonly outcome: "running" | "complete" | "damaged" | "interrupted" | "failed";
  /** Since the import began, in ms. */
  readonly durationMs: number;
  /** How many bytes of the dump were read; compressed bytes if it is compressed. Absent without a dump. */
  readonly bytesRead?: number;
  /** How many records have a fate. Includes those of the interrupted run that this one continues. */
  readonly records: number;
  readonly ledger: Ledger;
  readonly error?: unknown;
}

export const importNotice: Channel<unknown, ImportMessage> = createNotice("import");
