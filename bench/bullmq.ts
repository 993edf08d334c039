// npm run bench -- bullmq: storing events in BullMQ, compared with a handwritten server, and handling them, compared with bare workers.
import { bullmqInbox, bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { type Processor, Worker } from "bullmq";
import { Redis } from "ioredis";
import { privateRedis } from "../test/servers/index.ts";
import { startServer } from "./inbox-accept.ts";
import { batchesOf, entriesOf } from "./inbox-entries.ts";
import { median } from "./measure.ts";
import { inTurns, line, micros, ms, perSecond, times } from "./report.ts";

const rounds = 5;
const deliveries = 10_000;
const jobs = 10_000;
const concurrency = 100;

export async function benchBullmq(): Promise<void> {
  const server = await privateRedis(); // appendonly yes, appendfsync everysec
  const redis = new Redis(server.url);
  try {
    await benchAccept(server.url, redis);
    await benchDrain(server.url, redis);
  } finally {
    redis.disconnect();
    await server.close();
  }
}

async function benchAccept(url: string, redis: Redis): Promise<void> {
  const servers = {
    ours: await startServer("bullmq-server.ts", "ours", url, deliveries),
    peer: await startServer("bullmq-server.ts", "peer", url, deliveries),
  };
  const measureOn = async (server: typeof servers.ours) => {
    await redis.flushall();
    return server.measure();
  };
  const { ours, peer } = await inTurns(
    { ours: () => measureOn(servers.ours), peer: () => measureOn(servers.peer) },
    rounds,
  );
  servers.ours.end();
  servers.peer.end();
  const rate = median(ours.map((figure) => figure.perSecond));
  const handRate = median(peer.map((figure) => figure.perSecond));
  console.log("\nstoring in BullMQ, Fastify with 100 connections");
  line("esim-webhooks", perSecond(rate));
  line("standardwebhooks and queue.add", perSecond(handRate));
  line("ratio", times(rate / handRate), "≥ 1.0");
  line("p99, esim-webhooks", ms(median(ours.map(({ p99Ms }) => p99Ms))));
  line("p99, queue.add", ms(median(peer.map(({ p99Ms }) => p99Ms))));
}

async function benchDrain(url: string, redis: Redis): Promise<void> {
  const { ours, bare } = await inTurns(
    {
      ours: () => drain(url, redis, (done) => bullmqProcessor({ "*": done })),
      bare: () => drain(url, redis, (done) => async () => done()),
    },
    rounds,
  );
  console.log(
    `\nhandling ${jobs.toLocaleString("en")} jobs, ${concurrency} at a time, handlers that do nothing`,
  );
  const rate = (drains: readonly Drain[]) => median(drains.map(({ perSecond }) => perSecond));
  const cpu = (drains: readonly Drain[]) => median(drains.map(({ cpuUs }) => cpuUs));
  line("bullmqProcessor", perSecond(rate(ours)));
  line("bare BullMQ worker", perSecond(rate(bare)));
  line("ratio", times(rate(ours) / rate(bare)), "≥ 0.95");
  line("CPU per job, bullmqProcessor", micros(cpu(ours)));
  line("CPU per job, bare", micros(cpu(bare)));
}

/** The cost of completing all jobs with one worker. */
interface Drain {
  /** Jobs per second. */
  readonly perSecond: number;
  /** CPU time of this process per job, in µs. */
  readonly cpuUs: number;
}

async function drain(
  url: string,
  redis: Redis,
  processorOf: (done: () => void) => Processor,
): Promise<Drain> {
  await redis.flushall();
  const inbox = bullmqInbox({ connection: url, name: "drained" });
  for (const batch of batchesOf(entriesOf(jobs, jobs), 500)) await inbox.put(batch);
  await inbox.close();
  const worker = new Worker(
    "drained",
    processorOf(() => {}),
    {
      connection: { url, maxRetriesPerRequest: null },
      concurrency,
      autorun: false,
    },
  );
  await worker.waitUntilReady();
  const { promise: drained, resolve } = Promise.withResolvers<void>();
  let left = jobs;
  worker.on("completed", () => {
    left -= 1;
    if (left === 0) resolve();
  });
  const start = performance.now();
  const startCpu = process.cpuUsage();
  const running = worker.run();
  await drained;
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  await worker.close();
  await running;
  return { perSecond: jobs / seconds, cpuUs: (user + system) / jobs };
}
