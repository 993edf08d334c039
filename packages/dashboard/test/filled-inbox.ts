import type { EsimEvents, Inbox, InboxEntry, Settlement, TakenEvent } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

const hourMs = 3_600_000;

const types = [
  "esim.enabled",
  "esim.balance.updated",
  "esim.faulted",
  "esim.lifecycle.suspended",
  "esim.mccswitch",
  "esim.installed",
  "package.ended",
] as const satisfies readonly (keyof EsimEvents)[];

/** One of a list, the same for the same number. */
function pick<Item>(items: readonly Item[], number: number): Item {
  return items[number % items.length] as Item;
}

/** The event with this number. Events are a minute apart, and the last of `total` was received just now. */
export function numberedEntry(number: number, total: number, stepMs = 60_000): InboxEntry {
  const type = pick(types, Math.floor(number * 1.7));
  const receivedAt = new Date(Date.now() - (total - 1 - number) * stepMs);
  const timestamp = new Date(receivedAt.getTime() - 400).toISOString();
  const esimReference = `7301552840966${String(10_000 + ((number * 7) % Math.ceil(total / 6)))}`;
  const data = { ...sampleData(type), esimReference };
  const id = `msg_${number.toString(36).padStart(5, "0")}${((number * 2_654_435_761) % 2 ** 32).toString(36).padStart(7, "0")}`;
  const text = JSON.stringify({ type, timestamp, data });
  // more digits than a JavaScript number holds
  const body = Buffer.from(text.replace('"balanceAfter":4200', '"balanceAfter":12345678901234567.890'));
  const event = { id, type, timestamp, data };
  const isImported = number % 40 === 39;
  return {
    source: number % 25 === 24 ? "partner-b" : "default",
    id,
    type,
    event,
    body,
    receivedAt,
    ...(isImported
      ? { replay: { run: "reconcile-2026-11-20", rebuilt: true, delivery: { status: "exhausted" } } }
      : { key: number > total / 2 ? "key:5f0c9a1e" : "key:1a2b3c4d" }),
  };
}

const errors = [
  "TypeError: fetch failed: caused by: Error: connect ECONNREFUSED 10.0.4.17:443",
  "TypeError: Cannot read properties of undefined (reading 'iccid')",
  'Error: CRM answered 422: {"code":"E1204","message":"unknown subscriber"}',
  "TimeoutError: the handler did not end within 25000 ms",
  'Error: order <b onclick="alert(1)">4711</b> was refused',
];

function errorOf(number: number): string {
  const error = pick(errors, Math.floor(number / 3));
  return `${error}\n    at handle (file:///app/handlers.js:${10 + (number % 5)}:11)\n    at run (file:///app/node_modules/work.js:3:1)`;
}

/** How the event with this number ends. Of each hundred, some 84 are done, 7 dead, 3 unhandled, and the others wait. */
function endingOf(number: number | undefined, taken: TakenEvent): Settlement {
  const { source, id, token, attempt } = taken;
  const lease = { source, id, token };
  if (number === undefined) return { ...lease, state: "dead", error: "invalid: the body is not an envelope" };
  const part = (number * 37) % 100;
  const error = errorOf(number);
  const report = {
    reason: error.startsWith("TimeoutError") ? ("timed_out" as const) : ("failed" as const),
    durationMs: 40 + (number % 900),
    error: error.split("\n")[0] ?? "",
    worker: "web-1:4711:9f3c2a",
  };
  if (part < 84) return { ...lease, state: "done" };
  if (part < 91) {
    return attempt < 3
      ? { ...lease, state: "retry", afterMs: 0, error, report }
      : { ...lease, state: "dead", error, report };
  }
  if (part < 94) return { ...lease, state: "unhandled" };
  if (part < 98) return { ...lease, state: "retry", afterMs: hourMs + (number % 7) * 60_000, error, report };
  return { ...lease, state: "waiting", afterMs: 2 * hourMs, error: "retryLater: the order is not ready yet" };
}

/**
 * Fills an inbox as months of use would: with events in all states, of many eSIMs, with histories, conflicts, imports, runs, pauses and
 * workers. The last events are left as they were stored.
 */
export async function fill(inbox: Inbox, total: number): Promise<void> {
  const entries = Array.from({ length: total }, (_, number) => numberedEntry(number, total));
  const numbers = new Map(entries.map(({ id }, number) => [id, number]));
  const untouched = Math.ceil(total / 40);
  await putAll(inbox, [notAnEvent(), ...entries.slice(0, -untouched)]);
  for (;;) {
    const taken = await inbox.take({ limit: 200, leaseMs: hourMs });
    if (taken.length === 0) break;
    await inbox.settle(taken.map((each) => endingOf(numbers.get(each.id), each)));
  }
  await putAll(inbox, entries.slice(-untouched));
  await inbox.take({ limit: 3, leaseMs: 10 * hourMs });
  await putAll(
    inbox,
    entries
      .filter((_, number) => number % 200 === 17)
      .map((entry) => ({ ...entry, body: Buffer.from("{}"), event: null })),
  );
  await inbox.pause({ types: ["esim.balance.updated"], reason: "CRM is down until noon", by: "ops-1" });
  await note(inbox);
  await report(inbox);
}

function notAnEvent(): InboxEntry {
  return {
    source: "default",
    id: "msg_not_an_event",
    type: null,
    event: null,
    body: Buffer.from("<html><script>alert(1)</script></html>"),
    receivedAt: new Date(),
    key: "key:5f0c9a1e",
  };
}

async function putAll(inbox: Inbox, entries: readonly InboxEntry[]): Promise<void> {
  for (let start = 0; start < entries.length; start += 500)
    await inbox.put(entries.slice(start, start + 500));
}

async function note(inbox: Inbox): Promise<void> {
  const day = 24 * hourMs;
  for (const [daysAgo, outcome] of [
    [3, "complete"],
    [2, "interrupted"],
    [1, "complete"],
  ] as const) {
    const startedAt = new Date(Date.now() - daysAgo * day);
    const endedAt = new Date(startedAt.getTime() + 42_000);
    await inbox.noteRun({
      kind: daysAgo === 3 ? "import" : "reconcile",
      run: daysAgo === 3 ? "import-2026-11-17" : `reconcile-${startedAt.toISOString().slice(0, 10)}`,
      source: "default",
      startedAt,
      endedAt,
      outcome,
      ledger: { read: 1200, stored: 14, duplicate: 1180, conflict: 1, invalid: 2, filtered: 3, rejected: 0 },
    });
  }
}

/** Two workers report, as they do every ten seconds. */
export async function report(inbox: Pick<Inbox, "report">): Promise<void> {
  for (const [host, running] of [
    ["web-1", 7],
    ["web-2", 20],
  ] as const)
    await inbox.report?.({
      id: `${host}:4711:9f3c2a`,
      host,
      pid: 4711,
      version: "0.1.0",
      concurrency: 20,
      running,
      startedMsAgo: 5 * hourMs,
      sinceLastTakeMs: 300,
    });
}
