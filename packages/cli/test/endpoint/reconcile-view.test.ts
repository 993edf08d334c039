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

const report: ReconcileReport = {
  run: "run",
  endpoint: "whe_1",
  source: "default",
  dryRun: false,
  interrupted: false,
  pages: 1,
  ledger: { ...nothing, listed: 0, invalid: 0 },
  recovered: { missed: 0, acknowledgedAndLost: 0 },
  failing: 0,
  ids: { acknowledgedAndLost: [], failed: [], invalid: [], unstorable: [] },
  lost: null,
  gaps: [],
  supportReplay: null,
  refusedAt: null,
  mark: "2026-11-20T12:00:00.000Z",
};

it("a pass that listed an event whose id no store can hold shows the id and what to do, and ends with 3", () => {
  const found: ReconcileReport = {
    ...report,
    ledger: { ...nothing, listed: 1, invalid: 1 },
    ids: { ...report.ids, unstorable: ["msg… (1,100 characters)"] },
  };
  const lines = reconcileView(found, { tookMs: 5, width: 100 });
  expect(lines.slice(-3)).toEqual([
    "Events whose id no store can hold, so they are not handled (reported once):",
    "  msg… (1,100 characters)",
    "Report it to the provider, and handle their payloads yourself: esim-webhooks api deliveries lists them.",
  ]);
  expect([exitCodeOf(found), needsLook(found)]).toEqual([3, true]);
});

it("a pass after a time without a subscription shows the time and the types, and ends with 3", () => {
  const [from, to] = ["2026-11-20T12:00:00.000Z", "2026-11-20T13:59:59.001Z"]; // the end is shown as a whole second that is not before it
  const found = { ...report, gaps: [{ from, to, eventTypes: ["esim.faulted"] }] };
  expect(reconcileView(found, { tookMs: 5, width: 100 })).toContain(
    "  at most from 2026-11-20 12:00:00Z to 2026-11-20 14:00:00Z, while it was not subscribed to esim.faulted",
  );
  expect([exitCodeOf(found), needsLook(found)]).toEqual([3, true]);
});

it("the first pass says in one sentence that it is not known whether the endpoint was active, and ends with 0", () => {
  const first = { ...report, gaps: null };
  expect(reconcileView(first, { tookMs: 5, width: 100 }).slice(-1)).toEqual([
    expect.stringMatching(/^No earlier pass has noted whether the endpoint was active\./),
  ]);
  expect([exitCodeOf(first), needsLook(first)]).toEqual([0, false]);
});
