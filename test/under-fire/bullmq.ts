import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { Queue } from "bullmq";
import { expect, it, onTestFinished } from "vitest";
import { checkQueueHistory } from "../../lab/histories.ts";
import { runNode } from "../run.ts";
import { privateRedis } from "../servers/index.ts";
import { startReceivers } from "./receivers.ts";

/** The numbers of events and of waves; in each wave a worker is killed, and in some of them, counted from 1, Redis as well. */
interface Fire {
  readonly events: number;
  readonly waves: number;
  readonly redisKilledIn: readonly number[];
  /** How long a handler takes at most. */
  readonly handlerMs: number;
}

/** A run of a handler, in one process of a worker. */
interface HandlerRun {
  readonly id: string;
  readonly attempt: number;
  readonly isCompleted: boolean;
}

/** A process of a worker. */
interface WorkerProcess {
  /** Complete once it has ended. */
  readonly handlerRuns: HandlerRun[];
  isKilled: boolean;
  ready(): Promise<unknown>;
  /** Resolves once it has started the handler of the event. */
  starts(id: string): Promise<unknown>;
  readonly ended: Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
}

const concurrency = 20; // of each worker

function startWorker(environment: Record<string, string>): WorkerProcess {
  const { child, line, ended } = runNode(["test/under-fire/bullmq-worker.ts"], environment);
  onTestFinished(() => void child.kill("SIGKILL"));
  const worker: WorkerProcess = {
    handlerRuns: [],
    isKilled: false,
    ready: () => line(/^working/),
    starts: (id) => line(new RegExp(`^starts ${id} `)),
    ended: ended.then(({ output }) => {
      const completed = new Set([...output.matchAll(/^completed (\S+)$/gm)].map(([, id]) => id));
      for (const [, id = "", attempt] of output.matchAll(/^starts (\S+) (\d+)$/gm))
        worker.handlerRuns.push({ id, attempt: Number(attempt), isCompleted: completed.has(id) });
    }),
    kill(signal) {
      worker.isKilled = signal === "SIGKILL";
      child.kill(signal);
    },
  };
  return worker;
}

export function bullmqUnderFire({ events, waves, redisKilledIn, handlerMs }: Fire): void {
  const name = `BullMQ enqueues each of ${events.toLocaleString("en")} events once, delivered 1 to 4 times, and loses none while workers and Redis are killed`;
  it(name, async () => {
    const server = await privateRedis();
    onTestFinished(() => server.close());
    const jobOptions = { removeOnComplete: false }; // so that all can be counted
    const inboxes = [1, 2].map(() => {
      const inbox = bullmqInbox({ connection: server.url, name: "events", timeoutMs: 1000, jobOptions });
      onTestFinished(() => inbox.close());
      return inbox;
    });
    await Promise.all(inboxes.map((inbox) => inbox.ready()));
    const queue = new Queue("events", {
      connection: { url: server.url },
      streams: { events: { maxLen: 100 * events } }, // of the whole queue: the last Queue that is created sets it
    });
    queue.on("error", () => {});
    onTestFinished(() => queue.close());
    const { refused, stored, deliverAll } = await startReceivers(inboxes);

    const ids = Array.from({ length: events }, (_, n) => `msg_${n}`);
    const held = `msg_${events - 1}`; // its handler runs until the last wave kills that worker, so at least one worker dies in the middle of a handler
    const environment = {
      HELD: held,
      REDIS_URL: server.url,
      LOCK_MS: "60000", // longer than Redis is down
      CONCURRENCY: String(concurrency),
      HANDLER_MS: String(handlerMs),
    };
    const processes = [1, 2, 3].map(() => startWorker(environment));
    const workers = [...processes];
    for (let wave = 1; wave <= waves; wave += 1) {
      await Promise.all(workers.map((worker) => worker.ready()));
      const [late = "", ...early] = ids.slice(((wave - 1) * events) / waves, (wave * events) / waves);
      const { begun, delivered } = deliverAll(early);
      await begun;
      const index =
        wave === waves
          ? await Promise.any(workers.map((worker, at) => worker.starts(held).then(() => at)))
          : Math.floor(Math.random() * workers.length);
      workers[index]?.kill("SIGKILL");
      const isRedisKilled = redisKilledIn.includes(wave);
      if (isRedisKilled) await server.kill();
      const unavailable = () => refused.get(503) ?? 0;
      const before = unavailable();
      const deliveredLate = deliverAll([late]).delivered;
      if (isRedisKilled) {
        await expect.poll(unavailable, { timeout: 60_000 }).toBeGreaterThan(before); // until a delivery has noticed that it is down
        await server.start();
      }
      await workers[index]?.ended;
      workers[index] = startWorker(environment);
      processes.push(workers[index]);
      await Promise.all([delivered, deliveredLate]);
    }
    const counts = () => queue.getJobCounts("waiting", "active", "delayed", "failed", "completed");
    const all = { waiting: 0, active: 0, delayed: 0, failed: 0, completed: events };
    await expect.poll(() => counts().catch(() => undefined), { timeout: 300_000 }).toEqual(all);
    for (const worker of workers) worker.kill("SIGTERM");
    await Promise.all(workers.map((worker) => worker.ended));

    // 0 is a connection error, as when an idle connection is closed just then: the sender tries again after it, too
    expect([...refused.keys()].filter((status) => status !== 503 && status !== 0)).toEqual([]);
    expect(stored.length).toBe(new Set(stored).size); // what was acknowledged as stored was not stored again after the kill
    const jobs = await queue.getJobs(["completed"]);
    expect(jobs.map(({ data }) => data.id).sort()).toEqual(ids.sort()); // each id was enqueued once

    const { seen, unknown } = await checkQueueHistory(server.url);
    expect(unknown).toEqual([]);
    expect(seen.get("put")).toBe(events);
    expect(seen.get("settle done")).toBe(events);

    const handlerRuns = processes.flatMap((worker) =>
      worker.handlerRuns.map((run) => ({ ...run, isKilled: worker.isKilled })),
    );
    const lastAttempts = new Map<string, number>();
    for (const { id, attempt } of handlerRuns)
      lastAttempts.set(id, Math.max(attempt, lastAttempts.get(id) ?? 0));
    expect(lastAttempts.size).toBe(events);
    const isLast = ({ id, attempt }: HandlerRun) => attempt === lastAttempts.get(id);
    expect(handlerRuns.filter(isLast)).toHaveLength(events); // each attempt ran in one worker
    const ranAgain = handlerRuns.filter((run) => !isLast(run));
    expect(ranAgain.length).toBeGreaterThan(0);
    expect(ranAgain.filter(({ isKilled, isCompleted }) => !isKilled || isCompleted)).toEqual([]); // a worker died in the middle
    for (const worker of processes) {
      const cut = worker.handlerRuns.filter((run) => !isLast(run));
      expect(cut.length).toBeLessThanOrEqual(concurrency); // no more than it had taken
    }
  });
}
