// npm run bench -- dashboard: the calls of the dashboard, with a million events on SQLite and on Postgres.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Inbox } from "@esim-webhooks/core";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import type { CallName, Calls } from "../packages/dashboard/src/contract.ts";
import { privatePostgres } from "../test/servers/index.ts";
import { median } from "./measure.ts";
import { line, ms } from "./report.ts";

const events = 1_000_000;
const esims = events / 20;
const rounds = 15;

export async function benchDashboard(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  const server = await privatePostgres();
  try {
    await benchSqlite(join(folder, "inbox.db"));
    await benchPostgres(server.url);
  } finally {
    rmSync(folder, { recursive: true });
    await server.close();
  }
}

/**
 * A row of SQL with the number `n`, of a month, the last one just now. Of a thousand, 970 are done, 15 dead, 10 due later and 5
 * unhandled, and a thousandth at the end is due. Each eSIM has twenty. `at` is its time, and `bytes` makes a body of a text.
 */
function rowOf(at: string, later: string, bytes: (text: string) => string): string {
  const part = "(n * 37 % 1000)";
  const state = `case when n > ${events * 0.999} or ${part} between 985 and 994 then 'ready' when ${part} < 970 then 'done'
    when ${part} < 985 then 'dead' else 'unhandled' end`;
  const type = `case n % 4 when 0 then 'esim.enabled' when 1 then 'esim.faulted' when 2 then 'esim.balance.updated' else 'esim.mccswitch' end`;
  const hasFailed = `n <= ${events * 0.999} and ${part} between 970 and 994`;
  const error = `'Error: order ' || n || ' was refused with ' || (404 + n % 4)`;
  const body = bytes(
    `'{"type":"' || ${type} || '","timestamp":"2026-11-20T09:30:00Z","data":{"esimReference":"' || ${subject} || '"}}'`,
  );
  return `'default', ${idOf}, ${state}, ${type}, ${at}, ${at}, ${subject}, ${subject}, 1, 'key:1a2b3c4d',
    case when ${hasFailed} then ${error} end,
    case when ${state} = 'ready' then case when n > ${events * 0.999} then ${at} else ${later} end end,
    case when ${state} in ('done', 'unhandled') then ${later} end,
    case when ${state} = 'done' then null else ${body} end`;
}

const columns =
  "source, id, state, type, received_at, occurred_at, subject, lane, attempts, key, error, due_at, kept_until, body";
const idOf = "'msg_' || (n * 2654435761 % 4294967296) || '_' || n"; // random for an index
const subject = `'esim_' || (n * 7919 % ${esims})`;

function idOfNumber(number: number): string {
  return `msg_${(BigInt(number) * 2_654_435_761n) % 4_294_967_296n}_${number}`;
}

const lane = ({ data }: { readonly data: { readonly esimReference?: string } }) => data.esimReference;

async function benchSqlite(path: string): Promise<void> {
  const inbox = sqliteInbox({ path, lane, minuteCounts: true });
  await inbox.ready();
  const database = new DatabaseSync(path);
  const stepMs = (30 * 86_400_000) / events;
  const row = rowOf(
    `cast(${Date.now()} - (${events} - n) * ${stepMs} as integer)`,
    `${Date.now() + 86_400_000}`,
    (text) => `cast(${text} as blob)`,
  );
  database.exec(
    `insert into esim_webhooks_event (${columns})
    with recursive number (n) as (select 1 union all select n + 1 from number where n < ${events}) select ${row} from number`,
  );
  database.close();
  await benchEngine("SQLite", inbox);
}

async function benchPostgres(url: string): Promise<void> {
  const inbox = postgresInbox({ url, lane, minuteCounts: true });
  await inbox.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const row = rowOf(
    `now() - (${events} - n) * interval '30 days' / ${events}`,
    "now() + interval '1 day'",
    (text) => `convert_to(${text}, 'UTF8')`,
  );
  await client.query(
    `insert into esim_webhooks.event (${columns}) select ${row} from generate_series(1::bigint, ${events}) as n`,
  );
  await client.query("vacuum analyze esim_webhooks.event");
  await client.query("checkpoint"); // otherwise Postgres would write the filled pages during the rounds
  await client.end();
  await benchEngine("Postgres", inbox);
}

async function benchEngine(name: string, inbox: Inbox): Promise<void> {
  console.log(
    `\n${name}, ${events.toLocaleString("en")} events: fastest, median, slowest of ${rounds} calls`,
  );
  try {
    await benchCalls(inbox);
  } finally {
    await inbox.close();
  }
}

async function benchCalls(inbox: Inbox): Promise<void> {
  const dashboard = inboxDashboard(inbox, { authorize: () => ({ role: "operator", name: "bench" }) });

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
    line(what, [Math.min(...taken), median(taken), Math.max(...taken)].map(ms).join(", "));
  }

  for (const name of ["session", "gauges", "now", "types", "runs"] as const) await measure(name, name, {});
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
    "an eSIM": { subject: "esim_4711" },
    "an eSIM that no event has": { subject: "esim_none" },
    "a source that no event has": { source: "another" },
    "the beginning of an id": { idPrefix: idOfNumber(4711).slice(0, 8) },
    "an id": { ids: [idOfNumber(4711)] },
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
  await measure("erasable: an eSIM", "erasable", { subject: "esim_4711" });
  const { nextCursor } = await call("list", { filter: {} });
  if (nextCursor !== null) await measure("list: the second page", "list", { filter: {}, cursor: nextCursor });
  for (const [what, number] of [
    ["done", 4711],
    ["the newest", events],
  ] as const)
    await measure(`event: ${what}`, "event", { source: "default", id: idOfNumber(number) });
  const [dead] = (await call("list", { filter: { state: "dead" } })).rows;
  if (dead !== undefined) await measure("event: dead", "event", { source: dead.source, id: dead.id });
  const retried = Array.from({ length: 500 }, (_, index) => idOfNumber(1 + index * (events / 500)));
  await measure("progress: 500 retried events", "progress", { source: "default", ids: retried });
  for (const state of ["ready", "leased", "done", "unhandled", "dead"] as const)
    await measure(`types: a page, ${state}`, "typeCounts", { state });
}
