import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { HandlerContext } from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import {
  entryOf,
  type InboxScenario,
  newEvents,
  stepCatalog,
  stored,
  takingOnly,
  withInbox,
  worked,
} from "./inbox-context.ts";

/** Scenarios for handlers that run longer than their worker lets them. */
export const inboxTimeLimits: readonly InboxScenario[] = [
  [
    "fails an attempt at its time limit, does not start the event again in its process while the abandoned handler runs but leaves it to others, and discards what that returns",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const { type, source } = events;
        const entry = events.entry("a", { data: { step: "" } });
        await stored(inbox, entry);
        const queue = takingOnly(inbox, [type]);
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
        const started: string[] = [];
        const abortedWith: unknown[] = [];
        const hanging = async (_: unknown, { signal }: HandlerContext) => {
          started.push("hanging");
          await hangs.promise;
          abortedWith.push((signal.reason as Error).name);
        };
        const neverStarted = () => void started.push("in another worker");
        try {
          const lines = await worked(queue, { [type]: hanging }, options, () => settles.length >= 2);
          const before = settles.length; // more than 2 if this machine stalled for a lease
          await worked(queue, { [type]: neverStarted }, options, () => settles.length > before);
          const taken = await events.takeInTime(inbox); // as another process does
          assert.deepEqual(await queue.settle([{ ...taken, state: "done" }]), [true]);
          hangs.resolve();
          while (!lines.some(({ ranMs }) => ranMs !== undefined)) await pause(10);
          assert.deepEqual(taken.attempt, 2);
        } finally {
          hangs.resolve();
          unwatch();
        }

        assert.deepEqual(started, ["hanging"]);
        assert.deepEqual(abortedWith, ["TimeoutError"]);
        assert.deepEqual(
          settles.map(({ outcome, reason }) => [outcome, reason]),
          settles.map((_, n) => (n === 0 ? ["retry", "timed_out"] : ["given_back", undefined])),
        );
        assert.deepEqual((await inbox.get(entry))?.state, "done");
      }),
  ],
];

/** Scenarios for time limits in lanes. */
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
