// npm run bench -- inbox: accepting and processing events on Postgres, compared with a handwritten server and graphile-worker.
import { postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { privatePostgres } from "../test/servers/index.ts";
import { measurePut, startServer } from "./inbox-accept.ts";
import { drain, drainPeer, jobs, lanes } from "./inbox-drain.ts";
import { type Cost, fill, measureCost } from "./inbox-size.ts";
import { median } from "./measure.ts";
import { inTurns, line, ms, perSecond, times } from "./report.ts";

const rounds = 5;
const costRounds = 80;
const warmUpRounds = 20;

function medianOf<Figure>(figures: readonly Figure[], of: (figure: Figure) => number): number {
  return median(figures.map(of));
}

export async function benchInbox(): Promise<void> {
  const server = await privatePostgres({ fsync: "on" }); // as in production
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on("error", () => {});
  try {
    const { rows } = await pool.query(
      "select current_setting('server_version') as version, current_setting('fsync') as fsync",
    );
    console.log(`\nPostgres ${rows[0].version}, fsync ${rows[0].fsync}`);
    await benchAccept(server.url);
    await benchDrain(server.url, pool);
    await benchSize(server.url, pool);
  } finally {
    await pool.end();
    await server.close();
  }
}

async function benchAccept(url: string): Promise<void> {
  const ours = await startServer("inbox-server.ts", "ours", url);
  const peer = await startServer("inbox-server.ts", "peer", url);
  const inbox = postgresInbox({ url });
  const { served, byHand } = await inTurns({ served: ours.measure, byHand: peer.measure }, rounds);
  ours.end();
  peer.end();
  const { put } = await inTurns({ put: () => measurePut(inbox) }, rounds);
  await inbox.close();

  const rate = medianOf(served, (figure) => figure.perSecond);
  const handRate = medianOf(byHand, (figure) => figure.perSecond);
  console.log("\naccepting, Fastify with 100 connections");
  line("esim-webhooks", perSecond(rate));
  line("standardwebhooks and one INSERT a request", perSecond(handRate));
  line("ratio", times(rate / handRate), "≥ 4");
  line("p99, esim-webhooks", ms(medianOf(served, ({ p99Ms }) => p99Ms)), "below the other");
  line("p99, one INSERT a request", ms(medianOf(byHand, ({ p99Ms }) => p99Ms)));
  console.log("\ninbox.put of 500 events, two at a time");
  line("esim-webhooks", perSecond(median(put)), "≥ 40,000/s");
}

async function benchDrain(url: string, pool: pg.Pool): Promise<void> {
  const plain = postgresInbox({ url, schema: "plain" });
  const laned = postgresInbox({
    url,
    schema: "laned",
    lane: ({ data }) => data.esimReference,
  });
  await Promise.all([plain.migrate(), laned.migrate()]);
  const drained = await inTurns(
    {
      ours: () => drain(plain, pool, "plain"),
      peer: () => drainPeer(url, -1),
      batchingPeer: () => drainPeer(url, 0),
      lanes: () => drain(laned, pool, "laned"),
    },
    rounds,
  );
  await Promise.all([plain.close(), laned.close()]);
  const [ours, peer, inLanes] = [median(drained.ours), median(drained.peer), median(drained.lanes)];
  console.log(`\ndraining ${jobs.toLocaleString("en")} events, 500 at a time, handlers that do nothing`);
  line("esim-webhooks", perSecond(ours));
  line("graphile-worker with localQueue", perSecond(peer));
  line("ratio", times(ours / peer), "≥ 1");
  line(`esim-webhooks, ${lanes.toLocaleString("en")} lanes`, perSecond(inLanes));
  line("ratio to graphile-worker without lanes", times(inLanes / peer), "≥ 0.5");
  line("graphile-worker that completes in batches too", perSecond(median(drained.batchingPeer)));
}

async function benchSize(url: string, pool: pg.Pool): Promise<void> {
  const small = postgresInbox({ url, schema: "small" });
  const big = postgresInbox({ url, schema: "big" });
  await Promise.all([small.migrate(), big.migrate()]);
  await fill(pool, "big");
  const measured = {
    small: async () => {
      await pool.query("truncate small.event");
      return measureCost(small);
    },
    big: () => measureCost(big),
  };
  await inTurns<"small" | "big", Cost>(measured, warmUpRounds);
  const costs = await inTurns<"small" | "big", Cost>(measured, costRounds);
  await Promise.all([small.close(), big.close()]);
  console.log("\n500 events, in a near-empty table and in one of a million rows");
  for (const [name, of] of [
    ["put", ({ putMs }: Cost) => putMs],
    ["take", ({ takeMs }: Cost) => takeMs],
  ] as const) {
    const [few, many] = [medianOf(costs.small, of), medianOf(costs.big, of)];
    line(name, `${ms(few)}, ${ms(many)}`);
    line("ratio", times(many / few), "≤ 1.3");
  }
}
