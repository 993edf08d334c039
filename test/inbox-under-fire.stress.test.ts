import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import {
  createWorker,
  type EsimEvents,
  fullJitter,
  type Handlers,
  type InboxEntry,
  nodeHandler,
} from "@esim-webhooks/core";
import { newSecret, type SignedRequest, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import type { Effects } from "./inbox-worker.ts";
import { listen } from "./listen.ts";
import { type Run, runNode } from "./run.ts";
import { privatePgBouncer, startPostgres } from "./servers/index.ts";
import { postgresUrl } from "./servers/shared.ts";

const worker = "test/inbox-worker.ts";
const soon = { interval: 100, timeout: 50_000 };

let ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

interface Data {
  readonly schema: string;
  readonly db: Kysely<Effects>;
  /** How many effects there are, and of how many events. */
  effects(): Promise<{ effects: number; events: number }>;
  states(): Promise<Record<string, number>>;
}

/** A schema of the test's own, with a table of effects without any constraint that would help. */
async function createData(
  url: string,
  schema: string = `test_${randomUUID().replaceAll("-", "")}`,
): Promise<Data> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  const db = new Kysely<Effects>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
  await sql`create schema ${sql.id(schema)}`.execute(db);
  await db.schema.createTable("effect").addColumn("event", "text").addColumn("attempt", "integer").execute();
  ends.push(async () => {
    await sql`drop schema ${sql.id(schema)} cascade`.execute(db);
    await db.destroy();
  });
  return {
    schema,
    db,
    async effects() {
      const { rows } = await sql<{ effects: number; events: number }>`
        select count(*)::int as effects, count(distinct event)::int as events
        from ${sql.id(schema, "effect")}`.execute(db);
      return rows[0] ?? { effects: 0, events: 0 };
    },
    async states() {
      const { rows } = await sql<{ state: string; count: number }>`
        select state, count(*)::int as count from ${sql.id(schema, "event")} group by state`.execute(db);
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    },
  };
}

function openInbox<Database = Effects>(
  url: string,
  options: Omit<Parameters<typeof postgresInbox<Database>>[0], "url">,
): PostgresInbox<Database> {
  const inbox = postgresInbox<Database>({ url, ...options });
  ends.push(() => inbox.close());
  return inbox;
}

function entry(
  id: string,
  { type = "esim.enabled" as keyof EsimEvents, esim = "e", timestamp = new Date().toISOString() } = {},
): InboxEntry {
  const data = { ...sampleData(type), esimReference: esim };
  const event = { id, type, timestamp, data };
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { source: "default", id, type, event, body, receivedAt: new Date() };
}

/** A process that is killed at the end of the test, if not before. */
function start(environment: Record<string, string>): Run {
  const run = runNode([worker], environment);
  ends.push(() => run.child.kill("SIGKILL"));
  return run;
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** Does so many at the same time, one after the other. */
async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

const agent = new Agent({ keepAlive: true });

/** The status of one delivery; 0 for a connection error. */
function deliver(url: string, { headers, body }: SignedRequest): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", headers, agent }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", () => resolve(0));
    sent.end(body);
  });
}

