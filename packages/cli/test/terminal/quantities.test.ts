import { ago, instant, span } from "@esim-webhooks/core/internal";
import { describe, expect, it } from "vitest";
import { bytes, count, counted, percent } from "../../src/terminal/quantities.ts";

describe("quantities", () => {
  it("groups the digits of a count", () => {
    expect([0, 999, 1000, 1234567].map(count)).toEqual(["0", "999", "1,000", "1,234,567"]);
  });

  it("counts one event and two events", () => {
    expect([counted(1, "event"), counted(2, "event"), counted(0, "delivery", "deliveries")]).toEqual([
      "1 event",
      "2 events",
      "0 deliveries",
    ]);
  });

  it("gives bytes in the largest fitting unit", () => {
    expect([0, 1023, 1536, 150 * 1024, 2 * 1024 ** 3].map(bytes)).toEqual([
      "0 bytes",
      "1023 bytes",
      "1.5 KiB",
      "150 KiB",
      "2.0 GiB",
    ]);
  });

  it("gives a duration in at most two units", () => {
    expect([0, 8000, 725_000, 3_600_000, 273_600_000].map(span)).toEqual([
      "0s",
      "8s",
      "12m 05s",
      "1h 00m",
      "3d 4h",
    ]);
  });

  it("gives in one unit how long ago a time was, or how far ahead it is", () => {
    const now = Date.parse("2026-11-20T12:00:00Z");
    const at = (ms: number) => ago(new Date(now - ms), now);
    expect([at(300), at(59_000), at(7_300_000), at(4 * 86_400_000), at(-300_000)]).toEqual([
      "now",
      "59s ago",
      "2h ago",
      "4d ago",
      "in 5m",
    ]);
  });

  it("gives 100% only for all, and 0% only for none", () => {
    expect([percent(0, 9), percent(1, 1000), percent(999, 1000), percent(9, 9), percent(0, 0)]).toEqual([
      "0%",
      "<1%",
      "99%",
      "100%",
      "100%",
    ]);
  });

  it("gives an instant in UTC, to the second", () => {
    expect(instant(new Date("2026-11-20T14:03:05.678Z"))).toBe("2026-11-20 14:03:05Z");
  });
});
