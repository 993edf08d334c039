import type { ReconcileReport } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { exitCodeOf, needsLook, reconcileView } from "../../src/endpoint/reconcile-view.ts";

const nothing = {
  stored: 0,
  duplicate: 0,
  coming: 0,
  outOfRange: 0,
  filtered: 0,
  conflict: 0,
  rejected: 0,
  unsettled: 0,
};

it("a pass that listed an event whose id no store can hold shows the id and what to do, and ends with 3", () => {
  const report: ReconcileReport = {
    run: "run",
    endpoint: "whe_1",
    source: "default",
    dryRun: false,
    interrupted: false,
    pages: 1,
    ledger: { ...nothing, listed: 1, invalid: 1 },
    recovered: { missed: 0, acknowledgedAndLost: 0 },
    failing: 0,
    ids: { acknowledgedAndLost: [], failed: [], invalid: [], unstorable: ["msg… (1,100 characters)"] },
    lost: null,
    mark: "2026-11-20T12:00:00.000Z",
  };
  const lines = reconcileView(report, { tookMs: 5, width: 100 });
  expect(lines.slice(-3)).toEqual([
    "Events whose id no store can hold, so they are not handled (reported once):",
    "  msg… (1,100 characters)",
    "Report it to the provider, and handle their payloads yourself: esim-webhooks api deliveries lists them.",
  ]);
  expect([exitCodeOf(report), needsLook(report)]).toEqual([3, true]);
});
