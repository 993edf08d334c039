// npm run bench -- inbox: accepting and processing events on Postgres, compared with a handwritten server and graphile-worker.
import { postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { privatePostgres } from "../test/servers/index.ts";
import {
  type AcceptingServer,
  deliveriesPerRound,
  measurePut,
  putsPerRound,
  startServer,
} from "./inbox-accept.ts";
import { type Drained, drain, drainPeer, jobs, lanes } from "./inbox-drain.ts";
import { openFloor } from "./inbox-floor.ts";
import { type Cost, copyTable, fill, measureBare, measureCost } from "./inbox-size.ts";
import { median } from "./measure.ts";
import { type CpuOfEvent, parentOf, withCpu } from "./process-cpu.ts";
import { inTurns, line, micros, ms, perSecond, times } from "./report.ts";

const rounds = 5;
const costRounds = 80;
const warmUpRounds = 20;
const manyAtOnce = 2000;

function medianOf<Figure>(figures: readonly Figure[], of: (figure: Figure) => number): number {
  return median(figures.map(of));
}

export async function benchInbox(): Promise<void> {
  const server = await privatePostgres({ fsync: "on" }); // as in production
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on("error", () => {});
  try {
    const { rows } = await pool.query(
      "select current_setting('server_version') as version, current_setting('fsync') as fsync, pg_backend_pid() as pid",
    );
    console.log(`\nPostgres ${rows[0].version}, fsync ${rows[0].fsync}`);
    const pid = parentOf(rows[0].pid);
    await benchAccept(server.url, pid);
    await benchDrain(server.url, pool, pid);
    await benchSize(server.url, pool);
  } finally {
    await pool.end();
    await server.close();
  }
}

function cpuLine(what: string, cpus: readonly CpuOfEvent[], wanted?: string): void {
  const [ours, server] = [medianOf(cpus, (cpu) => cpu.ours), medianOf(cpus, (cpu) => cpu.server)];
  line(`${what}, CPU: process, server`, `${micros(ours)}, ${micros(server)}`, wanted);
}

async function benchAccept(url: string, server: number): Promise<void> {
  const ours = await startServer("inbox-server.ts", "ours", url);
  const peer = await startServer("inbox-server.ts", "peer", url);
  const bare = await startServer("inbox-server.ts", "verifying", url);
  const forgetful = await startServer("inbox-server.ts", "forgetting", url);
  const least = await startServer("inbox-server.ts", "gathering", url); // its table is made like ours
  const inbox = postgresInbox({ url });
  const measured = ({ measure, pid }: AcceptingServer) => withCpu(deliveriesPerRound, server, measure, pid);
  const { served, byHand, verifying, forgetting, gathering } = await inTurns(
    {
      served: () => measured(ours),
      byHand: () => measured(peer),
      verifying: () => measured(bare),
      forgetting: () => measured(forgetful),
      gathering: () => measured(least),
    },
    rounds,
  );
  for (const server of [ours, peer, bare, forgetful, least]) server.end();
  const { put } = await inTurns(
    { put: () => withCpu(putsPerRound, server, () => measurePut(inbox)) },
    rounds,
  );
  await inbox.close();

  const rate = medianOf(served, ({ figure }) => figure.perSecond);
  const handRate = medianOf(byHand, ({ figure }) => figure.perSecond);
  const leastRate = medianOf(gathering, ({ figure }) => figure.perSecond);
  console.log("\naccepting, Fastify with 100 connections");
  line("esim-webhooks", perSecond(rate));
  line("standardwebhooks and one INSERT a request", perSecond(handRate));
  line("ratio", times(rate / handRate), "≥ 4");
  line("a bare route that gathers and inserts", perSecond(leastRate));
  line("ratio of that floor to one INSERT a request", times(leastRate / handRate));
  line("p99, esim-webhooks", ms(medianOf(served, ({ figure }) => figure.p99Ms)), "below the other");
  line("p99, one INSERT a request", ms(medianOf(byHand, ({ figure }) => figure.p99Ms)));
  cpuLine("esim-webhooks", cpusOf(served));
  cpuLine("one INSERT a request", cpusOf(byHand));
  cpuLine("a bare route that gathers and inserts", cpusOf(gathering));
  cpuLine("a bare route that verifies", cpusOf(verifying));
  cpuLine("esim-webhooks with an inbox that keeps nothing", cpusOf(forgetting));
  const cpuOf = (measured: typeof served) => medianOf(cpusOf(measured), (cpu) => cpu.ours);
  line("ratio of CPU to the bare route", times(cpuOf(served) / cpuOf(verifying)), "≤ 1.47");
  line("ratio of that floor's CPU to the bare route", times(cpuOf(gathering) / cpuOf(verifying)));
  console.log("\ninbox.put of 500 events, two at a time");
  line("esim-webhooks", perSecond(medianOf(put, ({ figure }) => figure)), "≥ 40,000/s");
  cpuLine("esim-webhooks", cpusOf(put));
}

function cpusOf(measured: readonly { readonly cpu: CpuOfEvent }[]): readonly CpuOfEvent[] {
  return measured.map(({ cpu }) => cpu);
}

async function benchDrain(url: string, pool: pg.Pool, server: number): Promise<void> {
  const plain = postgresInbox({ url, schema: "plain" });
  const laned = postgresInbox({
    url,
    schema: "laned",
    lane: ({ data }) => data.esimReference,
  });
  await Promise.all([plain.migrate(), laned.migrate()]);
  const floor = await openFloor(url, "in indexes", server);
  const hotFloor = await openFloor(url, "in no index", server);
  const measured = {
    ours: () => drain(plain, pool, "plain", server),
    peer: () => drainPeer(url, -1, server),
    batchingPeer: () => drainPeer(url, 0, server),
    lanes: () => drain(laned, pool, "laned", server),
    oursOfMany: () => drain(plain, pool, "plain", server, manyAtOnce),
    batchingPeerOfMany: () => drainPeer(url, 0, server, manyAtOnce),
    floor: floor.drain,
    hotFloor: hotFloor.drain,
  };
  const drained = await inTurns<keyof typeof measured, Drained>(measured, rounds);
  await Promise.all([plain, laned, floor, hotFloor].map((opened) => opened.close()));
  const rateOf = (measured: readonly Drained[]) => medianOf(measured, ({ figure }) => figure);
  const [ours, inLanes] = [rateOf(drained.ours), rateOf(drained.lanes)];
  const [peer, batchingPeer] = [rateOf(drained.peer), rateOf(drained.batchingPeer)];
  console.log(`\ndraining ${jobs.toLocaleString("en")} events, 500 at a time, handlers that do nothing`);
  line("esim-webhooks", perSecond(ours));
  line("graphile-worker with localQueue", perSecond(peer));
  line("ratio", times(ours / peer), "≥ 1");
  line("graphile-worker that completes in batches too", perSecond(batchingPeer));
  line("ratio", times(ours / batchingPeer), "≥ 1");
  const [oursOfMany, peerOfMany] = [rateOf(drained.oursOfMany), rateOf(drained.batchingPeerOfMany)];
  const many = `${manyAtOnce.toLocaleString("en")} at a time`;
  line(`esim-webhooks, ${many}`, perSecond(oursOfMany));
  line(`graphile-worker in batches, ${many}`, perSecond(peerOfMany));
  line("ratio", times(oursOfMany / peerOfMany), "≥ 1");
  line(`esim-webhooks, ${lanes.toLocaleString("en")} lanes`, perSecond(inLanes));
  line("ratio to without lanes", times(inLanes / ours), "≥ 0.9");
  line("ratio to graphile-worker without lanes", times(inLanes / peer), "≥ 0.5");
  cpuLine("esim-webhooks", cpusOf(drained.ours));
  cpuLine("esim-webhooks in lanes", cpusOf(drained.lanes));
  cpuLine("graphile-worker in batches", cpusOf(drained.batchingPeer));
  cpuLine(`esim-webhooks, ${many}`, cpusOf(drained.oursOfMany));
  cpuLine(`graphile-worker in batches, ${many}`, cpusOf(drained.batchingPeerOfMany));
  cpuLine("two hand-written updates", cpusOf(drained.floor));
  cpuLine("two updates, leasing in no index", cpusOf(drained.hotFloor));
}

async function benchSize(url: string, pool: pg.Pool): Promise<void> {
  const small = postgresInbox({ url, schema: "small" });
  const big = postgresInbox({ url, schema: "big" });
  await Promise.all([small.migrate(), big.migrate()]);
  await fill(pool, "big");
  await copyTable(pool, "small", "bare_small");
  await copyTable(pool, "big", "bare_big");
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  const bareCost = async (schema: string) => ({
    putMs: await measureBare(client, schema),
    takeMs: Number.NaN,
  });
  const measured = {
    small: async () => {
      await pool.query("truncate small.event");
      return measureCost(small);
    },
    big: () => measureCost(big),
    bareSmall: async () => {
      await pool.query("truncate bare_small.event");
      return bareCost("bare_small");
    },
    bareBig: () => bareCost("bare_big"),
  };
  type Table = keyof typeof measured;
  await inTurns<Table, Cost>(measured, warmUpRounds);
  const costs = await inTurns<Table, Cost>(measured, costRounds);
  await Promise.all([small.close(), big.close(), client.end()]);
  console.log("\n500 events, in a near-empty table and in one of a million rows");
  const putMs = ({ putMs }: Cost) => putMs;
  for (const [name, few, many, of, wanted] of [
    ["put", costs.small, costs.big, putMs, "≤ 1.3"],
    ["a bare insert", costs.bareSmall, costs.bareBig, putMs],
    ["take", costs.small, costs.big, ({ takeMs }: Cost) => takeMs, "≤ 1.3"],
  ] as const) {
    const [small, big] = [medianOf(few, of), medianOf(many, of)];
    line(name, `${ms(small)}, ${ms(big)}`);
    line("ratio", times(big / small), wanted);
  }
}
