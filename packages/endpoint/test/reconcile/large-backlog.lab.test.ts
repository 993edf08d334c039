import type { ReconcileReport } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { runNode } from "../../../../test/run.ts";

it("recovers 200,000 events in a heap of 100 MiB", async () => {
  const script = "packages/endpoint/test/reconcile/large-backlog-process.ts";
  const { line, ended } = runNode(["--max-old-space-size=100", script], { DELIVERIES: "200000" });
  const [, json = ""] = await line(/^report (.*)/);
  const { pages, ledger } = JSON.parse(json) as ReconcileReport;
  expect({ pages, ledger }).toMatchObject({ pages: 2000, ledger: { listed: 200_000, stored: 200_000 } });
  expect(await ended).toMatchObject({ code: 0 });
});
