import { setTimeout as pause } from "node:timers/promises";
import { createWorker, type EsimEvents, fullJitter, type Handlers } from "@esim-webhooks/core";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { inLanes } from "../deliver.ts";
import { createData, openInbox, start } from "../inbox-data.ts";
import { entry } from "../inbox-entry.ts";
import { startPostgres } from "../servers/index.ts";
import { postgresUrl } from "../servers/shared.ts";
import { loggerWith } from "../support/loggers.ts";
import { startReceivers } from "./receivers.ts";

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** The number of events, and after how many kills of a worker Postgres is killed as well. */
interface Fire {
  readonly events: number;
  readonly restartsAfter: readonly number[];
}

export function inboxUnderFire({ events, restartsAfter }: Fire): void {
  const name = `works each of ${events.toLocaleString("en")} events once, delivered 1 to 4 times, while workers and Postgres are killed`;
  it(name, async () => {
    const server = await startPostgres();
    onTestFinished(() => server.close());
    const data = await createData(server.url);
    const options = { schema: data.schema, timeoutMs: 1000 };
    const inboxes = [1, 2].map(() => openInbox(server.url, options));
    await inboxes[0]?.migrate();
    await data.watch();
    const { refused, deliverAll } = await startReceivers(inboxes);
    let isDelivered = false;
    const ids = Array.from({ length: events }, (_, n) => `msg_${n}`);
    const delivered = deliverAll(ids).delivered.then(() => {
      isDelivered = true;
    });

    const workerOptions = { leaseMs: 2000, pollMs: 100, maxAttempts: 1000 };
    const environment = {
      DATABASE_URL: server.url,
      SCHEMA: data.schema,
      OPTIONS: JSON.stringify(workerOptions),
    };
    const workers = [1, 2, 3, 4].map(() => start(environment));
    let killed = 0;
    let restarts = 0;
    await Promise.all(workers.map((one) => one.line(/^working/)));
    while (!isDelivered || restarts < restartsAfter.length) {
      await Promise.race([delivered, pause(300 + Math.random() * 900)]);
      const index = Math.floor(Math.random() * workers.length);
      workers[index]?.child.kill("SIGKILL");
      killed += 1;
      await workers[index]?.ended;
      workers[index] = start(environment);
      if (restartsAfter.includes(killed)) {
        await server.kill();
        await pause(200); // for as long as it is down
        await server.start();
        restarts += 1;
      }
    }
    await delivered;
    await expect.poll(() => data.states(), { timeout: 600_000 }).toEqual({ done: events });
    expect(await data.effects()).toEqual({ effects: events, events });
    const { seen, unknown } = await data.changes();
    expect(unknown).toEqual([]);
    expect(seen.get("put")).toBe(events);
    expect((seen.get("settle done") ?? 0) + (seen.get("transact") ?? 0)).toBe(events);
    expect(seen.get("lease end")).toBeGreaterThan(0);
    // 0 is a connection error, as when an idle connection is closed just then: the sender tries again after it, too
    expect([...refused.keys()].filter((status) => status !== 503 && status !== 0)).toEqual([]);
    for (const { child, ended } of workers) {
      child.kill("SIGTERM");
      await ended;
    }
  });
}

interface Lanes {
  readonly lanes: number;
  readonly perLane: number;
  /** How many more come into each while they are worked. */
  readonly late: number;
}

export function lanesUnderFire({ lanes, perLane, late }: Lanes): void {
  const name = `lanes work ${lanes * perLane} events with 8 workers and handlers that fail: no overlap, in order, none stuck`;
  it(name, async () => {
    const { schema, states, db, watch, changes } = await createData(postgresUrl);
    const openOne = () => {
      const pool = new pg.Pool({ connectionString: postgresUrl, max: 2 });
      onTestFinished(() => pool.end());
      const laneOf = ({ data }: { data: unknown }) => (data as { esimReference: string }).esimReference;
      const inbox = postgresInbox({ pool, schema, lane: laneOf, timeoutMs: 60_000 });
      onTestFinished(() => inbox.close());
      return inbox;
    };
    const inboxes = Array.from({ length: 8 }, openOne);
    await inboxes[0]?.migrate();
    await watch();
    const at = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
    const events = Array.from({ length: lanes * perLane }, (_, n) =>
      entry(`msg_${n}`, { esim: `lane_${n % lanes}`, timestamp: at(n) }),
    );
    await inLanes(shuffled(events), 500, async (event) => {
      await inboxes[0]?.put([event]);
    });

    const working = new Map<string, string>();
    const overlaps: string[] = [];
    const worked: { id: string; lane: string }[] = [];
    let [runs, failures] = [0, 0];
    const handlers: Handlers<EsimEvents> = {
      "esim.enabled": async ({ id, data: { esimReference: lane } }) => {
        const present = working.get(lane);
        if (present !== undefined) overlaps.push(`${present} and ${id}`);
        working.set(lane, id);
        await pause(Math.random() * 4);
        working.delete(lane);
        runs += 1;
        if (runs % 20 === 0) {
          failures += 1;
          throw new Error("each twentieth");
        }
        worked.push({ id, lane });
      },
    };
    const stopping = new AbortController();
    const errors: unknown[] = [];
    const log = (fields: Record<string, unknown>, message: string) => {
      if (/^The event loop was blocked/.test(message)) return; // the machine is busy
      if (fields["outcome"] !== "retry") errors.push([message, fields["err"]]);
    };
    const logger = loggerWith({ warn: log, error: log });
    const backoff = fullJitter({ baseMs: 5, capMs: 20 });
    const options = { concurrency: 10, pollMs: 50, maxAttempts: 1000, backoff, logger };
    const running = inboxes.map((inbox) =>
      createWorker(inbox, handlers, options).run({ signal: stopping.signal }),
    );
    onTestFinished(async () => {
      stopping.abort();
      await Promise.all(running);
    });
    // some arrive while their lanes are worked, with a place before those that wait
    const latecomers = Array.from({ length: lanes * late }, (_, n) =>
      entry(`late_${n}`, { esim: `lane_${n % lanes}`, timestamp: at(-n) }),
    );
    await inLanes(latecomers, 4, async (event) => {
      await inboxes[Math.floor(Math.random() * inboxes.length)]?.put([event]);
    });
    await expect.poll(() => states(), { timeout: 600_000 }).toEqual({ done: lanes * (perLane + late) });
    expect((await changes()).unknown).toEqual([]);
    expect(overlaps).toEqual([]);
    expect(failures).toBeGreaterThan(0);
    expect(errors).toEqual([]);
    expect(worked).toHaveLength(lanes * (perLane + late));
    for (let lane = 0; lane < lanes; lane++) {
      const order = worked
        .filter((one) => one.lane === `lane_${lane}` && one.id.startsWith("msg_"))
        .map(({ id }) => Number(id.slice(4)));
      expect(order).toEqual(Array.from({ length: perLane }, (_, n) => n * lanes + lane));
    }
    const { rows } = await sql<{ tries: number }>`
      select sum(attempts)::int as tries from ${sql.id(schema, "event")}`.execute(db);
    expect(rows[0]?.tries).toBe(worked.length + failures);
  });
}
