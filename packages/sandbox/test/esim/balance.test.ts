import { describe, expect, test } from "vitest";
import { updateBalance } from "../../src/esim/balance.ts";
import { partner, refusal } from "../partner.ts";

describe("updateBalance", () => {
  test("credits and debits, and tells all of it", () => {
    const { service, order, events } = partner();
    const { esimReference, profileReference, iccid } = order();
    events();
    updateBalance(service, esimReference, { updateType: "credit", amount: 500, clientTransactionId: "T-1" });
    const update = {
      updateType: "debit",
      amount: 120,
      source: "provider",
      reason: "usage",
      detail: "A call to BE",
    } as const;
    expect(updateBalance(service, esimReference, update).balance).toBe(380);
    const both = { profileReference, esimReference, iccid, currency: "EUR" };
    const occurredAt = new Date(service.clock.now()).toISOString();
    expect(events()).toEqual([
      {
        type: "esim.balance.updated",
        data: {
          ...both,
          updateType: "credit",
          source: "client",
          reason: "adjustment",
          amount: 500,
          balanceAfter: 500,
          clientTransactionId: "T-1",
          providerTransactionId: expect.any(String),
          occurredAt,
        },
      },
      {
        type: "esim.balance.updated",
        data: {
          ...both,
          ...update,
          balanceAfter: 380,
          providerTransactionId: expect.any(String),
          occurredAt,
        },
      },
    ]);
  });

  test("refuses to debit more than there is", () => {
    const { service, order, events } = partner();
    const { esimReference } = order();
    events();
    expect(() => updateBalance(service, esimReference, { updateType: "debit", amount: 1 })).toThrow(
      refusal("illegal_transition", "The balance is 0"),
    );
    expect(events()).toEqual([]);
  });

  test.each([0, -1, 0.5, Number.NaN, 2 ** 53])("refuses the amount %d", (amount) => {
    const { service, order } = partner();
    const { esimReference } = order();
    expect(() => updateBalance(service, esimReference, { updateType: "credit", amount })).toThrow(
      refusal("invalid", "above 0"),
    );
  });
});
