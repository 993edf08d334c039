import { setTimeout as pause } from "node:timers/promises";
import { nodeHandler } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { Queue } from "bullmq";
import { expect, it, onTestFinished } from "vitest";
import { deliver, inLanes } from "./deliver.ts";
import { listen } from "./listen.ts";
import { runNode } from "./run.ts";
import { privateRedis } from "./servers/index.ts";

/** So many events, and after how many kills of a worker Redis is killed as well. */
interface Fire {
  readonly events: number;
  readonly restartsAfter: readonly number[];
}

/** One process of a worker, and the ids that it has begun to handle. */
interface WorkerRun {
  readonly ids: string[];
  isKilled: boolean;
  ready(): Promise<unknown>;
  readonly ended: Promise<{ readonly output: string }>;
  kill(signal: NodeJS.Signals): void;
}

function startWorker(environment: Record<string, string>): WorkerRun {
  const { child, line, ended } = runNode(["test/bullmq-worker.ts"], environment);
  onTestFinished(() => void child.kill("SIGKILL"));
  const run: WorkerRun = {
    ids: [],
    isKilled: false,
    ready: () => line(/^working/),
    ended: ended.then((end) => {
      run.ids.push(...[...end.output.matchAll(/^starts (.*)$/gm)].map(([, id = ""]) => id));
      return end;
    }),
    kill(signal) {
      run.isKilled = signal === "SIGKILL";
      child.kill(signal);
    },
  };
  return run;
}

export function bullmqUnderFire({ events, restartsAfter }: Fire): void {
  const name = `BullMQ enqueues each of ${events.toLocaleString("en")} events once, delivered 1 to 4 times, and loses none while workers and Redis are killed`;
  it(name, async () => {
    const server = await privateRedis();
    onTestFinished(() => server.close());
    const secret = newSecret();
    const queue = new Queue("events", { connection: { url: server.url } });
    queue.on("error", () => {});
    onTestFinished(() => queue.close());
    const receivers = await Promise.all(
      [1, 2].map(() => {
        const jobOptions = { removeOnComplete: false }; // so that all can be counted
        const inbox = bullmqInbox({ connection: server.url, name: "events", timeoutMs: 1000, jobOptions });
        onTestFinished(() => inbox.close());
        const handler = nodeHandler(inbox, { secret });
        return listen(handler, "/", handler.close);
      }),
    );
    onTestFinished(async () => void (await Promise.all(receivers.map((receiver) => receiver.close()))));

    const timestamp = new Date().toISOString();
    const refused = new Set<number>();
    async function deliverOnce(n: number): Promise<boolean> {
      const event = { id: `msg_${n}`, type: "esim.enabled", timestamp, data: sampleData("esim.enabled") };
      const receiver = receivers[Math.floor(Math.random() * receivers.length)];
      const status = await deliver(receiver?.url ?? "", signedRequest(event, { secret }));
      if (status !== 202) refused.add(status);
      return status === 202;
    }
    const deliveries = Array.from({ length: events }, (_, n) =>
      Array<number>(1 + Math.floor(Math.random() * 4)).fill(n),
    ).flat();
    let isDelivered = false;
    const delivered = inLanes(deliveries, 200, async (n) => {
      while (!(await deliverOnce(n))) await pause(100); // as the sender does: tries again
    }).then(() => {
      isDelivered = true;
    });

    const environment = { REDIS_URL: server.url, LOCK_MS: "6000" };
    const runs = [1, 2, 3].map(() => startWorker(environment));
    const workers = [...runs];
    await Promise.all(workers.map((worker) => worker.ready()));
    let restarts = 0;
    for (let killed = 1; !isDelivered || restarts < restartsAfter.length; killed += 1) {
      await Promise.race([delivered, pause(300 + Math.random() * 900)]);
      const index = Math.floor(Math.random() * workers.length);
      workers[index]?.kill("SIGKILL");
      await workers[index]?.ended;
      workers[index] = startWorker(environment);
      runs.push(workers[index]);
      if (restartsAfter.includes(killed)) {
        await server.kill();
        await pause(200); // for as long as it is away
        await server.start();
        restarts += 1;
      }
    }
    await delivered;
    const counts = () => queue.getJobCounts("waiting", "active", "delayed", "failed", "completed");
    const all = { waiting: 0, active: 0, delayed: 0, failed: 0, completed: events };
    await expect.poll(() => counts().catch(() => undefined)).toEqual(all);
    for (const worker of workers) worker.kill("SIGTERM");
    await Promise.all(workers.map((worker) => worker.ended));

    const handled = new Set(runs.flatMap(({ ids }) => ids));
    expect(handled.size).toBe(events);
    // a run that was not the last of its id was in a worker that was killed
    const byLiving = runs.filter(({ isKilled }) => !isKilled).flatMap(({ ids }) => ids);
    expect(byLiving.length).toBe(new Set(byLiving).size);
    const again = runs.reduce((sum, { ids }) => sum + ids.length, 0) - events;
    const kills = runs.filter(({ isKilled }) => isKilled).length;
    expect(again).toBeLessThanOrEqual(20 * kills); // each had at most its concurrency in hand
    // 0 is a connection error, as when an idle connection is closed just then: the sender tries again after it, too
    expect([...refused].filter((status) => status !== 503 && status !== 0)).toEqual([]);
  });
}
