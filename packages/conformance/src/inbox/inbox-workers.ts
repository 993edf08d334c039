import assert from "node:assert/strict";
import type { HandlerContext, InboxQueue } from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import { oddThrows } from "../base/odd-throws.ts";
import { longLeaseMs } from "../store/store-context.ts";
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

/** Scenarios for a worker on the inbox. */
export const inboxWorkers: readonly InboxScenario[] = [
  [
    "keeps an event of a type that the catalog does not have, until it is redriven for a worker that handles its family",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type: family, source } = newEvents();
        const [known, unknown] = [`${family}.known`, `${family}.unknown`];
        const catalog = stepCatalog(known);
        const data = { step: 7, nested: [{ anything: null }] };
        const kept = entryOf(source, "a", unknown, data);
        await stored(inbox, kept);
        const queue = takingOnly(inbox, [known, unknown]);
        const isIn = async (state: string) => (await inbox.get(kept))?.state === state;

        const first = await worked(queue, { [known]: () => {} }, { catalog }, () => isIn("unhandled"));
        const warnings = first.filter(({ level }) => level === "warn");
        assert.deepEqual(warnings, [{ level: "warn", type: unknown, source }]);

        const seen: unknown[] = [];
        const handlers = {
          [`${family}.*`]: ({ type, data }: { type: string; data: unknown }) => void seen.push([type, data]),
        };
        const second = await worked(queue, handlers, { catalog }, (lines) => lines.length > 0);
        assert.deepEqual(second, [{ level: "info", events: 1 }]);
        assert.ok(await isIn("unhandled"));

        assert.equal(await inbox.redrive({ state: "unhandled", types: [unknown] }), 1);
        await worked(queue, handlers, { catalog }, () => isIn("done"));
        assert.deepEqual(seen, [[unknown, data]]);
      }),
  ],
  [
    "logs each way into dead as one error, with id, type, attempt and cause and without the payload, and publishes it",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type, source } = newEvents();
        const catalog = stepCatalog(type);
        const queue = takingOnly(inbox, [type]);
        const entry = (id: string, step: unknown) => entryOf(source, id, type, { step });
        await stored(inbox, entry("attempts", "secret"));
        const [taken] = await queue.take({ limit: 1, leaseMs: longLeaseMs });
        assert.equal(taken?.type, type);
        await queue.settle([{ ...taken, state: "retry", afterMs: 0, error: "its worker ended" }]);
        await stored(
          inbox,
          entry("invalid", 8932042),
          entry("failed", "fail"),
          entry("retry_later", "later"),
        );

        const published: SettleMessage[] = [];
        const unwatch = observe({
          settle: (message) => void (message.source === source && published.push(message)),
        });
        const lines = await worked(
          queue,
          {
            [type]: ({ data }, context) => {
              if (data["step"] === "later") return context.retryLater(0);
              throw new Error("out of stock");
            },
          },
          { catalog, maxAttempts: 1, maxWaitMs: 0 },
          async () => (await inbox.count({ source, state: "dead" })) === 4,
        ).finally(unwatch);

        const causes: Readonly<Record<string, string>> = {
          attempts:
            "It was tried as often as this worker allows (maxAttempts: 1). Its history says how each attempt ended.",
          failed: "Error: out of stock",
          invalid: "invalid: data.step: expected a string",
          retry_later: "The handler asked for retries for longer than maxWaitMs, 0 ms.",
        };
        const errors = lines
          .filter(({ level }) => level === "error")
          .sort((a, b) => (String(a["id"]) < String(b["id"]) ? -1 : 1));
        assert.deepEqual(
          errors.map(({ err, durationMs: _, waitMs: __, ...line }) => ({
            ...line,
            err: err instanceof Error ? err.message : err,
          })),
          Object.entries(causes).map(([id, cause]) => ({
            level: "error",
            id,
            type,
            source,
            attempt: id === "attempts" ? 2 : 1,
            outcome: "dead",
            reason: id,
            cause: id === "invalid" ? "invalid: data.step: does not fit the schema" : cause, // a user's schema: its message may quote the value
            remedy: "Fix the cause, then retry it: esim-webhooks inbox retry.",
            err: id === "failed" ? "out of stock" : undefined,
          })),
        );
        assert.ok(!JSON.stringify(lines).includes("8932042"));
        for (const [id, cause] of Object.entries(causes))
          assert.equal((await inbox.get({ source, id }))?.error, cause);
        assert.deepEqual(
          published.map(({ id, type, outcome, reason }) => [id, type, outcome, reason]).sort(),
          Object.keys(causes).map((id) => [id, type, "dead", id]),
        );
      }),
  ],
  [
    "fails an attempt with its reason whatever a handler throws, and works the next event",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type, source } = newEvents();
        const odd = new Map(oddThrows().map((it) => [it.of, it]));
        await stored(inbox, ...Array.from(odd.keys(), (id) => entryOf(source, id, type, { step: "" })));
        let calls = 0;
        const throwOdd = ({ id }: { id: string }, { retryLater }: HandlerContext) => {
          calls += 1;
          if (calls % 3 === 1) throw odd.get(id)?.thrown;
          if (calls % 3 === 2) return Promise.reject(odd.get(id)?.thrown);
          return Promise.reject()
            .catch(() => retryLater())
            .catch(() => {
              throw odd.get(id)?.thrown;
            });
        };
        const lines = await worked(
          takingOnly(inbox, [type]),
          { [type]: throwOdd },
          { catalog: stepCatalog(type), maxAttempts: 1 },
          async () => (await inbox.count({ source, state: "dead" })) === odd.size,
        );
        assert.equal(calls, odd.size);
        const errors = lines.filter(({ level }) => level === "error");
        for (const { of: id, reason } of odd.values()) {
          const { error = null, history = [] } = (await inbox.get({ source, id })) ?? {};
          assert.deepEqual([id, error], [id, reason]);
          assert.deepEqual(
            history.map((attempt) => [attempt.reason, attempt.error]),
            [["failed", reason]],
          );
          assert.deepEqual(
            errors.filter((line) => line["id"] === id).map(({ cause }) => cause),
            [reason],
          );
        }
      }),
  ],
  [
    "shows the stack of what a handler threw with the event only: lists and filters have its message and that of its cause",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type, source, entry, queue, isIn } = await oneStored(inbox);
        const outOfStock = () => {
          throw new Error("out of stock:\nnone left", { cause: new Error("connect ECONNREFUSED") });
        };
        const options = { catalog: stepCatalog(type), maxAttempts: 1 };
        await worked(queue, { [type]: outOfStock }, options, () => isIn("dead"));

        const { error, stack } = (await inbox.get(entry)) ?? {};
        assert.equal(error, "Error: out of stock:\nnone left: caused by: Error: connect ECONNREFUSED");
        const frames = stack?.split("\n") ?? [];
        assert.match(frames[0] ?? "", /^at .*outOfStock.*:\d+:\d+/);
        assert.deepEqual(
          frames.filter((frame) => !frame.startsWith("at ")),
          [],
        );
        const { rows } = await inbox.list({ source, error: "ECONNREFUSED" });
        assert.deepEqual(
          rows.map((row) => [row.error, "stack" in row]),
          [[error, false]],
        );
        assert.equal(await inbox.count({ source, error: "outOfStock" }), 0);
      }),
  ],
  [
    "counts each start of a handler as an attempt, but spends no try when it calls retryLater",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type, queue, isIn } = await oneStored(inbox);
        const attempts: number[] = [];
        const handler = (_: unknown, { attempt, retryLater }: HandlerContext) => {
          attempts.push(attempt);
          return attempts.length < 5 ? retryLater(1) : undefined;
        };
        const options = { catalog: stepCatalog(type), maxAttempts: 1 };
        const lines = await worked(queue, { [type]: handler }, options, () => isIn("done"));
        assert.deepEqual(attempts, [1, 2, 3, 4, 5]);
        assert.deepEqual(alarming(lines), []);
      }),
  ],
  [
    "lets an event, also an old one, wait for maxWaitMs from its handler's first retryLater on, and again after a redrive",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const receivedAt = new Date(Date.now() - 30 * 86_400_000);
        const replay = { run: "of last month", rebuilt: false };
        const { type, source, queue, isIn } = await oneStored(inbox, { receivedAt, replay });
        const options = { catalog: stepCatalog(type), maxWaitMs: 1 };
        for (const [life, attempts] of [
          ["stored", 2],
          ["redriven", 4],
        ] as const) {
          let asked = 0;
          const handler = (_: unknown, context: HandlerContext) => {
            asked += 1;
            return context.retryLater(10);
          };
          const lines = await worked(queue, { [type]: handler }, options, () => isIn("dead"));
          assert.equal(asked, 2, life);
          assert.deepEqual(
            alarming(lines).map(({ outcome, reason, attempt }) => [outcome, reason, attempt]),
            [["dead", "retry_later", attempts]],
          );
          await inbox.redrive({ source });
        }
      }),
  ],
  [
    "starts no handler after its lease has ended, and warns with the type of the handler that blocked the event loop",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type, source } = newEvents();
        const [blocking, quick] = [`${type}.blocking`, `${type}.quick`];
        const catalog = stepCatalog(blocking, quick);
        const leaseMs = 500;
        await stored(inbox, entryOf(source, "msg_0", blocking, { step: "" }));
        const quicks = Array.from({ length: 19 }, (_, n) => `msg_${n + 1}`);
        await stored(inbox, ...quicks.map((id) => entryOf(source, id, quick, { step: "" })));
        const queue = takingOnly(inbox, [blocking, quick]);
        const leasedAt = new Map<string, number>(); // or renewed at
        const timed: InboxQueue = {
          ...queue,
          async take(options) {
            const now = performance.now();
            const taken = await queue.take(options);
            for (const { id } of taken) leasedAt.set(id, now);
            return taken;
          },
          async extend(leases, ms) {
            const now = performance.now();
            const renewed = await queue.extend(leases, ms);
            for (const [index, { id }] of leases.entries()) if (renewed[index]) leasedAt.set(id, now);
            return renewed;
          },
        };
        const late: string[] = [];
        const checked = ({ id }: { id: string }) => {
          if (performance.now() >= (leasedAt.get(id) ?? 0) + leaseMs) late.push(id);
        };
        let blocks = 1;
        const handlers = {
          [blocking]: (event: { id: string }) => {
            checked(event);
            if (blocks-- > 0)
              for (const until = performance.now() + 2 * leaseMs; performance.now() < until; );
          },
          [quick]: checked,
        };
        const lines = await worked(
          timed,
          handlers,
          { catalog, leaseMs },
          async () => (await inbox.count({ source, state: "done" })) === 20,
        );
        assert.deepEqual(late, []);
        const found = lines.filter((line) => line["level"] === "warn" && "blockedMs" in line);
        // a machine that stalls is warned of, too, with other types or none
        assert.ok(
          found.some(({ types }) => String(types) === blocking),
          JSON.stringify(found),
        );
      }),
  ],
];

/** Leaves out the lines of the level `info`, which report normal operation. */
function alarming(lines: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return lines.filter(({ level }) => level !== "info");
}
