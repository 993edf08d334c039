import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { type WelcomedSession, welcome } from "../../src/listen/follow.ts";

const now = Date.parse("2026-11-20T12:00:00Z");

function firstLine(since: Date | undefined): string {
  const session: WelcomedSession = {
    endpoint: { webhookEndpointReference: "WHE1", url: "https://shop.example/webhooks", active: true },
    url: "http://127.0.0.1:3000/webhooks",
    secret: newSecret(),
    flags: since === undefined ? {} : { since },
  };
  return welcome(session, 3, now).join("\n");
}

it("says since when events are posted", () => {
  expect(firstLine(undefined)).toMatch(
    /^New events of WHE1 \(https:\/\/shop\.example\/webhooks\) are posted to /,
  );
  expect(firstLine(new Date("2026-11-20T10:00:00Z"))).toMatch(
    /^3 events since 2026-11-20T10:00:00\.000Z, and new ones, of WHE1 /,
  );
});

it("promises no more than the service lists when --since is longer ago than 7 days", () => {
  expect(firstLine(new Date("2026-10-21T12:00:00Z"))).toMatch(
    /^3 events from the last 7 days, which is all that the service lists, and new ones, of WHE1 /,
  );
});
