import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Inbox, InboxEntry, Replay } from "@esim-webhooks/core";
import {
  type InboxScenario,
  idsOf,
  newEvents,
  type OpenInbox,
  stored,
  type TestEvents,
  withInbox,
} from "./inbox-context.ts";

function replayOf(changes: Partial<Replay> = {}): Replay {
  return { run: randomUUID(), rebuilt: true, ...changes };
}

/** Takes the due events, and settles them as done. Resolves to their ids. */
async function worked(events: TestEvents, inbox: Inbox): Promise<string[]> {
  const taken = await events.take(inbox);
  const done = taken.map(({ source, id, token }) => ({ source, id, token, state: "done" }) as const);
  assert.deepEqual(await inbox.settle(done), Array(taken.length).fill(true));
  return idsOf(taken);
}

async function storedAndDone(
  events: TestEvents,
  inbox: Inbox,
  ...entries: readonly InboxEntry[]
): Promise<void> {
  await stored(inbox, ...entries);
  assert.equal((await worked(events, inbox)).length, entries.length);
}

/** Opens several inboxes on the same data, or one if the inbox is for a single process, and closes them. */
async function withInboxes(
  open: OpenInbox<Inbox>,
  count: number,
  use: (inboxes: readonly [Inbox, ...Inbox[]]) => Promise<void>,
): Promise<void> {
  await withInbox(open, {}, async (first) => {
    const others: Inbox[] = [];
    try {
      while (first.capabilities.multiProcess && others.length < count - 1) others.push(await open({}));
      await use([first, ...others]);
    } finally {
      await Promise.all(others.map((inbox) => inbox.close()));
    }
  });
}

