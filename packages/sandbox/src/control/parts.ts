import type { RateLimits } from "../api/call/rate-limit.ts";
import type { ManualClock } from "../base/clock.ts";
import type { Faults } from "../base/faults.ts";
import type { Service } from "../base/service.ts";
import type { Sender } from "../sender/sender.ts";
import type { Changes } from "./changes.ts";

/** The parts of a running sandbox, for the control side. */
export interface Parts {
  readonly service: Service;
  readonly faults: Faults;
  readonly sender: Sender;
  readonly limits: RateLimits;
  readonly changes: Changes;
  /** The service's clock, if it is a manual one. */
  readonly manualClock: ManualClock | undefined;
  /** How many times as fast as real time the clock goes; null when it stands still. */
  readonly speed: number | null;
  /** The client that every sandbox has: operations that name no client are for it. */
  readonly clientReference: string;
}
