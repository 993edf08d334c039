import { channel } from "node:diagnostics_channel";
import { expect, it, onTestFinished } from "vitest";
import { printPasses } from "../../src/endpoint/reconcile-view.ts";
import type { Output } from "../../src/program/context.ts";

const ledger = { listed: 1, stored: 0, rejected: 0 };
const quiet = { outcome: "complete", ledger, recovered: { missed: 0, acknowledgedAndLost: 0 } };

it("prints a pass that has only found that events are no longer listed, and what became of failed ones", () => {
  const lines: string[] = [];
  onTestFinished(printPasses({ data: (line: string) => void lines.push(line) } as unknown as Output, {}));
  const say = (more: object) =>
    channel("esim-webhooks:reconcile").publish({ ...quiet, failing: 0, lost: null, ...more });
  say({});
  say({ lost: { from: "2026-11-01T00:00:00.000Z", to: "2026-11-02T00:00:00.000Z" } });
  say({ ledger: { ...ledger, rejected: 3 }, failing: 2 });
  expect(lines).toEqual([
    expect.stringMatching(/ALARM {2}events from .* to .* are no longer listed$/),
    expect.stringMatching(/ 3 whose handlers failed, 2 tried again later$/),
  ]);
});
