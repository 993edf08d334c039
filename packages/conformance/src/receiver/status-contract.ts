import type { OutcomeCode } from "@esim-webhooks/core";
import { acceptedEvents } from "./accepted-events.ts";
import { retriedEvents } from "./retried-events.ts";
import type { Scenario, ScenarioByOutcome } from "./scenario.ts";
import { unreadBodies } from "./unread-bodies.ts";
import { unverifiedDeliveries } from "./unverified-deliveries.ts";

/** Outcomes that no test can provoke over HTTP on every adapter: only `webhookHandler` can be made without a secret. */
type Elsewhere = Extract<OutcomeCode, "body_consumed" | "missing_secret">;

// a new outcome code does not compile until it has a test in one of these
const byOutcome: Omit<ScenarioByOutcome, Elsewhere> = {
  ...acceptedEvents,
  ...retriedEvents,
  ...unverifiedDeliveries,
  ...unreadBodies,
};

export const statusContract: readonly Scenario[] = Object.values(byOutcome);
