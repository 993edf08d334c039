// npm run bench -- embedded: accepting and processing events in an SQLite file, compared with a handwritten server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import SQLite from "better-sqlite3";
import { holdFiles } from "../packages/store-sqlite/src/database/held-files.ts";
import { buildCli, firstAcknowledgedMs, servers } from "./embedded-serve.ts";
import { type AcceptingServer, measurePut, startServer } from "./inbox-accept.ts";
import { drainJobs, fillWithJobs, jobs, lanes } from "./inbox-drain.ts";
import { entriesOf, newId } from "./inbox-entries.ts";
import { type Cost, measureCost } from "./inbox-size.ts";
import { median } from "./measure.ts";
import { inTurns, line, micros, ms, perSecond, times } from "./report.ts";

const rounds = 5;
const startRounds = 15;
const costRounds = 40;

export async function benchEmbedded(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  try {
    await benchStart(join(folder, "start"));
    await benchServe(folder);
    await benchAccept(folder);
    await benchFileChecks(join(folder, "checks.db"));
    await benchDrain(folder);
    await benchSize(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function benchStart(folder: string): Promise<void> {
  let files = 0;
  const open = async (path: string) => {
    const start = performance.now();
    const inbox = sqliteInbox({ path });
    await inbox.ready();
    const taken = performance.now() - start;
    await inbox.close();
    return taken;
  };
  const opened = await inTurns(
    { made: () => open(join(folder, `${++files}.db`)), again: () => open(join(folder, "1.db")) },
    rounds,
  );
  console.log("\nuntil the inbox is ready, its thread included");
  line("a new file", ms(median(opened.made)));
  line("one that is there", ms(median(opened.again)));
}

async function benchServe(folder: string): Promise<void> {
  buildCli();
  const { ours, bare } = await inTurns(
    {
      ours: () => firstAcknowledgedMs(servers.ours, folder),
      bare: () => firstAcknowledgedMs(servers.bare, folder),
    },
    startRounds,
  );
  console.log("\nfrom the start of the process to the first acknowledged event, in a new folder");
  line("esim-webhooks serve", ms(median(ours)), "< 400 ms");
  line("bare node:http with better-sqlite3", ms(median(bare)));
  line("ratio", times(median(ours) / median(bare)));
}

async function benchAccept(folder: string): Promise<void> {
  await fillFile(join(folder, "full.db"));
  const ours = await startServer("embedded-server.ts", "ours", join(folder, "ours.db"));
  const full = await startServer("embedded-server.ts", "ours", join(folder, "full.db"));
  const peer = await startServer("embedded-server.ts", "peer", join(folder, "peer.db"));
  const withLoop = (server: AcceptingServer) => async () => {
    await loopP99Ms(server); // drops what was measured before
    const measured = await server.measure();
    return { ...measured, loopMs: await loopP99Ms(server) };
  };
  const { served, servedFull, byHand } = await inTurns(
    { served: withLoop(ours), servedFull: withLoop(full), byHand: withLoop(peer) },
    rounds,
  );
  ours.end();
  full.end();
  peer.end();
  const inbox = sqliteInbox({ path: join(folder, "puts.db") });
  const { put } = await inTurns({ put: () => measurePut(inbox) }, rounds);
  await inbox.close();

  const [rate = 0, fullRate = 0, handRate = 0] = [served, servedFull, byHand].map((figures) =>
    median(figures.map(({ perSecond }) => perSecond)),
  );
  console.log("\naccepting, Fastify with 100 connections");
  line("esim-webhooks", perSecond(rate));
  line("better-sqlite3, one INSERT a request", perSecond(handRate));
  line("ratio", times(rate / handRate), "≥ 2");
  line("esim-webhooks, from a million rows on", perSecond(fullRate));
  line("ratio of an empty table to a million rows", times(rate / fullRate), "≤ 1.3");
  for (const [name, figures] of [
    ["esim-webhooks", served],
    ["better-sqlite3", byHand],
  ] as const) {
    line(`p99 of an answer, ${name}`, ms(median(figures.map(({ p99Ms }) => p99Ms))));
    line(`p99 of the event loop, ${name}`, ms(median(figures.map(({ loopMs }) => loopMs))));
  }
  console.log("\ninbox.put of 500 events, two at a time");
  line("esim-webhooks", perSecond(median(put)), "≥ 60,000/s");
}

/** Around each transaction the writer looks twice whether its files are still there. A put of one event pays for both alone. */
async function benchFileChecks(path: string): Promise<void> {
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  const files = holdFiles(path);
  files.holdLog();
  const { put, checks } = await inTurns(
    {
      put: () => meanMs(500, () => inbox.put(entriesOf(1, 1))),
      checks: () =>
        meanMs(500, async () => {
          files.check();
          files.check();
        }),
    },
    costRounds,
  );
  await inbox.close();
  console.log("\ninbox.put of one event, and the checks of its files in it");
  line("put", micros(median(put) * 1000));
  line("both checks", micros(median(checks) * 1000));
  line("part of put", `${((median(checks) / median(put)) * 100).toFixed(1)} %`, "≤ 3 %");
}

async function meanMs(calls: number, call: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let n = 0; n < calls; n++) await call();
  return (performance.now() - start) / calls;
}

async function loopP99Ms({ url }: AcceptingServer): Promise<number> {
  return Number(await (await fetch(`${url}/loop-p99-ms`)).text());
}

async function benchDrain(folder: string): Promise<void> {
  const plain = sqliteInbox({ path: join(folder, "plain.db") });
  const laned = sqliteInbox({ path: join(folder, "laned.db"), lane: ({ data }) => data.esimReference });
  const drained = await inTurns(
    {
      plain: async () => {
        await fillWithJobs(plain);
        return drainJobs(plain);
      },
      laned: async () => {
        await fillWithJobs(laned);
        return drainJobs(laned);
      },
    },
    rounds,
  );
  await Promise.all([plain.close(), laned.close()]);
  console.log(`\ndraining ${jobs.toLocaleString("en")} events, 500 at a time, handlers that do nothing`);
  line("esim-webhooks", perSecond(median(drained.plain)), "≥ 20,000/s");
  line(`esim-webhooks, ${lanes.toLocaleString("en")} lanes`, perSecond(median(drained.laned)));
}

async function benchSize(folder: string): Promise<void> {
  const [few, many] = [join(folder, "few.db"), join(folder, "many.db")];
  await fillFile(many);
  const [small, big] = [sqliteInbox({ path: few }), sqliteInbox({ path: many })];
  const costs = await inTurns<"few" | "many" | "fewOrdered" | "manyOrdered", Cost>(
    {
      few: () => measureCost(small),
      many: () => measureCost(big),
      fewOrdered: () => measureCost(small, newId.ordered),
      manyOrdered: () => measureCost(big, newId.ordered),
    },
    costRounds,
  );
  await Promise.all([small.close(), big.close()]);
  console.log("\n500 events, in a near-empty table and in one of a million rows");
  for (const [name, inFew, inMany] of [
    ["put, random ids", costs.few.map(putMs), costs.many.map(putMs)],
    ["put, ids that begin with their time", costs.fewOrdered.map(putMs), costs.manyOrdered.map(putMs)],
    ["take", costs.few.map(takeMs), costs.many.map(takeMs)],
  ] as const) {
    line(name, `${ms(median(inFew))}, ${ms(median(inMany))}`);
    line("ratio", times(median(inMany) / median(inFew)), "≤ 1.3");
  }
}

const putMs = (cost: Cost) => cost.putMs;
const takeMs = (cost: Cost) => cost.takeMs;

/** Makes a database with a million rows: 1 % dead, 1 % waiting for their next try, the rest done. */
export async function fillFile(path: string): Promise<void> {
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  await inbox.close();
  const database = new SQLite(path);
  database.exec(`
    with recursive number (n) as (select 1 union all select n + 1 from number where n < 1000000),
    mixed as (
      select n, case n % 100 when 0 then 'dead' when 1 then 'ready' else 'done' end as state from number
    )
    insert into esim_webhooks_event
      (source, id, state, due_at, kept_until, term_ms, type, body, fingerprint, received_at, occurred_at, attempts)
    select 'default', 'msg_' || lower(hex(randomblob(16))), state,
      iif(state = 'ready', cast(unixepoch('subsec') * 1000 as integer) + 86400000, null),
      iif(state = 'done', cast(unixepoch('subsec') * 1000 as integer) + 86400000, null), 86400000,
      'esim.enabled', iif(state = 'done', null, x'7b7d'), n, unixepoch() * 1000, unixepoch() * 1000.0, 1
    from mixed`);
  database.close(); // before an inbox opens the file again: this is a second copy of SQLite in the process
}
