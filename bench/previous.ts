// npm run bench -- previous: put, take, settle and receive(), compared with those of the previous version: the commit that PREVIOUS names,
// else the newest release, else the last commit.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Inbox, InboxLease, InboxOptions } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import pg from "pg";
import { privatePostgres } from "../test/servers/index.ts";
import { freezePrevious } from "../test/upgrade/freeze.ts";
import { frozenPackages, type Packages, presentPackages, type Version } from "../test/upgrade/packages.ts";
import { batchesOf, entriesOf } from "./inbox-entries.ts";
import { median } from "./measure.ts";
import { parentOf, withCpu } from "./process-cpu.ts";
import { inTurns, line, micros, times } from "./report.ts";

const rounds = 9;
const events = 40_000;
const esims = 4000;
const laneOf: InboxOptions = { lane: ({ data }) => data.esimReference };

/** An inbox of a version. Its table is emptied after each round, too: a vacuum of its rows would count against the other version. */
interface Place {
  readonly inbox: Inbox;
  /** How many events each call has. */
  readonly batchSize: number;
  empty(): Promise<void>;
}

/** CPU of one event, in µs: of this process and of the server together. */
interface Costs {
  readonly put: number;
  readonly take: number;
  readonly settle: number;
}

export async function benchPrevious(): Promise<void> {
  const frozen = await freezePrevious();
  try {
    console.log(`previous is ${frozen.commit}`);
    await benchVersions({ previous: await frozenPackages(frozen.folder), present: presentPackages });
  } finally {
    frozen.remove();
  }
}

async function benchVersions(versions: Record<Version, Packages>): Promise<void> {
  await benchReceive(versions);
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  try {
    await compare("SQLite", (version) => openSqlite(versions[version], join(folder, `${version}.db`)), 0);
    await compare(
      "SQLite in lanes",
      (version) => openSqlite(versions[version], join(folder, `${version}-lanes.db`), laneOf),
      0,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
  const server = await privatePostgres({ fsync: "on" });
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on("error", () => {});
  try {
    const { rows } = await pool.query("select pg_backend_pid() as pid");
    const open = (version: Version, options: InboxOptions = {}) =>
      openPostgres(
        versions[version],
        pool,
        server.url,
        `${version}_${Object.keys(options).join("")}`,
        options,
      );
    await compare("Postgres", (version) => open(version), parentOf(rows[0].pid));
    await compare("Postgres in lanes", (version) => open(version, laneOf), parentOf(rows[0].pid));
  } finally {
    await pool.end();
    await server.close();
  }
}

async function compare(
  name: string,
  open: (version: Version) => Promise<Place>,
  server: number,
): Promise<void> {
  const [previous, present] = [await open("previous"), await open("present")];
  const measured = { previous: () => measure(previous, server), present: () => measure(present, server) };
  const costs = await inTurns<Version, Costs>(measured, rounds);
  await Promise.all([previous.inbox.close(), present.inbox.close()]);
  console.log(`\n${name}, ${present.batchSize} events at a time: CPU of an event, previous and present`);
  const of = (what: string, figure: (cost: Costs) => number) => {
    line(what, compared(costs.previous.map(figure), costs.present.map(figure)));
  };
  of("put", ({ put }) => put);
  of("take", ({ take }) => take);
  of("settle", ({ settle }) => settle);
  of("the three", ({ put, take, settle }) => put + take + settle);
}

/** Medians, and the median of what each round has shown: the machine's speed differs more between rounds than within one. */
function compared(previous: readonly number[], present: readonly number[]): string {
  const ratios = present.map((cost, round) => cost / (previous[round] ?? Number.NaN));
  return `${micros(median(previous))}, ${micros(median(present))}, ${times(median(ratios))}`;
}

async function measure({ inbox, batchSize, empty }: Place, server: number): Promise<Costs> {
  await empty();
  const batches = batchesOf(entriesOf(events, esims), batchSize);
  const sum = async (work: () => Promise<void>) => {
    const before = process.cpuUsage();
    const { cpu } = await withCpu(events, server, work);
    const { user, system } = process.cpuUsage(before); // more exact than ticks of 10 ms
    return (user + system) / events + (server === 0 ? 0 : cpu.server);
  };
  const put = await sum(async () => {
    for (const batch of batches) {
      const receivedAt = new Date(); // events are received when they are put; the entries were all made within a few milliseconds
      await inbox.put(batch.map((entry) => ({ ...entry, receivedAt })));
    }
  });
  let [take, settle] = [0, 0];
  for (let left = events; left > 0; ) {
    let leases: readonly InboxLease[] = [];
    take += await sum(async () => {
      leases = await inbox.take({ limit: batchSize, leaseMs: 600_000 });
    });
    settle += await sum(async () => {
      await inbox.settle(leases.map((lease) => ({ ...lease, state: "done" })));
    });
    left -= leases.length;
  }
  await empty();
  return { put, take, settle };
}

async function openSqlite(
  { sqliteInbox }: Packages,
  path: string,
  options: InboxOptions = {},
): Promise<Place> {
  const inbox = sqliteInbox({ path, ...options });
  await inbox.ready();
  return {
    inbox,
    batchSize: 20, // the default concurrency of a worker
    async empty() {
      const database = new DatabaseSync(path, { timeout: 60_000 });
      database.exec("delete from esim_webhooks_event; vacuum; pragma wal_checkpoint(truncate)");
      database.close();
    },
  };
}

async function openPostgres(
  { postgresInbox }: Packages,
  pool: pg.Pool,
  url: string,
  schema: string,
  options: InboxOptions = {},
): Promise<Place> {
  const inbox = postgresInbox({ url, schema, ...options });
  await inbox.migrate();
  return {
    inbox,
    batchSize: 500,
    async empty() {
      await pool.query(`truncate ${schema}.event`);
      await pool.query("checkpoint");
    },
  };
}

/** In process, with the memory store: CPU of a delivery whose handler does nothing. */
async function benchReceive(versions: Record<Version, Packages>): Promise<void> {
  const secret = newSecret();
  const measureVersion = async (version: Version) => {
    const receiver = versions[version].createReceiver({ "*": () => {} }, { secret });
    const deliveries = Array.from({ length: events }, () =>
      signedRequest({ type: "esim.enabled", data: sampleData("esim.enabled") }, { secret }),
    );
    const before = process.cpuUsage();
    for (const { headers, body } of deliveries) {
      const { outcome } = await receiver.receive({ method: "POST", headers, body: Buffer.from(body) });
      if (outcome.code !== "processed") throw new Error(`answered ${outcome.code}`);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / events;
  };
  const { previous, present } = await inTurns(
    { previous: () => measureVersion("previous"), present: () => measureVersion("present") },
    rounds,
  );
  console.log("\nreceive() with the memory store: CPU of a delivery, previous and present");
  line("receive", compared(previous, present));
}
