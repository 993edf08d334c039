import { idempotencyKeyOf, idempotencyKeyOfDelivery } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";

describe("idempotencyKeyOf", () => {
  const event = {
    id: "msg_1",
    type: "esim.faulted",
    timestamp: "2026-11-20T12:00:00Z",
    data: { esimReference: "a", device: { eid: "1", imei: [2, { a: 1, b: 2 }] } },
  };

  it("is the same for an event under every id and with its fields in any order, and another for another event or purpose", () => {
    const key = idempotencyKeyOf(event, "reorder");
    const { type, timestamp } = event;
    const data = { device: { imei: [2, { b: 2, a: 1 }], eid: "1", detail: undefined }, esimReference: "a" };
    expect(idempotencyKeyOf({ ...event, id: "msg_2" } as typeof event, "reorder")).toBe(key);
    expect(idempotencyKeyOf({ type, timestamp, data }, "reorder")).toBe(key);
    expect(idempotencyKeyOf(JSON.parse(JSON.stringify(event)), "reorder")).toBe(key);
    for (const other of [
      { type: "esim.enabled" },
      { timestamp: "2026-11-20T12:00:01Z" },
      { data: { ...event.data, esimReference: "b" } },
      { data: { ...event.data, device: { ...event.data.device, imei: [{ a: 1, b: 2 }, 2] } } },
    ]) {
      expect(idempotencyKeyOf({ ...event, ...other }, "reorder")).not.toBe(key);
    }
    expect(idempotencyKeyOf(event, "suspend")).not.toBe(key);
  });

  it("is a key that the API takes, however long the event is", () => {
    const data = { ...event.data, detail: "x".repeat(100_000), __proto__: null };
    expect(idempotencyKeyOf({ ...event, data }, "reorder")).toMatch(/^[0-9a-f]{64}$/);
  });

  it("of a delivery is another one for another id of the same event", () => {
    const key = idempotencyKeyOfDelivery({ id: "msg_1" }, "reorder");
    expect(idempotencyKeyOfDelivery(event, "reorder")).toBe(key);
    expect(idempotencyKeyOfDelivery({ id: "msg_2" }, "reorder")).not.toBe(key);
    expect(idempotencyKeyOfDelivery(event, "suspend")).not.toBe(key);
    expect(idempotencyKeyOfDelivery({ id: "b" }, "a,")).not.toBe(idempotencyKeyOfDelivery({ id: ",b" }, "a"));
    expect(idempotencyKeyOfDelivery({ id: "x".repeat(1024) }, "reorder")).toMatch(/^[0-9a-f]{64}$/);
  });

  it("refuses what is no event, and no purpose", () => {
    for (const [given, purpose, missing] of [
      [undefined, "a", "type"],
      [{ id: "msg_1" }, "a", "type"],
      [{ ...event, timestamp: 5 }, "a", "timestamp"],
      [event, "", "purpose"],
    ] as const) {
      expect(() => idempotencyKeyOf(given as never, purpose)).toThrow(
        expect.objectContaining({ code: "invalid_input", message: expect.stringContaining(`no ${missing}`) }),
      );
    }
    expect(() => idempotencyKeyOfDelivery({ id: "" }, "a")).toThrow(
      /idempotencyKeyOfDelivery: there is no id/,
    );
  });
});
