import { setTimeout as pause } from "node:timers/promises";
import type { RunningServer } from "@esim-webhooks/conformance";
import { type DedupeStore, type EsimEvents, type Handlers, nodeHandler } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { postgresStore } from "@esim-webhooks/store-postgres";
import { redisStore } from "@esim-webhooks/store-redis";
import { Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { checkHistory, postgresHistory, postgresHistoryOf } from "../../lab/model/trace.ts";
import { listen } from "../listen.ts";
import { type Sent, sendAsThePartnerApi } from "../sender.ts";
import { startPostgres, startRedis, type TestServer } from "../servers/index.ts";
import { loggerWith } from "../support/loggers.ts";
import { createGate } from "./gate.ts";

const secret = newSecret();
const leaseMs = 2000;
/** Seconds of the sender's schedule in one: its first five retries come within two and a half. */
const speed = 600;

/** Between these two the store granted a claim: its lease began no earlier than the one, and no later than the other. */
interface Granted {
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** The claims, and the claim by which each event's handler ran. */
export interface Recorded {
  readonly latest: Map<string, Granted>;
  readonly runs: Map<string, Granted[]>;
}

export function recording({ latest, runs }: Recorded): Handlers<EsimEvents> {
  return {
    "*": async ({ id }) => {
      runs.set(id, [...(runs.get(id) ?? []), latest.get(id) as Granted]);
      await pause(Math.random() * 20);
    },
  };
}

/** The same store, whose claims are recorded. */
export function recorded(store: DedupeStore, { latest }: Recorded): DedupeStore {
  return {
    ...store,
    async claim(key, leaseMs, fingerprint) {
      const askedAt = performance.now();
      const claim = await store.claim(key, leaseMs, fingerprint);
      if (claim.status === "claimed") latest.set(key.id, { askedAt, answeredAt: performance.now() });
      return claim;
    },
  };
}

/** Two receivers, each with a store of its own on the same server, as two processes have. */
export async function startReceivers<Tx>(
  openStore: () => DedupeStore<Tx>,
  handlers: Handlers<EsimEvents, Tx>,
  logged: string[],
): Promise<RunningServer[]> {
  const line = (fields: Record<string, unknown>) => logged.push(String(fields["outcome"]));
  const logger = loggerWith({ info: line, warn: line, error: line });
  return Promise.all(
    [1, 2].map(() => {
      const store = openStore();
      const handler = nodeHandler(handlers, { secret, store, leaseMs, logger });
      return listen(handler, "/", () => handler.close().then(() => store.close()));
    }),
  );
}

/** How long the fire is: how many events come, and how often the server is killed and frozen meanwhile. */
export interface Fire {
  readonly events: number;
  readonly rounds: number;
  /** How many requests may be in flight concurrently. On a busy machine, with more than it can answer within the store's timeout, all get 503. */
  readonly mostAtOnce: number;
}

/** Every event is sent by two senders, to either receiver, during outages of the server. */
export async function sendUnderFire(
  { events, rounds, mostAtOnce }: Fire,
  receivers: readonly RunningServer[],
  causeOutages: (rounds: number) => Promise<void>,
): Promise<Sent[]> {
  const url = () => receivers[Math.floor(Math.random() * receivers.length)]?.url ?? "";
  const gate = createGate(mostAtOnce);
  const send = (id: string) => sendAsThePartnerApi(id, { secret: () => secret, url, speed, gate });
  const outages = causeOutages(rounds);
  const senders = Array.from({ length: 2 * events }, async (_, n) => {
    await pause((n / (2 * events)) * 1300 * rounds); // spread over the outages
    const id = `msg_${Math.floor(n / 2)}`;
    const sent = await send(id);
    if (sent.end !== "exhausted") return sent;
    await outages; // on a slow machine one outage can take longer than the whole schedule
    return send(id);
  });
  await outages;
  return Promise.all(senders);
}

/** The server is killed and frozen over and over. */
const killsOf = (server: TestServer) => async (rounds: number) => {
  for (let round = 0; round < rounds; round++) {
    await pause(500);
    await server.kill();
    await pause(300);
    await server.start();
    await pause(500);
    await server.pause();
    await pause(200);
    await server.resume();
  }
};

export function assertNothingLost(sent: readonly Sent[]): void {
  const undelivered = sent.filter(({ end }) => end !== "delivered");
  expect(undelivered.map(({ id, end, statuses }) => `${id} ${end}: ${statuses}`)).toEqual([]);
  expect(sent.some(({ statuses }) => statuses.includes(503))).toBe(true); // the outages were felt
}

/** A second run is honest only when the lease of the first had ended, which may have been renewed but never cut short. */
export function assertRunsApart({ runs }: Recorded): void {
  for (const [id, claims] of runs) {
    for (const [n, later] of claims.slice(1).entries()) {
      const earlier = claims[n] as Granted;
      const clocksDiffer = leaseMs / 100; // the server's and ours, over one lease
      expect([id, later.answeredAt - earlier.askedAt > leaseMs - clocksDiffer]).toEqual([id, true]);
    }
  }
}

export function storesUnderFire(fire: Fire): void {
  describe("a server that is killed and frozen under load", () => {
    it.each([
      ["Redis", startRedis, (url: string) => redisStore(url, { timeoutMs: 3000 })],
      ["Postgres", startPostgres, (url: string) => postgresStore({ url, timeoutMs: 3000 })],
    ])(
      "loses nothing on %s, and no handler runs twice but where its lease had ended",
      async (_, start, open) => {
        const server = await start();
        const seen: Recorded = { latest: new Map(), runs: new Map() };
        const logged: string[] = [];
        const migrating = open(server.url) as DedupeStore & { migrate?(): Promise<void> };
        await migrating.migrate?.();
        await migrating.close();
        const receivers = await startReceivers(
          () => recorded(open(server.url), seen),
          recording(seen),
          logged,
        );
        try {
          const beganAt = performance.now();
          assertNothingLost(await sendUnderFire(fire, receivers, killsOf(server)));
          expect(seen.runs.size).toBe(fire.events);
          assertRunsApart(seen);
          // two receivers, each with one line a second at most about the store
          const seconds = Math.ceil((performance.now() - beganAt) / 1000);
          expect(logged.filter((outcome) => outcome === "store_unavailable").length).toBeLessThanOrEqual(
            2 * (seconds + 1),
          );
        } finally {
          await Promise.all(receivers.map((receiver) => receiver.shutDown()));
          await Promise.all(receivers.map((receiver) => receiver.close()));
          await server.close();
        }
      },
    );

    it("has every effect exactly once where handlers write by context.tx", async () => {
      interface Shop {
        effect: { event: string };
      }
      const server = await startPostgres();
      const open = () => postgresStore<Shop>({ url: server.url, timeoutMs: 3000 });
      const db = new Kysely<Shop>({
        dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: server.url }) }),
      });
      // no constraint that would help
      await db.schema.createTable("effect").addColumn("event", "text").execute();
      const migrating = open();
      await migrating.migrate();
      await migrating.close();
      await sql.raw(postgresHistory("esim_webhooks")).execute(db);
      await db.destroy();
      const handlers: Handlers<EsimEvents, Transaction<Shop>> = {
        "*": async ({ id }, { tx }) => {
          await pause(Math.random() * 10);
          await tx.insertInto("effect").values({ event: id }).execute();
          await pause(Math.random() * 10);
        },
      };
      const receivers = await startReceivers(open, handlers, []);
      try {
        assertNothingLost(await sendUnderFire(fire, receivers, killsOf(server)));
        const client = new pg.Client({ connectionString: server.url });
        await client.connect();
        const { rows } = await client.query(
          "select count(*)::int as effects, count(distinct event)::int as events from effect",
        );
        const history = await client.query(postgresHistoryOf("esim_webhooks"));
        await client.end();
        const { seen, unknown } = checkHistory(history.rows);
        expect(unknown).toEqual([]);
        expect(seen.get("settle done")).toBe(fire.events);
        expect(rows).toEqual([{ effects: fire.events, events: fire.events }]);
      } finally {
        await Promise.all(receivers.map((receiver) => receiver.shutDown()));
        await Promise.all(receivers.map((receiver) => receiver.close()));
        await server.close();
      }
    });
  });
}
