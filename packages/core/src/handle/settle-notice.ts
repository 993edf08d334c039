import type { Channel } from "node:diagnostics_channel";
import { createNotice } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";

/** The end of a lease or a claim on an event. On `esim-webhooks:settle`, once the store has answered or was given up. */
export interface SettleMessage extends EventKey {
  /** Absent when the body has none, or was not read. */
  readonly type?: string;
  /** The number of this try, from 1. */
  readonly attempt: number;
  /**
   * - `done`: never to run again
   * - `unhandled`: it has no handler, and the inbox keeps it
   * - `retry`: a worker tries it again in `afterMs`; inline, the next delivery does
   * - `dead`: not tried again until an operator redrives it
   * - `given_back`: the worker stops, and the attempt does not count
   * - `lost`: the lease ended before the result was stored, and the result is discarded
   * - `store_unavailable`: the store could not store the result, and the lease ends by itself
   */
  readonly outcome: "done" | "unhandled" | "retry" | "dead" | "given_back" | "lost" | "store_unavailable";
  /** How long a worker waits before the next try, in ms. */
  readonly afterMs?: number;
  /** From the take or the claim to this end, in ms. */
  readonly durationMs: number;
  /** Why the store could not store the result. */
  readonly error?: unknown;
}

export const settleNotice: Channel<unknown, SettleMessage> = createNotice("settle");
