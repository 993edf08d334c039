import assert from "node:assert/strict";
import type { Inbox, InboxCapabilities, InboxRoleName } from "@esim-webhooks/core";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { OpenStore } from "../store/store-context.ts";
import type { StoreServer } from "../store/store-faults.ts";
import { type InboxNeed, type InboxScenario, type OpenInbox, withInbox } from "./inbox-context.ts";
import { erasingInLanes, inboxErasing } from "./inbox-erasing.ts";
import { inboxFaults } from "./inbox-faults.ts";
import { inboxFigures } from "./inbox-figures.ts";
import { gaugesInLanes, inboxGauges } from "./inbox-gauges.ts";
import { inboxHistory } from "./inbox-history.ts";
import { inboxInline } from "./inbox-inline.ts";
import { inboxLanes } from "./inbox-lanes.ts";
import { inboxOperations } from "./inbox-operations.ts";
import { pausesInLanes } from "./inbox-paused-lanes.ts";
import { inboxPauses } from "./inbox-pauses.ts";
import { inboxPuts } from "./inbox-puts.ts";
import { inboxReplays } from "./inbox-replays.ts";
import { inboxRetries, retriesInLanes } from "./inbox-retries.ts";
import { inboxSuspects, suspectsInLanes } from "./inbox-suspects.ts";
import { inboxTakes } from "./inbox-takes.ts";
import { inboxTimeLimits, timeLimitsInLanes } from "./inbox-time-limits.ts";
import { inboxTypePauses } from "./inbox-type-pauses.ts";
import { inboxUnhandled } from "./inbox-unhandled.ts";
import { inboxWorkers } from "./inbox-workers.ts";

/** The inbox that `inboxSuite` tests. */
export interface InboxSuiteOptions {
  /**
   * The capabilities that the inbox must state when it is opened with `lane`. Its roles decide which scenarios run.
   */
  readonly capabilities: InboxCapabilities;
  /** Opens the inbox under test, with the roles of its capabilities; a durable one on the same data each time. The suite closes it. */
  readonly open: OpenInbox;
  /** Opens a dedupe store on the inbox's data. Omit it if the inbox has none. */
  readonly openStore?: OpenStore;
  /** The inbox's private server, which the suite kills and freezes. Omit it if the inbox has none. */
  readonly server?: () => Promise<StoreServer>;
}

const scenarios: readonly InboxScenario[] = [
  ...inboxPuts,
  ...inboxTakes,
  ...inboxUnhandled,
  ...inboxReplays,
  ...inboxOperations,
  ...inboxRetries,
  ...inboxHistory,
  ...inboxGauges,
  ...inboxFigures,
  ...inboxPauses,
  ...inboxTypePauses,
  ...inboxErasing,
  ...inboxWorkers,
  ...inboxTimeLimits,
  ...inboxSuspects,
];

const operations: Readonly<Record<InboxRoleName, readonly (keyof Inbox)[]>> = {
  writer: ["put"],
  queue: ["take", "extend", "settle", "purge"],
  admin: [
    "stats",
    "gauges",
    "workers",
    "count",
    "list",
    "get",
    "redrive",
    "giveUp",
    "purgeDead",
    "pause",
    "resume",
    "paused",
    "erase",
    "noteRun",
    "runs",
    "minutes",
  ],
  rerun: ["rerun"],
};

/**
 * Tests what the roles of an inbox promise: every state, concurrent calls, lanes if it has them, and a server that goes
 * down. For an inbox with only some roles, it runs the scenarios that need no other role. Runs under any test runner with
 * `describe` and `it`, passed or global.
 */
export function inboxSuite(name: string, options: InboxSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, openStore, server } = options;
  const { roles } = capabilities;
  const open = options.open as OpenInbox<Inbox>; // scenarios call only the roles that they name
  const met: readonly InboxNeed[] = [
    ...roles,
    ...(capabilities.filters === undefined ? (["filters"] as const) : []),
    ...(capabilities.pauses === undefined ? (["pauses"] as const) : []),
    ...(capabilities.bodies === undefined ? (["bodyRetention"] as const) : []),
  ];
  const possible = <Scenario extends readonly [string, readonly InboxNeed[], unknown]>(
    all: readonly Scenario[],
  ) => all.filter(([, needs]) => needs.every((need) => met.includes(need)));

  describe(`inboxSuite: ${name}`, () => {
    it("states its capabilities, has the operations of its roles, and is ready until it is closed", () =>
      withInbox(open, { lane: () => "a" }, async (inbox) => {
        assert.deepEqual(inbox.capabilities, capabilities);
        for (const operation of roles.flatMap((role) => operations[role]))
          assert.equal(typeof inbox[operation], "function", operation);
        await inbox.ready();
      }));
    it("states how long it remembers done ids, in ms", () =>
      withInbox(open, { retentionMs: 700 }, async (inbox) =>
        assert.equal(inbox.capabilities.retentionMs, 700),
      ));
    for (const [sentence, , run] of possible(scenarios)) it(sentence, () => run(open));
    if (capabilities.ordered)
      for (const [sentence, , run] of possible([
        ...inboxLanes,
        ...suspectsInLanes,
        ...timeLimitsInLanes,
        ...gaugesInLanes,
        ...pausesInLanes,
        ...erasingInLanes,
        ...retriesInLanes,
      ]))
        it(sentence, () => run(open));
    if (openStore !== undefined)
      for (const [sentence, , run] of possible(inboxInline)) it(sentence, () => run(open, openStore));
    if (server === undefined) return;
    for (const [sentence, , run] of possible(inboxFaults))
      it(sentence, async () => run(open, await server()));
  });
}
