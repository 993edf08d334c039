// npm run bench -- operators: what operators ask an inbox, and what a pause costs others, with a million events on SQLite, Postgres and BullMQ.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Inbox, InboxFilter } from "@esim-webhooks/core";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { privatePostgres, privateRedis } from "../test/servers/index.ts";
import { entriesOf } from "./inbox-entries.ts";
import { median } from "./measure.ts";
import { line, ms } from "./report.ts";

const events = 1_000_000;
const rounds = 15;
const taken = 20;
const batchSize = 1000;
const mostTakes = 1000;
const concurrentEvents = 10_000;
const pausedType = "esim.balance.updated";

/** An inbox, and how events are put into its table past it. */
interface Filled {
  readonly inbox: Inbox;
  /** A million rows of a state and type, received that many ms apart; the ready ones are due, before all others. */
  fill(state: "done" | "ready", type: string, apartMs: 0 | 1): Promise<void>;
  /** A million rows that are due, before all others, in that many lanes: the first one of each lane is of the paused type. */
  fillLanes(lanes: number): Promise<void>;
  close(): Promise<void>;
}

export async function benchOperators(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  const server = await privatePostgres();
  try {
    let opened = 0;
    await benchEngine("SQLite", () => openSqlite(join(folder, `${opened++}.db`)));
    await benchEngine("Postgres", () => openPostgres(server.url, `bench_${opened++}`));
  } finally {
    rmSync(folder, { recursive: true });
    await server.close();
  }
  await benchBullmqGauges();
}

/** A million jobs are waiting, and then all of them have ended. */
async function benchBullmqGauges(): Promise<void> {
  const server = await privateRedis();
  const redis = new Redis(server.url);
  const queue = new Queue("bench", { connection: { url: server.url } });
  const inbox = bullmqInbox({ queue });
  try {
    title("BullMQ");
    for (let put = 0; put < events; put += batchSize) await inbox.put(entriesOf(batchSize, batchSize));
    await measure("gauges, all due", () => inbox.gauges());
    await redis.eval(
      `for begin = 0, ${events} - 1, 1000 do
        local done = {}
        for at, id in ipairs(redis.call("lrange", KEYS[1], begin, begin + 999)) do
          done[2 * at - 1], done[2 * at] = begin + at, id
        end
        redis.call("zadd", KEYS[2], unpack(done))
      end
      return redis.call("del", KEYS[1])`,
      2,
      queue.toKey("wait"),
      queue.toKey("completed"),
    );
    await measure("gauges, all done", () => inbox.gauges());
  } finally {
    await queue.close();
    redis.disconnect();
    await server.close();
  }
}

function title(engine: string): void {
  console.log(
    `\n${engine}, ${events.toLocaleString("en")} events: fastest, median, slowest of ${rounds} calls`,
  );
}

async function benchEngine(name: string, open: () => Promise<Filled>): Promise<void> {
  title(name);
  const done = await open();
  await done.fill("done", "esim.enabled", 1);
  await measure("gauges, all done", () => done.inbox.gauges());
  await measureList(done.inbox);
  await measurePages("", done.inbox);
  await done.close();

  const crowded = await open();
  await crowded.fill("done", "esim.enabled", 0);
  await measurePages(", all received in the same ms", crowded.inbox);
  await crowded.close();

  const beside = await benchBesideDone(open);
  await benchPause("all of a paused type", beside, open, (inbox) => inbox.fill("ready", pausedType, 1));
  for (const lanes of [10_000, 50_000])
    await benchPause(
      `in ${lanes.toLocaleString("en")} lanes, behind one of a paused type`,
      beside,
      open,
      (inbox) => inbox.fillLanes(lanes),
    );
}

/** Takes: the median time of one, in ms, the p99 of a put beside them, in ms, and events a second. */
interface Takes {
  readonly take: number;
  readonly p99: number;
  readonly rate: number;
}

async function benchTakes(inbox: Inbox): Promise<Takes> {
  return { take: await measureTakes(inbox), ...(await measureTakers(inbox)) };
}

async function benchBesideDone(open: () => Promise<Filled>): Promise<Takes> {
  console.log("  a million events that are done:");
  const filled = await open();
  await filled.fill("done", "esim.enabled", 1);
  const takes = await benchTakes(filled.inbox);
  await filled.close();
  return takes;
}

