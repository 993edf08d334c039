import assert from "node:assert/strict";
import type { Inbox, InboxCapabilities, InboxRoleName } from "@esim-webhooks/core";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { StoreServer } from "../store/store-faults.ts";
import { type InboxScenario, type OpenInbox, withInbox } from "./inbox-context.ts";
import { inboxFaults } from "./inbox-faults.ts";
import { inboxLanes } from "./inbox-lanes.ts";
import { inboxOperations } from "./inbox-operations.ts";
import { inboxPuts } from "./inbox-puts.ts";
import { inboxReplays } from "./inbox-replays.ts";
import { inboxTakes } from "./inbox-takes.ts";
import { inboxUnhandled } from "./inbox-unhandled.ts";

export interface InboxSuiteOptions {
  /** What the inbox states about itself: its roles, whose scenarios are run, and `ordered` when it was opened with lanes. */
  readonly capabilities: InboxCapabilities;
  readonly open: OpenInbox;
  /** The server of the inbox, a private one, to be killed and paused. Left out where there is none. */
  readonly server?: () => Promise<StoreServer>;
}

const scenarios: readonly InboxScenario[] = [
  ...inboxPuts,
  ...inboxTakes,
  ...inboxUnhandled,
  ...inboxReplays,
  ...inboxOperations,
];

const operations: Readonly<Record<InboxRoleName, readonly (keyof Inbox)[]>> = {
  writer: ["put"],
  queue: ["take", "extend", "settle", "purge"],
  admin: ["stats", "count", "list", "get", "redrive", "purgeDead"],
  rerun: ["rerun"],
};

/**
 * What the roles of an inbox promise, against a real one: every state, many at once, lanes where it keeps them, and a
 * server that goes away. Of an inbox with some of the roles, it runs the scenarios that need no other. Runs under any
 * runner that has `describe` and `it`, given or global.
 */
export function inboxSuite(name: string, options: InboxSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, server } = options;
  const { roles } = capabilities;
  const open = options.open as OpenInbox<Inbox>; // scenarios call the roles that they name, and no other
  const possible = <Scenario extends readonly [string, readonly InboxRoleName[], unknown]>(
    given: readonly Scenario[],
  ) => given.filter(([, needs]) => needs.every((role) => roles.includes(role)));

  describe(`inboxSuite: ${name}`, () => {
    it("states its capabilities, has the operations of its roles, and is ready until it is closed", () =>
      withInbox(open, { lane: () => "a" }, async (inbox) => {
        assert.deepEqual(inbox.capabilities, capabilities);
        for (const operation of roles.flatMap((role) => operations[role]))
          assert.equal(typeof inbox[operation], "function", operation);
        await inbox.ready();
      }));
    it("states for how long it remembers done ids, in ms", () =>
      withInbox(open, { retentionMs: 700 }, async (inbox) =>
        assert.equal(inbox.capabilities.retentionMs, 700),
      ));
    for (const [sentence, , run] of possible(scenarios)) it(sentence, () => run(open));
    if (capabilities.ordered)
      for (const [sentence, , run] of possible(inboxLanes)) it(sentence, () => run(open));
    if (server === undefined) return;
    for (const [sentence, , run] of possible(inboxFaults))
      it(sentence, async () => run(open, await server()));
  });
}
