import { describe, expect, it } from "vitest";
import { groupByError } from "../../src/store/error-groups.ts";
import type { InboxRow } from "../../src/store/stored-event.ts";

const iccid = "8932042000001234567";

function row(error: string, changes: Partial<InboxRow> = {}): InboxRow {
  return {
    source: "default",
    id: "evt_1",
    state: "dead",
    type: "esim.enabled",
    lane: null,
    subject: null,
    receivedAt: null,
    attempts: 8,
    tries: 8,
    dueAt: null,
    leasedUntil: null,
    keptUntil: null,
    settledAt: null,
    error,
    conflicts: 0,
    replay: null,
    ...changes,
  };
}

describe("groupByError", () => {
  async function causes(...errors: string[]): Promise<[number, string][]> {
    return (await groupByError([errors.map((error) => row(error))])).map(({ count, error }) => [
      count,
      error,
    ]);
  }

  it("takes errors as one that differ in ids, numbers, hosts and personal data only, the most frequent first", async () => {
    expect(
      await causes(
        "Error: no SIM 123",
        `Error: no SIM ${iccid}`,
        "Error: no SIM +49 151 2345 6789",
        "connect ECONNREFUSED 10.0.0.1:5432",
        "connect ECONNREFUSED 10.0.0.2:5433",
        "Error: no account of anna@shop.example",
        "Error: no account of b.k+1@shop.example",
        "Error: order msg_JX6U of 7d1c9a6e-0b5e-4a53-9c0f-6b0f2a1d4e55 is gone",
        "Error: order msg_A1 of 11111111-2222-3333-4444-555555555555 is gone",
      ),
    ).toEqual([
      [3, "Error: no SIM #"],
      [2, "connect ECONNREFUSED #"],
      [2, "Error: no account of #"],
      [2, "Error: order # of # is gone"],
    ]);
  });

  it("keeps HTTP statuses and error codes apart", async () => {
    expect(
      await causes("refused with 404", "refused with 500", "P2002: unique", "P2003: unique"),
    ).toHaveLength(4);
  });

  it("takes as the newest the one that died last, though another one was received after it", async () => {
    const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour));
    const [group] = await groupByError([
      [
        row("no CRM", { id: "evt_late", receivedAt: at(3), settledAt: at(4) }),
        row("no CRM", { id: "evt_early", receivedAt: at(1), settledAt: at(9) }),
      ],
    ]);
    expect(group).toMatchObject({ oldest: at(1), newest: at(9), exampleId: "evt_early" });
  });
});
