import type { EventOutcome, StoredEnding } from "@esim-webhooks/core";
import { rowChange } from "@esim-webhooks/core/engine";
import { decide } from "@esim-webhooks/core/internal";
import { expect, it } from "vitest";
import { type Name, table } from "../model/state-machine.ts";

const error = new Error("no stock");
const outcomes: readonly (readonly [EventOutcome, isLast: boolean, Name])[] = [
  [{ code: "processed" }, false, "settle done"],
  [{ code: "discarded", reason: "gone" }, false, "settle done"],
  [{ code: "duplicate" }, false, "settle done"],
  [{ code: "conflict" }, false, "settle done"],
  [{ code: "unknown_type" }, false, "settle unhandled"],
  [{ code: "unhandled_type" }, false, "settle unhandled"],
  [{ code: "invalid", issues: [] }, false, "settle dead"],
  [{ code: "failed", error }, false, "settle retry"],
  [{ code: "failed", error }, true, "settle dead"],
  [{ code: "retry_later", retryAfterMs: 7 }, false, "settle waiting"],
  [{ code: "retry_later", retryAfterMs: 7 }, true, "settle dead"],
  [{ code: "busy", retryAfterMs: 7 }, false, "settle put off"],
  [{ code: "deadline_reached" }, false, "settle given back"],
  [{ code: "lease_lost" }, false, "settle given back"],
];

it.each(outcomes)(
  "the ending of %j changes a row as the model says (the last attempt: %s): %s",
  (outcome, isLast, name) => {
    const ending = decide(outcome, { isLast: () => isLast, afterMs: () => 7 }) as StoredEnding;
    const change = rowChange(ending);
    const row = { isDue: change.state === "ready" && change.afterMs === 0, suspect: change.staysSuspect };
    const { state, ended, suspect, attempts, tries } = table[name]
      .to as (typeof table)["settle given back"]["to"] & {
      suspect?: boolean;
    };
    const counted = (delta?: string) => (delta === undefined ? 0 : -1);
    expect({ ...row, state: change.state, attempts: change.attempts, tries: change.tries }).toEqual({
      isDue: ended,
      suspect: suspect !== false,
      state,
      attempts: counted(attempts),
      tries: counted(tries),
    });
  },
);

it("an event whose handler was started is given back with its attempt counted", () => {
  expect(table["settle given back"].to.attempts).toBe("-1?");
  expect(rowChange({ state: "given_back", started: true })).toMatchObject({ attempts: 0, tries: -1 });
});