describe("an inbox under fire", () => {
  const events = 20_000;

  it("works each of 20,000 events once, delivered 1 to 4 times, while workers are killed and Postgres is restarted twice", async () => {
    const server = await startPostgres();
    ends.push(() => server.close());
    const secret = newSecret();
    const data = await createData(server.url);
    const options = { schema: data.schema, timeoutMs: 1000 };
    const inboxes = [1, 2].map(() => openInbox(server.url, options));
    await inboxes[0]?.migrate();
    const receivers = await Promise.all(
      inboxes.map((inbox) => {
        const handler = nodeHandler(inbox, { secret });
        return listen(handler, "/", handler.close);
      }),
    );
    ends.push(() => Promise.all(receivers.map((receiver) => receiver.close())));

    const timestamp = new Date().toISOString();
    const refused = new Map<number, number>();
    async function deliverOnce(n: number): Promise<boolean> {
      const event = { id: `msg_${n}`, type: "esim.enabled", timestamp, data: sampleData("esim.enabled") };
      const receiver = receivers[Math.floor(Math.random() * receivers.length)];
      const status = await deliver(receiver?.url ?? "", signedRequest(event, { secret }));
      if (status !== 202) refused.set(status, (refused.get(status) ?? 0) + 1);
      return status === 202;
    }
    const deliveries = Array.from({ length: events }, (_, n) =>
      Array(1 + Math.floor(Math.random() * 4)).fill(n),
    ).flat() as number[];
    let isDelivered = false;
    const delivered = inLanes(deliveries, 200, async (n) => {
      while (!(await deliverOnce(n))) await pause(100); // as the sender does: tries again
    }).then(() => {
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
    while (!isDelivered || restarts < 2) {
      await Promise.race([delivered, pause(300 + Math.random() * 900)]);
      const index = Math.floor(Math.random() * workers.length);
      workers[index]?.child.kill("SIGKILL");
      killed += 1;
      await workers[index]?.ended;
      workers[index] = start(environment);
      if (killed === 3 || killed === 8) {
        await server.kill();
        await pause(200); // for as long as it is away
        await server.start();
        restarts += 1;
      }
    }
    await delivered;
    await expect.poll(() => data.states(), soon).toEqual({ done: events });
    expect(await data.effects()).toEqual({ effects: events, events });
    // the fire was felt
    expect(restarts).toBe(2);
    expect(killed).toBeGreaterThanOrEqual(8);
    expect([...refused.keys()]).toEqual([503]);
    const { rows } = await sql<{ again: number }>`
      select count(*)::int as again from ${sql.id(data.schema, "event")} where attempts > 1`.execute(data.db);
    expect(rows[0]?.again).toBeGreaterThan(0);
    for (const { child, ended } of workers) {
      child.kill("SIGTERM");
      await ended;
    }
  }, 180_000);

  it.each([
    ["while another one works its events", 2000],
    ["when another one has done its events", 0],
  ])(
    "takes nothing from a process that was frozen past its leases and goes on %s: it settles nothing, and no effect comes twice",
    async (_, pauseMs) => {
      const url = postgresUrl;
      const data = await createData(url);
      const inbox = openInbox(url, { schema: data.schema });
      await inbox.migrate();
      await inbox.put([
        entry("msg_1", { type: "esim.enabled" }),
        entry("msg_2", { type: "esim.disabled" }),
        entry("msg_3", { type: "esim.deleted" }),
      ]);
      const options = JSON.stringify({ leaseMs: 500, pollMs: 50 });
      const environment = { DATABASE_URL: url, SCHEMA: data.schema, OPTIONS: options };
      const frozen = start({ ...environment, PAUSE_MS: "1000" });
      const places = [/^msg_1 has written/, /^msg_2 is about to write/, /^msg_3 writes nothing/];
      await Promise.all(places.map((place) => frozen.line(place)));
      frozen.child.kill("SIGSTOP");
      const other = start({ ...environment, PAUSE_MS: String(pauseMs) });
      if (pauseMs > 0) await Promise.all(places.map((place) => other.line(place)));
      else await expect.poll(() => data.states(), soon).toEqual({ done: 3 });
      const rows = () =>
        sql`select id, state, fence, attempts, error from ${sql.id(data.schema, "event")} order by id`.execute(
          data.db,
        );
      const before = await rows();
      frozen.child.kill("SIGCONT");
      await Promise.all(
        [1, 2, 3].map((n) =>
          frozen.line(new RegExp(`^The lease on an event was lost, and its result discarded. .*msg_${n}`)),
        ),
      );
      expect((await rows()).rows).toEqual(before.rows);
      await expect.poll(() => data.states(), soon).toEqual({ done: 3 });
      const effects = await data.db.selectFrom("effect").selectAll().orderBy("event").execute();
      expect(effects).toEqual([
        { event: "msg_1", attempt: 2 },
        { event: "msg_2", attempt: 2 },
      ]);
      for (const { child, ended } of [frozen, other]) {
        child.kill("SIGTERM");
        expect((await ended).code).toBe(0);
      }
    },
  );
});

describe("lanes", () => {
  const [lanes, perLane, late] = [40, 150, 10];

  it("work 6,000 events over 40 lanes with 8 workers and handlers that fail: no overlap, in order, none stuck", async () => {
    const url = postgresUrl;
    const { schema, states, db } = await createData(url);
    const openOne = () => {
      const pool = new pg.Pool({ connectionString: url, max: 2 });
      ends.push(() => pool.end());
      const laneOf = ({ data }: { data: unknown }) => (data as { esimReference: string }).esimReference;
      const inbox = postgresInbox({ pool, schema, lane: laneOf });
      ends.push(() => inbox.close());
      return inbox;
    };
    const inboxes = Array.from({ length: 8 }, openOne);
    await inboxes[0]?.migrate();
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
    let failures = 0;
    const handlers: Handlers<EsimEvents> = {
      "esim.enabled": async ({ id, data: { esimReference: lane } }) => {
        const present = working.get(lane);
        if (present !== undefined) overlaps.push(`${present} and ${id}`);
        working.set(lane, id);
        await pause(Math.random() * 4);
        working.delete(lane);
        if (Math.random() < 0.05) {
          failures += 1;
          throw new Error("at random");
        }
        worked.push({ id, lane });
      },
    };
    const stopping = new AbortController();
    const errors: unknown[] = [];
    const log = (fields: Record<string, unknown>, message: string) => {
      if (message !== "The handler failed.") errors.push([message, fields["err"]]);
    };
    const logger = { debug: () => {}, info: () => {}, warn: log, error: log };
    const backoff = fullJitter({ baseMs: 5, capMs: 20 });
    const options = { concurrency: 10, pollMs: 50, maxAttempts: 1000, backoff, logger };
    const running = inboxes.map((inbox) =>
      createWorker(inbox, handlers, options).run({ signal: stopping.signal }),
    );
    ends.push(async () => {
      stopping.abort();
      await Promise.all(running);
    });
    // some come in while their lanes are worked, with a place before those that wait
    const latecomers = Array.from({ length: lanes * late }, (_, n) =>
      entry(`late_${n}`, { esim: `lane_${n % lanes}`, timestamp: at(-n) }),
    );
    await inLanes(latecomers, 4, async (event) => {
      await inboxes[Math.floor(Math.random() * inboxes.length)]?.put([event]);
    });
    await expect.poll(() => states(), soon).toEqual({ done: lanes * (perLane + late) });
    expect(overlaps).toEqual([]);
    expect(failures).toBeGreaterThan(100);
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
});

describe("an inbox and its workers", () => {
  it("start in ten processes at once, which migrate, work each event once and end by themselves", async () => {
    const url = postgresUrl;
    const data = await createData(url);
    const environment = { DATABASE_URL: url, SCHEMA: data.schema, OPTIONS: '{"pollMs":50}' };
    const runs = Array.from({ length: 10 }, () => start(environment));
    await Promise.all(runs.map((run) => run.line(/^working/)));
    const inbox = openInbox(url, { schema: data.schema });
    await inbox.put(Array.from({ length: 1000 }, (_, n) => entry(`msg_${n}`)));
    await expect.poll(() => data.states(), soon).toEqual({ done: 1000 });
    expect(await data.effects()).toEqual({ effects: 1000, events: 1000 });
    for (const { child } of runs) child.kill("SIGTERM");
    const codes = await Promise.all(runs.map(async ({ ended }) => (await ended).code));
    expect(codes).toEqual(Array(10).fill(0));
    const { rows } = await sql`
      select id from ${sql.id(data.schema, "event")} where attempts <> 1`.execute(data.db);
    expect(rows).toEqual([]);
  });

  /** Puts 500 events while a worker with transactional handlers works them. */
  async function putAndWork(inbox: PostgresInbox<Effects>, data: Data): Promise<void> {
    const handlers: Handlers<EsimEvents, Transaction<Effects>> = {
      "*": async ({ id }, { tx, attempt }) => {
        await tx.withSchema(data.schema).insertInto("effect").values({ event: id, attempt }).execute();
        await pause(Math.random() * 3);
      },
    };
    const stopping = new AbortController();
    const running = createWorker(inbox, handlers, { pollMs: 50 }).run({ signal: stopping.signal });
    const puts = Array.from({ length: 500 }, async (_, n) => {
      await pause(n);
      return inbox.put([entry(`msg_${n}`)]);
    });
    const results = (await Promise.all(puts)).flat();
    expect(new Set(results)).toEqual(new Set(["stored"]));
    await expect.poll(() => data.states(), soon).toEqual({ done: 500 });
    expect(await data.effects()).toEqual({ effects: 500, events: 500 });
    stopping.abort();
    await running;
  }

  it("do with a pool of one connection, with twenty transactional handlers at the same time and puts between", async () => {
    const url = postgresUrl;
    const data = await createData(url);
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    ends.push(() => pool.end());
    const inbox = postgresInbox<Effects>({ pool, schema: data.schema });
    await inbox.migrate();
    await putAndWork(inbox, data);
  });

  it("do with a transaction pooler", async () => {
    const url = postgresUrl;
    const data = await createData(url);
    const pooler = await privatePgBouncer(url, 3);
    ends.push(() => pooler.close());
    const inbox = openInbox(pooler.url, { schema: data.schema });
    await inbox.migrate();
    await putAndWork(inbox, data);
  });
});
