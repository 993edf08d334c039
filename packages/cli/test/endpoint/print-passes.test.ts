import { channel } from "node:diagnostics_channel";
import { expect, it, onTestFinished } from "vitest";
import { printPasses } from "../../src/endpoint/reconcile-view.ts";
import type { Output } from "../../src/program/context.ts";

const ledger = { listed: 1, stored: 0, rejected: 0 };
const quiet = { outcome: "complete", ledger, recovered: { missed: 0, acknowledgedAndLost: 0 } };

const supportReplay = {
  requestedAt: "2026-11-20T08:00:00.000Z",
  ids: { requested: 3, arrived: 1 },
  periods: [],
  foundIds: [],
};

it("prints a pass that has only found that events are no longer listed, what became of failed ones, and what has arrived of a replay request", () => {
  const lines: string[] = [];
  onTestFinished(printPasses({ data: (line: string) => void lines.push(line) } as unknown as Output, {}));
  const say = (more: object) =>
    channel("esim-webhooks:reconcile").publish({ ...quiet, failing: 0, lost: null, supportReplay, ...more });
  say({});
  say({ lost: { from: "2026-11-01T00:00:00.000Z", to: "2026-11-02T00:00:00.000Z" } });
  say({ ledger: { ...ledger, rejected: 3 }, failing: 2 });
  say({ ledger: { ...ledger, stored: 2 }, recovered: { missed: 2, acknowledgedAndLost: 0 } });
  const arrived = { ...supportReplay, ids: { requested: 3, arrived: 2 }, foundIds: ["msg_2"] };
  say({ outcome: "running", supportReplay: arrived });
  say({ supportReplay: arrived });
  expect(lines).toEqual([
    expect.stringMatching(/ALARM {2}events from .* to .* are no longer listed$/),
    expect.stringMatching(/ 3 whose handlers failed, 2 tried again later$/),
    expect.stringMatching(/ 2 events recovered \(2 not delivered\)$/),
    "Of the replay request of 2026-11-20 08:00:00Z, there have arrived:",
    "  2 of 3 events",
    "Found now: msg_2",
  ]);
});