/** Scenarios for imports, which store events and run them again. */
export const inboxReplays: readonly InboxScenario[] = [
  [
    "keeps the replay of an imported event, and takes it with replayed true",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const delivery = { status: "failed", attemptNumber: 3, sentAt: null, note: "\\u0000 \\ \"' 🦓 \n" };
        const replay = replayOf({ delivery });
        await stored(inbox, events.entry("live"), events.entry("imported", { replay }));
        const taken = await events.take(inbox);
        const replayed = taken.map(({ id, replayed }) => `${id} ${replayed}`).sort();
        assert.deepEqual(replayed, ["imported true", "live false"]);
        const key = { source: events.source, id: "imported" };
        assert.deepEqual((await inbox.get(key))?.replay, replay);
        assert.equal((await inbox.get({ ...key, id: "live" }))?.replay, null);
        const { rows } = await inbox.list({ types: [events.type], ids: ["imported"] });
        assert.deepEqual(rows[0]?.replay, replay);
        await inbox.settle(taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
        assert.deepEqual((await inbox.get(key))?.replay, replay);
      }),
  ],
  [
    "stores an event whose replay has NUL, lone surrogates or names that a database refuses",
    ["writer", "queue", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const odd = ["\0", "a\0b", "\ud800", "\udc00\ud800", "\\\0", '"\\\ud83d\\', "\\u0000\0", "__proto__"];
        const entries = odd.map((text, n) =>
          events.entry(`msg_${n}`, { replay: replayOf({ run: `run ${text}`, delivery: { [text]: text } }) }),
        );
        await storedAndDone(events, inbox, ...entries);
        assert.deepEqual(await inbox.rerun(entries), Array(odd.length).fill(false));
        const next = entries.map((entry, n) => ({ ...entry, replay: replayOf({ run: `next ${odd[n]}` }) }));
        assert.deepEqual(await inbox.rerun(next), Array(odd.length).fill(true));
        assert.equal((await worked(events, inbox)).length, odd.length);
        assert.deepEqual(await inbox.rerun(next), Array(odd.length).fill(false));
      }),
  ],
  [
    "reports a conflict for another body only if both are signed or both are rebuilt, otherwise a duplicate",
    ["writer", "queue", "admin"],
    async (open) => {
      const made = {
        signed: {},
        "signed, of a dump": { replay: replayOf({ rebuilt: false }) },
        rebuilt: { replay: replayOf() },
      };
      await withInbox(open, {}, async (inbox) => {
        for (const isDone of [false, true]) {
          for (const [first, before] of Object.entries(made)) {
            for (const [second, changes] of Object.entries(made)) {
              const events = newEvents();
              const entry = events.entry("a", before);
              if (isDone) await storedAndDone(events, inbox, entry);
              else await stored(inbox, entry);
              const other = { ...events.entry("a", changes), body: Buffer.from("other") };
              const sameWay = (first === "rebuilt") === (second === "rebuilt");
              assert.deepEqual(await inbox.put([other]), [sameWay ? "conflict" : "already_stored"]);
              assert.deepEqual(await inbox.put([{ ...other, body: entry.body }]), ["already_stored"]);
              const row = await inbox.get(entry);
              assert.deepEqual([row?.conflicts, row?.replay], [sameWay ? 1 : 0, entry.replay ?? null]);
              const twice = [events.entry("b", before), events.entry("b", { ...changes, body: other.body })];
              assert.deepEqual(await inbox.put(twice), ["stored", sameWay ? "conflict" : "already_stored"]);
            }
          }
        }
      });
    },
  ],
  [
    "makes a done event ready with the new body, and counts its tries anew but not its attempts",
    ["writer", "queue", "admin", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await storedAndDone(events, inbox, events.entry("a"), events.entry("b"));
        const replay = replayOf({ delivery: { status: "exhausted" } });
        const again = events.entry("a", {
          replay,
          data: { of: "the dump" },
          receivedAt: new Date(86_400_000),
        });
        assert.deepEqual(await inbox.rerun([again]), [true]);
        const row = await inbox.get(again);
        assert.deepEqual([row?.state, row?.attempts, row?.error], ["ready", 1, null]);
        assert.deepEqual([row?.replay, row?.receivedAt], [replay, again.receivedAt]);
        assert.deepEqual(Buffer.from(row?.body ?? []), again.body);
        const taken = await events.take(inbox);
        assert.deepEqual(
          taken.map(({ id, attempt, tries, replayed }) => ({ id, attempt, tries, replayed })),
          [{ id: "a", attempt: 2, tries: 1, replayed: true }],
        );
        assert.deepEqual(Buffer.from(taken[0]?.body ?? []), again.body);
        assert.deepEqual(await inbox.put([again]), ["already_stored"]);
      }),
  ],
  [
    "answers rerun one to one, and changes no event that is not done",
    ["writer", "queue", "admin", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("done"), events.entry("leased"), events.entry("dead"));
        for (const { source, id, token } of await events.take(inbox)) {
          const error = "Error: broken";
          if (id !== "leased")
            await inbox.settle([{ source, id, token, state: id as "done" | "dead", error }]);
        }
        await stored(inbox, events.entry("ready"));
        const ids = ["absent", "ready", "leased", "dead", "done"];
        const rowsOf = () => Promise.all(ids.map((id) => inbox.get({ source: events.source, id })));
        const before = await rowsOf();
        const replay = replayOf();
        const entries = ids.map((id) => events.entry(id, { replay, body: Buffer.from("other") }));
        assert.deepEqual(await inbox.rerun(entries), [false, false, false, false, true]);
        assert.deepEqual((await rowsOf()).slice(0, 4), before.slice(0, 4));
        assert.deepEqual(await inbox.rerun([]), []);
      }),
  ],
  [
    "runs an event again once per run, and never for the run that stored it or an earlier run",
    ["writer", "queue", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const [first, second, third] = [replayOf(), replayOf(), replayOf()];
        const by = (replay: Replay) => inbox.rerun([events.entry("a", { replay })]);
        await storedAndDone(events, inbox, events.entry("a", { replay: first }));
        assert.deepEqual(await by(first), [false]);
        for (const replay of [second, third]) {
          assert.deepEqual(await by(replay), [true]);
          assert.deepEqual(await by(replay), [false]);
          assert.deepEqual(await worked(events, inbox), ["a"]);
          for (const past of [first, second]) assert.deepEqual(await by(past), [false]);
        }
        const replay = replayOf();
        const twice = [events.entry("a", { replay }), events.entry("a", { replay })];
        assert.deepEqual(await inbox.rerun(twice), [true, false]);
      }),
  ],
  [
    "runs each done event again once when many concurrent calls name the same run while workers work",
    ["writer", "queue", "rerun"],
    (open) =>
      withInboxes(open, 6, async (inboxes) => {
        const events = newEvents();
        const ids = Array.from({ length: 60 }, (_, n) => `msg_${n}`);
        await storedAndDone(events, inboxes[0], ...ids.map((id) => events.entry(id)));
        for (let round = 0; round < 5; round++) {
          const replay = replayOf();
          const entries = ids.map((id) => events.entry(id, { replay }));
          const again: string[] = [];
          const asking = Array.from({ length: 12 }, async (_, n) => {
            const shuffled = n % 2 === 0 ? entries : [...entries].reverse();
            const inbox = inboxes[n % inboxes.length] ?? inboxes[0];
            for (let i = 0; i < shuffled.length; i += 15) {
              const part = shuffled.slice(i, i + 15);
              const made = await inbox.rerun(part);
              again.push(...idsOf(part.filter((_, at) => made[at])));
            }
          });
          const runs: string[] = [];
          const asked = Promise.all(asking).then(() => true);
          const working = inboxes.slice(0, 3).map(async (inbox) => {
            for (let isAsked = false; !isAsked; ) {
              isAsked = await Promise.race([
                asked,
                new Promise<false>((resolve) => setImmediate(resolve, false)),
              ]);
              runs.push(...(await worked(events, inbox)));
            }
          });
          await Promise.all([asked, ...working]);
          runs.push(...(await worked(events, inboxes[0])));
          assert.deepEqual(again.sort(), [...ids].sort());
          assert.deepEqual(runs.sort(), [...ids].sort());
        }
      }),
  ],
  [
    "refuses to run again an entry without a replay, and changes no other entry of the call",
    ["writer", "queue", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await storedAndDone(events, inbox, events.entry("a"), events.entry("b"));
        const entries = [events.entry("a", { replay: replayOf() }), events.entry("b")];
        await assert.rejects(inbox.rerun(entries), { name: "WebhookError", code: "invalid_input" });
        assert.deepEqual(await events.take(inbox), []);
      }),
  ],
];