/** Takes of other types beside a million events that wait for the end of a pause, and beside as many that are done. */
async function benchPause(
  what: string,
  beside: Takes,
  open: () => Promise<Filled>,
  fill: (filled: Filled) => Promise<void>,
): Promise<void> {
  console.log(`  a million events that are due, ${what}:`);
  const filled = await open();
  const { inbox } = filled;
  await fill(filled);
  await measure("gauges, all due", () => inbox.gauges());
  await lasts("pause", () => inbox.pause({ types: [pausedType], reason: "bench" }));
  await measure("gauges, all paused", () => inbox.gauges());
  const takes = await benchTakes(inbox);
  const ratio = (of: keyof Takes) => `${(takes[of] / beside[of]).toFixed(2)} x`;
  line(
    "of beside done events",
    `${ratio("take")} a take, ${ratio("p99")} the p99 of a put, ${ratio("rate")} the rate of eight takers`,
  );
  await lasts("resume", () => inbox.resume());
  await filled.close();
}

async function lasts(what: string, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  await work();
  line(what, `${((performance.now() - start) / 1000).toFixed(1)} s`);
}

async function measure(what: string, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  line(what, [Math.min(...times), median(times), Math.max(...times)].map(ms).join(", "));
  return median(times);
}

/** Takes of due events of another type, which were put first. Resolves to the median, in ms. */
async function measureTakes(inbox: Inbox): Promise<number> {
  const batches: Awaited<ReturnType<Inbox["take"]>>[] = [];
  const entries = Array.from({ length: rounds }, () => entriesOf(taken, taken));
  await inbox.put(entries.flat());
  const times: number[] = [];
  let found = 0;
  for (; found < entries.flat().length && times.length < mostTakes; found += batches.at(-1)?.length ?? 0) {
    const start = performance.now();
    batches.push(await inbox.take({ limit: taken, leaseMs: 600_000 }));
    times.push(performance.now() - start);
  }
  if (found < entries.flat().length) throw new Error("takes found less than there is");
  line(
    `take of ${taken} others, ${times.length} takes`,
    [Math.min(...times), median(times), Math.max(...times)].map(ms).join(", "),
  );
  await inbox.settle(batches.flat().map((lease) => ({ ...lease, state: "done" })));
  return median(times);
}

/** Eight takers work what is put meanwhile. Resolves to the p99 of a put, in ms, and the events that they take a second. */
async function measureTakers(inbox: Inbox): Promise<Pick<Takes, "p99" | "rate">> {
  const start = performance.now();
  let left = concurrentEvents;
  const takers = Array.from({ length: 8 }, async () => {
    while (left > 0) {
      const leases = await inbox.take({ limit: taken, leaseMs: 600_000 });
      left -= leases.length;
      await inbox.settle(leases.map((lease) => ({ ...lease, state: "done" })));
    }
  });
  const times: number[] = [];
  for (let put = 0; put < concurrentEvents; put += taken) {
    const entries = entriesOf(taken, taken);
    const begin = performance.now();
    await inbox.put(entries);
    times.push(performance.now() - begin);
  }
  await Promise.all(takers);
  const rate = (concurrentEvents / (performance.now() - start)) * 1000;
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  line(
    `put of ${taken} while eight take`,
    `p99 ${ms(p99)}, ${Math.round(rate).toLocaleString("en")} taken a second`,
  );
  return { p99, rate };
}

