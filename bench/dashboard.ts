// npm run bench -- dashboard: the calls of the dashboard, with a million events on SQLite and on Postgres.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Inbox, InboxEntry, Settlement, TakenEvent } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import type { CallName, Calls } from "../packages/dashboard/src/contract.ts";
import { privatePostgres } from "../test/servers/index.ts";
import { median } from "./measure.ts";
import { line, ms } from "./report.ts";

const events = Number(process.env["EVENTS"] ?? 1_000_000);
const batch = 500;
const esims = events / 20;
const rounds = 15;

/** Of a month, the last event just now. */
const stepMs = (30 * 86_400_000) / events;
const types = ["esim.enabled", "esim.faulted", "esim.balance.updated", "esim.mccswitch"] as const;

export async function benchDashboard(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  const server = await privatePostgres();
  try {
    await benchEngine("SQLite", sqliteInbox({ path: join(folder, "inbox.db"), lane, minuteCounts: true }));
    const inbox = postgresInbox({ url: server.url, lane, minuteCounts: true });
    await inbox.migrate();
    await benchEngine("Postgres", inbox);
  } finally {
    rmSync(folder, { recursive: true });
    await server.close();
  }
}

const lane = ({ data }: { readonly data: { readonly esimReference?: string } }) => data.esimReference;

function entryOf(number: number, beginMs: number): InboxEntry {
  const type = types[number % types.length] ?? "esim.enabled";
  const receivedAt = new Date(beginMs + number * stepMs);
  const timestamp = receivedAt.toISOString();
  const data = { ...sampleData(type), esimReference: referenceOf(number) };
  const id = idOf(number);
  const event = { id, type, timestamp, data };
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { source: "default", id, type, event, body, receivedAt, key: "key:1a2b3c4d" };
}

/** Ids are random for an index. */
function idOf(number: number): string {
  return `msg_${((number * 2_654_435_761) % 2 ** 32).toString(36).padStart(7, "0")}_${number}`;
}

function referenceOf(number: number): string {
  return `esim_${(number * 7919) % esims}`;
}

/** Of a thousand: 970 done, 15 dead, 10 due later, 5 unhandled. */
function endingOf({ source, id, token }: TakenEvent): Settlement {
  const number = Number(id.split("_")[2]);
  const part = (number * 37) % 1000;
  const lease = { source, id, token };
  const error = `Error: order ${number} was refused with ${[404, 409, 422, 500][number % 4]}`;
  const report = { reason: "failed" as const, durationMs: 40, error, worker: "web-1:1:1" };
  if (part < 970) return { ...lease, state: "done" };
  if (part < 985) return { ...lease, state: "dead", error, report };
  if (part < 995) return { ...lease, state: "ready", afterMs: 86_400_000, error, report };
  return { ...lease, state: "unhandled" };
}

async function fill(inbox: Inbox): Promise<void> {
  const beginMs = Date.now() - events * stepMs;
  for (let start = 0; start < events; start += batch) {
    await inbox.put(Array.from({ length: batch }, (_, n) => entryOf(start + n, beginMs)));
    if (start + batch > events * 0.999) continue; // a thousandth is due
    const taken = await inbox.take({ limit: batch, leaseMs: 86_400_000 });
    await inbox.settle(taken.map(endingOf));
  }
}

async function benchEngine(name: string, inbox: Inbox): Promise<void> {
  try {
    await inbox.ready();
    const start = performance.now();
    await fill(inbox);
    console.log(
      `\n${name}, ${events.toLocaleString("en")} events, filled in ${Math.round((performance.now() - start) / 1000)} s`,
    );
    await benchCalls(inbox);
  } finally {
    await inbox.close();
  }
}

async function benchCalls(inbox: Inbox): Promise<void> {
  const dashboard = inboxDashboard(inbox, { authorize: () => ({ role: "viewer", name: "bench" }) });

  async function call<Name extends CallName>(
    name: Name,
    input: Calls[Name]["in"],
  ): Promise<Calls[Name]["out"]> {
    const request = new Request(`http://localhost/api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-esim-webhooks-dashboard": "1" },
      body: JSON.stringify(input),
    });
    const response = await dashboard(request);
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(answer));
    return answer as Calls[Name]["out"];
  }

  async function measure<Name extends CallName>(
    what: string,
    name: Name,
    input: Calls[Name]["in"],
  ): Promise<void> {
    const taken: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = performance.now();
      await call(name, input);
      taken.push(performance.now() - start);
    }
    line(what, `${ms(median(taken))}, ${ms(Math.max(...taken))}`);
  }

  for (const name of ["session", "now", "types", "runs"] as const) await measure(name, name, {});
  const old = {
    since: new Date(Date.now() - 20 * 86_400_000).toISOString(),
    until: new Date(Date.now() - 19 * 86_400_000).toISOString(),
  };
  const filters: Readonly<Record<string, Calls["list"]["in"]["filter"]>> = {
    all: {},
    done: { state: "done" },
    dead: { state: "dead" },
    ready: { state: "ready" },
    unhandled: { state: "unhandled" },
    "a type": { types: ["esim.faulted"] },
    "a type that no event has": { types: ["package.ended"] },
    "dead of a type": { state: "dead", types: ["esim.faulted"] },
    "an eSIM": { subject: referenceOf(4711) },
    "an eSIM that no event has": { subject: "esim_none" },
    "a source that no event has": { source: "another" },
    "the beginning of an id": { idPrefix: idOf(4711).slice(0, 8) },
    "an id": { id: idOf(4711) },
    "a day three weeks ago": old,
    "that day, a type": { ...old, types: ["esim.faulted"] },
    "that day, dead": { ...old, state: "dead" },
    "an error": { error: "refused with 409" },
    "an error that no event has": { error: "no luck" },
    "dead with an error": { state: "dead", error: "refused with 409" },
    "dead with an error that no event has": { state: "dead", error: "no luck" },
  };
  for (const [what, filter] of Object.entries(filters)) {
    await measure(`list: ${what}`, "list", { filter });
    await measure(`count: ${what}`, "count", { filter });
  }
  const { nextCursor } = await call("list", { filter: {} });
  if (nextCursor !== null) await measure("list: the second page", "list", { filter: {}, cursor: nextCursor });
  for (const [what, number] of [
    ["done", 4711],
    ["the newest", events - 1],
  ] as const)
    await measure(`event: ${what}`, "event", { source: "default", id: idOf(number) });
  const [dead] = (await call("list", { filter: { state: "dead" } })).rows;
  if (dead !== undefined) await measure("event: dead", "event", { source: dead.source, id: dead.id });
}
