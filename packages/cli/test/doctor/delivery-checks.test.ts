import type { WebhookDelivery } from "@esim-webhooks/client";
import { expect, it } from "vitest";
import { checkGaps, checkMissed } from "../../src/doctor/delivery-checks.ts";

const hourMs = 3_600_000;

function missed(ms: number): WebhookDelivery {
  const at = new Date(Date.now() + ms).toISOString();
  return {
    eventId: at,
    eventType: "esim.faulted",
    payload: null,
    responseBody: null,
    status: "exhausted",
    attemptNumber: 10,
    httpStatus: 500,
    nextRetryAt: null,
    sentAt: at,
    deliveredAt: null,
  };
}

it("says that attempts are dated ahead of this clock, as a sandbox's are whose clock was advanced", () => {
  const { ok, message } = checkMissed(
    { deliveries: [missed(-hourMs), missed(hourMs)], isAll: true },
    undefined,
  );
  expect(ok).toBe(false);
  expect(message).toMatch(
    /^The service gave up 2 deliveries.* The attempts of 1 are dated ahead of this machine's clock/,
  );
  const past = checkMissed({ deliveries: [missed(-hourMs)], isAll: true }, undefined);
  expect(past.message).toMatch(/brings the events in\.$/);
});

it("fails for a time in which the endpoint was inactive, because no listing has its events", () => {
  const [mark, from] = [new Date(), "2026-11-20T12:00:00.000Z"];
  const watermark = { mark, settledTo: mark };
  const gaps = [{ from, to: "2026-11-20T14:00:00.000Z", eventTypes: null }];
  expect(checkGaps({ ...watermark, gaps })).toMatchObject({
    ok: false,
    message: expect.stringMatching(
      /at most from 2026-11-20 12:00:00Z to 2026-11-20 14:00:00Z, while the endpoint was inactive\. Ask support/,
    ),
  });
  expect(checkGaps({ ...watermark, gaps: [] })).toMatchObject({ ok: true });
  expect(checkGaps(undefined)).toMatchObject({ ok: true, message: expect.stringMatching(/^not known: /) });
});
