import assert from "node:assert/strict";
import {
  type InboxScenario,
  idsOf,
  newEvents,
  pausedForASecond,
  stored,
  withInbox,
} from "./inbox-context.ts";

const reason = "the CRM is down";
const hourMs = 3_600_000;

/** Scenarios for pauses of the whole inbox. */
export const inboxPauses: readonly InboxScenario[] = [
  [
    "takes nothing while all types are paused, continues to store, and spends no attempts",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        await inbox.pause({ reason });
        try {
          await stored(inbox, events.entry("b"));
          assert.deepEqual(await events.take(inbox), []);
          assert.equal((await inbox.get(events.entry("a")))?.attempts, 0);
        } finally {
          await inbox.resume();
        }
        const taken = await events.take(inbox);
        assert.deepEqual(idsOf(taken).sort(), ["a", "b"]);
        assert.deepEqual(
          taken.map(({ attempt }) => attempt),
          [1, 1],
        );
      }),
  ],
  [
    "states what is paused: since when, until when, by whom and why; and resolves to it when the pause is ended",
    ["admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const until = new Date(Date.now() + hourMs);
        await inbox.pause({ reason: "first" });
        await inbox.pause({ reason: `  ${reason} `, until, by: "ops@example.com" });
        const [paused, ...others] = await inbox.paused();
        const ended = await inbox.resume();
        assert.deepEqual(others, []);
        assert.ok(paused);
        const { since, ...rest } = paused;
        assert.deepEqual(rest, { type: null, reason, until, by: "ops@example.com" });
        assert.ok(Math.abs(since.getTime() - Date.now()) < hourMs);
        assert.deepEqual(ended, [paused]);
        assert.deepEqual(await inbox.paused(), []);
        assert.deepEqual(await inbox.resume(), []);
      }),
  ],
  [
    "ends a pause by itself at its `until`",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const until = await pausedForASecond((until) => inbox.pause({ reason, until }));
        await stored(inbox, events.entry("a"));
        await events.takeInTime(inbox);
        assert.ok(Date.now() >= until.getTime() - 50);
        assert.deepEqual(await inbox.paused(), []);
      }),
  ],
  [
    "refuses a pause without a reason, until a time that has passed, or of a type that the catalog does not have",
    ["admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const invalid = { name: "WebhookError", code: "invalid_option" };
        await assert.rejects(inbox.pause({ reason: " " }), invalid);
        await assert.rejects(inbox.pause({ reason: "x".repeat(501) }), invalid);
        await assert.rejects(inbox.pause({ reason, types: [] }), invalid);
        await assert.rejects(inbox.pause({ reason, until: new Date(Date.now() - 1000) }), invalid);
        await assert.rejects(inbox.pause({ reason, types: ["esim.faultd"] }), {
          code: "unknown_event_type",
          message: /Did you mean "esim\.faulted"\?/,
        });
        assert.deepEqual(await inbox.paused(), []);
      }),
  ],
];