/** All pages, as `inbox list --all` reads them. */
async function measureList(inbox: Inbox): Promise<void> {
  const start = performance.now();
  let rows = 0;
  let tenth: number | undefined;
  for (let cursor: string | undefined; ; ) {
    const page = await inbox.list({}, { limit: 1000, ...(cursor !== undefined && { cursor }) });
    rows += page.rows.length;
    if (rows >= events / 10) tenth ??= performance.now() - start;
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  if (rows !== events) throw new Error(`listed ${rows}`);
  const seconds = (time = 0) => `${(time / 1000).toFixed(1)} s`;
  line("list, all pages", `${seconds(performance.now() - start)}, the first tenth ${seconds(tenth)}`);
}

/** All pages of filters that match few events, or none. */
async function measurePages(which: string, inbox: Inbox): Promise<void> {
  const filters: readonly [string, InboxFilter][] = [
    ["an eSIM", { subject: "esim_7919" }],
    ["an eSIM and a type", { subject: "esim_7919", types: ["none"] }],
    ["a type", { types: ["none"] }],
    ["a text of errors", { error: "none" }],
  ];
  for (const [name, filter] of filters) {
    const pages: number[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const start = performance.now();
      const page = await inbox.list(filter, { limit: 50, ...(cursor !== undefined && { cursor }) });
      pages.push(performance.now() - start);
      cursor = page.nextCursor;
    }
    const total = pages.reduce((sum, time) => sum + time, 0);
    line(
      `pages of ${name}${which}`,
      `${[median(pages), Math.max(...pages), total].map(ms).join(", ")}: median and slowest of ${pages.length}, all of them`,
    );
  }
}

async function openSqlite(path: string): Promise<Filled> {
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  return {
    inbox,
    async fill(state, type, apartMs) {
      const database = new DatabaseSync(path, { timeout: 60_000 });
      const isReady = state === "ready";
      const times = isReady ? `${Date.now()} - 3600000 + n, null` : `null, ${Date.now() + 86_400_000} + n`;
      database.exec(`with recursive number (n) as (select 1 union all select n + 1 from number where n < ${events})
        insert into esim_webhooks_event (source, id, state, type, received_at, occurred_at, subject, attempts, due_at, kept_until, body)
        select 'default', 'msg_' || (n * 2654435761 % 4294967296) || '_' || n, '${state}', '${type}', ${Date.now()} + ${apartMs} * (n - ${events}), 0,
          'esim_' || (n * 7919 % 50000), 1, ${times}, ${isReady ? "cast('{}' as blob)" : "null"} from number`);
      database.close();
    },
    async fillLanes(lanes) {
      const database = new DatabaseSync(path, { timeout: 60_000 });
      database.exec(`with recursive number (n) as (select 0 union all select n + 1 from number where n < ${events - 1})
        insert into esim_webhooks_event (source, id, state, type, received_at, occurred_at, subject, lane, attempts, due_at, body)
        select 'default', 'msg_' || (n * 2654435761 % 4294967296) || '_' || n, 'ready', iif(n < ${lanes}, '${pausedType}', 'esim.enabled'),
          ${Date.now()} - ${events} + n, n, 'esim_' || (n % ${lanes}), 'esim_' || (n % ${lanes}), 0, ${Date.now()} - 3600000 + n, cast('{}' as blob)
        from number`);
      database.close();
    },
    close: () => inbox.close(),
  };
}

async function openPostgres(url: string, schema: string): Promise<Filled> {
  const inbox = postgresInbox({ url, schema });
  await inbox.migrate();
  async function settleDown(client: pg.Client): Promise<void> {
    await client.query(`vacuum analyze ${schema}.event`);
    await client.query("checkpoint");
    await client.end();
  }

  return {
    inbox,
    async fill(state, type, apartMs) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const isReady = state === "ready";
      const at = (when: string) => `now() ${when} + n * interval '1 ms'`;
      const times = isReady ? `${at("- interval '1 hour'")}, null` : `null, ${at("+ interval '1 day'")}`;
      await client.query(`insert into ${schema}.event (source, id, state, type, received_at, occurred_at, subject, attempts, due_at, kept_until, body)
        select 'default', 'msg_' || (n * 2654435761 % 4294967296) || '_' || n, '${state}', '${type}', now() + ${apartMs} * (n - ${events}) * interval '1 ms', now(),
          'esim_' || (n * 7919 % 50000), 1, ${times}, ${isReady ? "'{}'::bytea" : "null"} from generate_series(1::bigint, ${events}) as n`);
      await settleDown(client);
    },
    async fillLanes(lanes) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(`insert into ${schema}.event (source, id, state, type, received_at, occurred_at, subject, lane, attempts, due_at, body)
        select 'default', 'msg_' || (n * 2654435761 % 4294967296) || '_' || n, 'ready', case when n < ${lanes} then '${pausedType}' else 'esim.enabled' end,
          now() - (${events} - n) * interval '1 ms', now() + n * interval '1 us', 'esim_' || (n % ${lanes}), 'esim_' || (n % ${lanes}), 0,
          now() - interval '1 hour' + n * interval '1 ms', '{}'::bytea from generate_series(0::bigint, ${events - 1}) as n`);
      await settleDown(client);
    },
    close: () => inbox.close(),
  };
}
