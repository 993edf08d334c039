// npm run bench -- against [commit]: receive(), the adapters, put, take and settle, compared with those of another version: by default
// the newest release, else the last commit.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Inbox, InboxLease, InboxOptions } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import pg from "pg";
import { privatePostgres } from "../test/servers/index.ts";
import { freezePrevious } from "../test/upgrade/freeze.ts";
import { frozenPackages, type Packages, presentPackages, type Version } from "../test/upgrade/packages.ts";
import { standardWebhook } from "./http/deliveries.ts";
import { startServer } from "./http/started.ts";
import { batchesOf, entriesOf } from "./inbox-entries.ts";
import { median } from "./measure.ts";
import { parentOf, withCpu } from "./process-cpu.ts";
import { inTurns, line, micros, times } from "./report.ts";

const rounds = 9;
const turns = 150;
const perTurn = 1000;
const httpRounds = 16;
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

export async function benchAgainst(commit?: string): Promise<void> {
  const frozen = await freezePrevious(commit);
  try {
    console.log(`previous is ${frozen.commit}`);
    const versions = { previous: await frozenPackages(frozen.folder), present: presentPackages };
    await benchReceive(versions);
    await benchAdapters(frozen.folder);
    await benchInboxes(versions);
  } finally {
    frozen.remove();
  }
}

async function benchInboxes(versions: Record<Version, Packages>): Promise<void> {
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
  return `${micros(median(previous))}, ${micros(median(present))}, ${times(medianRatio(previous, present))}`;
}

function medianRatio(previous: readonly number[], present: readonly number[]): number {
  return median(present.map((figure, round) => figure / (previous[round] ?? Number.NaN)));
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

/**
 * `receive()` of 300 bytes with the memory store, and its floor: verify + parse. In batches of a thousand deliveries, since the speed of a
 * shared machine drifts within a second; each ratio is the median of those of single batches.
 */
async function benchReceive(versions: Record<Version, Packages>): Promise<void> {
  const secret = newSecret();
  const costsOf = ({ createReceiver, createKeyring, esimCatalog, memoryStore, verify }: Packages) => {
    const keyring = createKeyring(secret);
    const receiverOf = (handler: () => unknown) =>
      createReceiver({ "*": handler }, { secret, store: memoryStore({ maxEntries: 2 * turns * perTurn }) });
    const receivers = { synchronous: receiverOf(() => {}), async: receiverOf(async () => {}) };
    const receive = (kind: keyof typeof receivers) => () =>
      microsOfTurn(secret, async ({ headers, body }) => {
        const { outcome } = await receivers[kind].receive({ method: "POST", headers, body });
        if (outcome.code !== "processed") throw new Error(`answered ${outcome.code}`);
      });
    const floor = () =>
      microsOfTurn(secret, ({ headers, body }) => {
        const proof = verify({ headers, body }, keyring);
        if (!proof.ok || esimCatalog.parse(proof.id, body).kind !== "known") throw new Error("not verified");
      });
    return { floor, synchronous: receive("synchronous"), async: receive("async") };
  };
  const { previous, present } = { previous: costsOf(versions.previous), present: costsOf(versions.present) };
  const kinds = ["floor", "synchronous", "async"] as const;
  const measured = Object.fromEntries(
    kinds.flatMap((kind) => [
      [`previous ${kind}`, previous[kind]],
      [`present ${kind}`, present[kind]],
    ]),
  );
  const all = await inTurns(measured, turns);
  const figures = (version: Version, kind: (typeof kinds)[number]) =>
    (all[`${version} ${kind}`] ?? []).slice(turns / 5); // V8 has warmed up by then
  console.log("\nreceive() of 300 bytes: previous, present, and present of previous");
  for (const kind of kinds) line(kind, compared(figures("previous", kind), figures("present", kind)));
  console.log("of its own floor: previous and present");
  for (const kind of ["synchronous", "async"] as const) {
    const ofFloor = (version: Version) =>
      times(medianRatio(figures(version, "floor"), figures(version, kind)));
    line(kind, `${ofFloor("previous")}, ${ofFloor("present")}`, kind === "async" ? "≤ 2.1 ×" : "≤ 1.55 ×");
  }
}

/** The time of one delivery, in µs. */
async function microsOfTurn(
  secret: string,
  work: (delivery: { headers: Record<string, string>; body: Buffer }) => Promise<void> | void,
): Promise<number> {
  const deliveries = Array.from({ length: perTurn }, () => {
    const { headers, body } = standardWebhook(secret, 300);
    return { headers: { ...headers }, body: Buffer.from(body) };
  });
  const startedAt = performance.now();
  for (const delivery of deliveries) {
    const working = work(delivery);
    if (working !== undefined) await working;
  }
  return ((performance.now() - startedAt) * 1000) / perTurn;
}

/** Requests/s and CPU of an adapter, 300 bytes, over 100 connections. */
async function benchAdapters(frozenFolder: string): Promise<void> {
  const secret = newSecret();
  for (const framework of ["fastify", "express"] as const) {
    const servers = {
      previous: await startServer(`${framework} ours`, [secret], "", frozenFolder),
      present: await startServer(`${framework} ours`, [secret]),
    };
    try {
      const round = (version: Version) => () =>
        servers[version].measure(
          Array.from({ length: 10_000 }, () => standardWebhook(secret, 300)),
          100,
        );
      const all = await inTurns({ previous: round("previous"), present: round("present") }, httpRounds);
      const figures = (version: Version, figure: "perSecond" | "cpu") =>
        all[version].slice(4).map((one) => one[figure]); // after 50,000 deliveries, V8 has warmed up
      console.log(`\n${framework}, 300 bytes over 100 connections: present of previous`);
      line(
        "requests/s",
        times(medianRatio(figures("previous", "perSecond"), figures("present", "perSecond"))),
      );
      line("CPU of a delivery", compared(figures("previous", "cpu"), figures("present", "cpu")));
    } finally {
      for (const server of Object.values(servers)) server.end();
    }
  }
}
