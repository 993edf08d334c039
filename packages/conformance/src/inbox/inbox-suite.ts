import assert from "node:assert/strict";
import type { InboxCapabilities } from "@esim-webhooks/core";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { StoreServer } from "../store/store-faults.ts";
import { type OpenInbox, withInbox } from "./inbox-context.ts";
import { inboxFaults } from "./inbox-faults.ts";
import { inboxLanes } from "./inbox-lanes.ts";
import { inboxOperations } from "./inbox-operations.ts";
import { inboxPuts } from "./inbox-puts.ts";
import { inboxReplays } from "./inbox-replays.ts";
import { inboxTakes } from "./inbox-takes.ts";

export interface InboxSuiteOptions {
  /** What the inbox states about itself; `ordered` when it was opened with lanes. */
  readonly capabilities: InboxCapabilities;
  readonly open: OpenInbox;
  /** The server of the inbox, a private one, to be killed and paused. Left out where there is none. */
  readonly server?: () => Promise<StoreServer>;
}

/**
 * What `Inbox` promises, against a real one: every state, many at once, lanes where it keeps them, and a server that
 * goes away. Runs under any runner that has `describe` and `it`, given or global.
 */
export function inboxSuite(name: string, options: InboxSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, open, server } = options;
  describe(`inboxSuite: ${name}`, () => {
    it("states its capabilities", () =>
      withInbox(open, { lane: () => "a" }, async (inbox) =>
        assert.deepEqual(inbox.capabilities, capabilities),
      ));
    it("states for how long it remembers done ids, in ms", () =>
      withInbox(open, { retentionMs: 700 }, async (inbox) =>
        assert.equal(inbox.capabilities.retentionMs, 700),
      ));
    for (const [sentence, run] of [...inboxPuts, ...inboxTakes, ...inboxReplays, ...inboxOperations])
      it(sentence, () => run(open));
    if (capabilities.ordered) for (const [sentence, run] of inboxLanes) it(sentence, () => run(open));
    if (server === undefined) return;
    for (const [sentence, run] of inboxFaults) it(sentence, async () => run(open, await server()));
  });
}
