import type { Channel } from "node:diagnostics_channel";
import { createNotice } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";

/**
 * How a lease or a claim on an event ended: published on `esim-webhooks:settle` once the store has answered, or is asked
 * no more.
 */
export interface SettleMessage extends EventKey {
  /** Absent when the body says none, or has not been read yet. */
  readonly type?: string;
  /** Which try this was, from 1. */
  readonly attempt: number;
  /**
   * `done`; `unhandled`: no handler takes it, and its inbox keeps it; `retry`: it is tried again, by a worker in `afterMs`,
   * else with the next delivery; `dead`: tried no more until an operator says so; `given_back`: the worker stops, and the
   * attempt does not count; `lost`: the lease ended before the result was written down, which is discarded;
   * `store_unavailable`: the store could not write it down, and the lease ends by itself.
   */
  readonly outcome: "done" | "unhandled" | "retry" | "dead" | "given_back" | "lost" | "store_unavailable";
  /** How long a worker waits before the next try, in ms. */
  readonly afterMs?: number;
  /** Since the event was taken or claimed, in ms. */
  readonly durationMs: number;
  /** Why the store could not write it down. */
  readonly error?: unknown;
}

export const settleNotice: Channel<unknown, SettleMessage> = createNotice("settle");
