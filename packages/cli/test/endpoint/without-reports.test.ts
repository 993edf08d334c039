import { expect, it } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { withoutReports } from "../../src/endpoint/reconcile-view.ts";

it("leaves out the report of a pass, which the command prints itself, and keeps the line that says why a pass waits", () => {
  const lines: unknown[] = [];
  const logger = withoutReports(loggerWith({ info: (_, message) => lines.push(message) }));
  logger.info({ code: "reconciled", ledger: { listed: 3 } }, "Reconciled with the deliveries listing.");
  logger.info({ leaseMs: 30_000 }, "A pass is under way.");
  expect(lines).toEqual(["A pass is under way."]);
});
