import type { Channel } from "node:diagnostics_channel";
import { createNotice } from "./trace.ts";

/**
 * How far an import is: published on `esim-webhooks:import` at most ten times a second while it is `running`, and once
 * more at its end.
 */
export interface ImportMessage {
  /** `damaged`: the rest of the dump could not be read. `interrupted`: by its signal. `failed`: it rejects with `error`. */
  readonly outcome: "running" | "complete" | "damaged" | "interrupted" | "failed";
  /** Since the import began, in ms. */
  readonly durationMs: number;
  /** Of the input as given: of a compressed dump, compressed bytes. */
  readonly bytesRead: number;
  /** Records whose fate is settled, those of an interrupted run before this one included. */
  readonly records: number;
  /** Fate → how many records, such as `stored` and `duplicate`. */
  readonly ledger: Readonly<Record<string, number>>;
  readonly error?: unknown;
}

export const importNotice: Channel<unknown, ImportMessage> = createNotice("import");
