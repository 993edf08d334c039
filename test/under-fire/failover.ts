import { setTimeout as pause } from "node:timers/promises";
import type { DedupeStore, EsimEvents, Handlers } from "@esim-webhooks/core";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresStore } from "@esim-webhooks/store-postgres";
import { redisStore } from "@esim-webhooks/store-redis";
import type { Transaction } from "kysely";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkQueueHistory } from "../../lab/histories.ts";
import { checkHistory, postgresHistory, postgresHistoryOf } from "../../lab/model/trace.ts";
import { type FailoverPair, postgresPair, redisPair } from "../failover/pair.ts";
import { startReceivers as startInboxes } from "./receivers.ts";
import {
  assertNothingLost,
  assertRunsApart,
  type Fire,
  type Recorded,
  recorded,
  recording,
  sendUnderFire,
  startReceivers,
} from "./stores.ts";

/** A planned failover in the middle, with some time in which no server writes. */
const failoverOf = (pair: FailoverPair) => async () => {
  await pause(500);
  await pair.demote();
  await pause(300);
  await pair.lead();
  await pause(1000);
};

async function started(pair: Promise<FailoverPair>): Promise<FailoverPair> {
  const each = await pair;
  onTestFinished(() => each.close());
  return each;
}

/** Sends all events during a failover, by receivers whose stores are on the address. */
async function sendAll<Tx>(
  pair: FailoverPair,
  fire: Fire,
  open: () => DedupeStore<Tx>,
  handlers: Handlers<EsimEvents, Tx>,
): Promise<void> {
  const receivers = await startReceivers(open, handlers, []);
  try {
    assertNothingLost(await sendUnderFire(fire, receivers, failoverOf(pair)));
  } finally {
    await Promise.all(receivers.map((receiver) => receiver.shutDown()));
    await Promise.all(receivers.map((receiver) => receiver.close()));
  }
}

export function failoverUnderFire(fire: Fire): void {
  describe("a planned failover under load, with connections that stay open", () => {
    it("loses nothing on Redis with waitReplicas, and no handler runs twice but where its lease had ended", async () => {
      const pair = await started(redisPair());
      const seen: Recorded = { latest: new Map(), runs: new Map() };
      const open = () => recorded(redisStore(pair.url, { timeoutMs: 3000, waitReplicas: 1 }), seen);
      await sendAll(pair, fire, open, recording(seen));
      expect(seen.runs.size).toBe(fire.events);
      assertRunsApart(seen);
    });

    it("has every effect of context.tx exactly once on Postgres with a synchronous standby", async () => {
      interface Shop {
        effect: { event: string };
      }
      const pair = await started(postgresPair({ isSynchronous: true }));
      const open = () => postgresStore<Shop>({ url: pair.url, timeoutMs: 3000 });
      const migrating = open();
      await migrating.migrate();
      await migrating.close();
      const query = async (text: string) => {
        const client = new pg.Client({ connectionString: pair.url });
        await client.connect();
        return client.query(text).finally(() => client.end());
      };
      await query("create table effect (event text)"); // no constraint that would help
      await query(postgresHistory("esim_webhooks"));
      await sendAll(pair, fire, open, {
        "*": async ({ id }: { id: string }, { tx }: { tx: Transaction<Shop> }) => {
          await tx.insertInto("effect").values({ event: id }).execute();
          await pause(Math.random() * 10);
        },
      });
      const counts = "select count(*)::int as effects, count(distinct event)::int as events from effect";
      expect((await query(counts)).rows).toEqual([{ effects: fire.events, events: fire.events }]);
      const { seen, unknown } = checkHistory((await query(postgresHistoryOf("esim_webhooks"))).rows);
      expect(unknown).toEqual([]);
      expect(seen.get("settle done")).toBe(fire.events);
    });

    it("works each job of BullMQ once", async () => {
      const pair = await started(redisPair());
      const jobOptions = { removeOnComplete: false };
      const inboxes = [1, 2].map(() =>
        bullmqInbox({ connection: pair.url, name: "events", timeoutMs: 3000, jobOptions }),
      );
      onTestFinished(async () => void (await Promise.all(inboxes.map((inbox) => inbox.close()))));
      await Promise.all(inboxes.map((inbox) => inbox.ready()));
      const handled: string[] = [];
      const stop = new AbortController();
      const running = inboxes.map((inbox) => {
        const worker = inbox.createWorker({
          "*": async ({ id }) => {
            handled.push(id);
            await pause(Math.random() * 50);
          },
        });
        return worker.run({ signal: stop.signal });
      });
      const { refused, deliverAll } = await startInboxes(inboxes);
      const ids = Array.from({ length: fire.events }, (_, n) => `msg_${n}`);
      const [early, late] = [ids.slice(fire.events / 2), ids.slice(0, fire.events / 2)];
      const first = deliverAll(early);
      await first.begun;
      await pair.demote();
      const second = deliverAll(late);
      await expect.poll(() => refused.get(503) ?? 0).toBeGreaterThan(0);
      await pair.lead();
      await Promise.all([first.delivered, second.delivered]);
      const doneIn = async () => (await checkQueueHistory(pair.url)).seen.get("settle done");
      await expect.poll(doneIn).toBe(fire.events);
      stop.abort();
      await Promise.all(running);
      const { seen, unknown } = await checkQueueHistory(pair.url);
      expect(unknown).toEqual([]);
      expect(seen.get("put")).toBe(fire.events);
      expect(handled.toSorted()).toEqual(ids.toSorted());
    });
  });
}
