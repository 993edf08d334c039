import { servicePlanOf } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";

const later = "2026-11-22T12:00:00.000Z";

it.each([
  ["pending", null, "coming"],
  ["sending", null, "coming"],
  ["failed", later, "coming"],
  ["failed", null, "missed"],
  ["exhausted", null, "missed"],
  ["delivered", null, "delivered"],
] as const)("takes %s with the next try at %s for %s", (status, nextRetryAt, plan) => {
  expect(servicePlanOf({ status, nextRetryAt })).toBe(plan);
});

it("an unknown status means missed, so that its event is recovered", () => {
  expect(servicePlanOf({ status: "abandoned", nextRetryAt: later })).toBe("missed");
});
