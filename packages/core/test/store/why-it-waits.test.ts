import { describe, expect, it } from "vitest";
import type { WorkerPresence } from "../../src/store/inbox-figures.ts";
import { type Circumstances, whyItWaits } from "../../src/store/why-it-waits.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const ago = (ms: number) => new Date(now - ms);
const ahead = (ms: number) => new Date(now + ms);

type Waiting = Parameters<typeof whyItWaits>[0];

const due: Waiting = {
  state: "ready",
  type: "esim.faulted",
  attempts: 0,
  dueAt: ago(5000),
  leasedUntil: null,
  error: null,
  history: [],
  heldBy: null,
};

const worker: WorkerPresence = {
  id: "web-1:7:9f3c",
  host: "web-1",
  pid: 7,
  version: "0.1.0",
  startedAt: ago(3_600_000),
  concurrency: 20,
  running: 3,
  lastTakeAt: ago(500),
  seenAt: ago(2000),
};

const failed = {
  endedAt: ago(1000),
  reason: "failed" as const,
  durationMs: 12,
  error: "Error: no CRM",
  worker: worker.id,
  by: null,
  attempts: null,
};
const pause = { type: "esim.faulted", reason: "CRM is down", since: ago(60_000), until: null, by: "ops" };

const cases: readonly [
  name: string,
  event: Partial<Waiting>,
  circumstances: Partial<Circumstances>,
  sentence: string | null,
][] = [
  ["done", { state: "done" }, {}, null],
  ["dead", { state: "dead", dueAt: null, error: "no" }, {}, null],
  ["unhandled", { state: "unhandled" }, {}, null],
  [
    "paused by type",
    {},
    { pauses: [pause] },
    "Its type is paused by ops since 2026-11-20 11:59:00Z, until it is resumed: CRM is down",
  ],
  [
    "paused with all types, for a time",
    {},
    { pauses: [{ ...pause, type: null, by: null, until: ahead(600_000) }] },
    "All types are paused since 2026-11-20 11:59:00Z, until 2026-11-20 12:10:00Z, in 10m 00s: CRM is down",
  ],
  [
    "due, while another type is paused",
    {},
    { pauses: [{ ...pause, type: "esim.enabled" }] },
    "It has been due for 5s: workers first take the events that have been due longer.",
  ],
  [
    "due later, after a failed attempt",
    { attempts: 3, dueAt: ahead(90_000), error: "Error: no CRM", history: [failed] },
    {},
    "Its last attempt failed, and the next one is due at 2026-11-20 12:01:30Z, in 1m 30s.",
  ],
  [
    "due later, as its handler asked",
    { dueAt: ahead(90_000) },
    {},
    "Its handler asked for a later attempt, which is due at 2026-11-20 12:01:30Z, in 1m 30s.",
  ],
  [
    "due at a time that the engine does not know",
    { attempts: 2, dueAt: null, error: "Error: no CRM" },
    {},
    "Its last attempt failed, and the next one follows after a pause; the inbox does not say when.",
  ],
  [
    "behind a leased event of its lane",
    { heldBy: { source: "default", id: "msg_1", state: "leased" } },
    {},
    "Its lane is held by the event msg_1, which a worker is handling.",
  ],
  [
    "behind a ready event of its lane",
    { heldBy: { source: "default", id: "msg_1", state: "ready" } },
    {},
    "Its lane is held by the event msg_1, which occurred before it and waits too.",
  ],
  [
    "behind a dead event of its lane",
    { heldBy: { source: "default", id: "msg_1", state: "dead" } },
    {},
    "Its lane is held by the event msg_1, which is dead: retry or delete that one.",
  ],
  [
    "due, without a worker",
    {},
    { workers: [] },
    "It is due, but no worker has reported in the last 30 s: start one.",
  ],
  [
    "due, while all slots are in use",
    {},
    { workers: [{ ...worker, running: 20 }] },
    "It is due, but all 20 slots of the worker are in use.",
  ],
  [
    "due, while all slots of several workers are in use",
    {},
    {
      workers: [
        { ...worker, running: 20 },
        { ...worker, running: 20 },
      ],
    },
    "It is due, but all 40 slots of the 2 workers are in use.",
  ],
  [
    "due, while no worker asks for events",
    {},
    { workers: [{ ...worker, lastTakeAt: ago(120_000) }] },
    "It is due, but no worker has asked for events since 2026-11-20 11:58:00Z: read the workers' logs.",
  ],
  [
    "due, with workers of which the engine knows little",
    {},
    { workers: [{ ...worker, running: null, concurrency: null, lastTakeAt: null }] },
    "It has been due for 5s: workers first take the events that have been due longer.",
  ],
  [
    "a suspect",
    { attempts: 1, error: "The lease ended.", history: [{ ...failed, reason: "lease_ended" }] },
    {},
    "Its last worker ended while handling it, so the next one handles it alone, as soon as it has no other event.",
  ],
  [
    "leased",
    { state: "leased", attempts: 2, leasedUntil: ahead(30_000) },
    {},
    "A worker is handling it, attempt 2; it may keep it until 2026-11-20 12:00:30Z without a sign of life.",
  ],
  [
    "leased, of an engine that does not know until when",
    { state: "leased", attempts: 2, leasedUntil: null },
    {},
    "A worker is handling it, attempt 2.",
  ],
  [
    "leased, after the lease has ended",
    { state: "leased", attempts: 2, leasedUntil: ago(5000) },
    {},
    "The worker that had it stopped reporting, and its lease ended at 2026-11-20 11:59:55Z: another one takes it soon.",
  ],
  [
    "leased, after the lease has ended, without a worker",
    { state: "leased", attempts: 2, leasedUntil: ago(5000) },
    { workers: [] },
    "The worker that had it stopped reporting, and its lease ended at 2026-11-20 11:59:55Z: another one takes it once a worker runs.",
  ],
];

describe("whyItWaits", () => {
  it.each(cases)("says it of an event that is %s", (_, event, circumstances, sentence) => {
    const all = { now, pauses: [], workers: [worker], ...circumstances };
    expect(whyItWaits({ ...due, ...event }, all)).toBe(sentence);
  });
});
