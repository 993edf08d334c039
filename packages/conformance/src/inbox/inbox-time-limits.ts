import assert from "node:assert/strict";
import type { HandlerContext } from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import {
  entryOf,
  type InboxScenario,
  newEvents,
  oneStored,
  stepCatalog,
  stored,
  takingOnly,
  withInbox,
  worked,
} from "./inbox-context.ts";

/** Scenarios for handlers that run longer than their worker lets them. */
export const inboxTimeLimits: readonly InboxScenario[] = [
  [
    "fails an attempt at its time limit, leaves the event to another worker while the abandoned handler runs, and discards what that returns",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type, source, entry, queue, isIn } = await oneStored(inbox);
        const options = {
          catalog: stepCatalog(type),
          timeoutMs: 20,
          graceMs: 20,
          leaseMs: 1000,
          backoff: () => 0,
        };
        const settles: SettleMessage[] = [];
        const unwatch = observe({
          settle: (message) => void (message.source === source && settles.push(message)),
        });
        const hangs = Promise.withResolvers<void>();
        const attempts: number[] = [];
        const abortedWith: unknown[] = [];
        const hanging = async (_: unknown, { attempt, signal }: HandlerContext) => {
          attempts.push(attempt);
          await hangs.promise;
          abortedWith.push((signal.reason as Error).name);
        };
        const finishing = (_: unknown, { attempt }: HandlerContext) => void attempts.push(attempt);
        await worked(queue, { [type]: hanging }, options, async (lines) => {
          if (settles.length < 2) return false; // it has timed out, and was put off
          await worked(queue, { [type]: finishing }, options, () => isIn("done")); // as another process does
          hangs.resolve();
          return lines.some(({ ranMs }) => ranMs !== undefined);
        }).finally(unwatch);

        assert.deepEqual(attempts, [1, 2]);
        assert.deepEqual(abortedWith, ["TimeoutError"]);
        const [first, second] = settles.map(({ outcome, reason }) => [outcome, reason]);
        assert.deepEqual(first, ["retry", "timed_out"]);
        assert.deepEqual(second, ["retry", undefined]);
        assert.deepEqual((await inbox.get(entry))?.state, "done");
      }),
  ],
];

/** The same for an inbox with lanes. */
export const timeLimitsInLanes: readonly InboxScenario[] = [
  [
    "frees the lane of an event whose handler ran too long, once the event has been handled",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, { lane: () => "one" }, async (inbox) => {
        const { type, source } = newEvents();
        const entries = ["a", "b"].map((id) =>
          entryOf(source, id, type, { step: id }, `2026-01-01T00:00:0${id === "a" ? 0 : 1}Z`),
        );
        await stored(inbox, ...entries);
        const order: string[] = [];
        const handler = async ({ id }: { id: string }, { signal }: HandlerContext) => {
          order.push(id);
          if (order.length > 1) return;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw signal.reason;
        };
        const options = { catalog: stepCatalog(type), timeoutMs: 20, backoff: () => 0 };
        await worked(
          takingOnly(inbox, [type]),
          { [type]: handler },
          options,
          async () => (await inbox.count({ source, state: "done" })) === 2,
        );
        assert.deepEqual(order, ["a", "a", "b"]);
      }),
  ],
];
